// Package function is what all bootstraps that are measured have: a DynamoDB client, and a handler that calls it.
package function

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Order is the event.
type Order struct {
	ID       string `json:"id"`
	Customer string `json:"customer"`
	Amount   int64  `json:"amount"`
}

// Receipt is the answer.
type Receipt struct {
	Order string `json:"order"`
}

// Client is made without package config, which would hide in its own start and size what the library adds.
func Client() *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "us-east-1",
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "made up", SecretAccessKey: "made up"}, nil
		}),
	})
}

// Pay reads an item and writes two, as a function does that has a reason for a DynamoDB client.
func Pay(ctx context.Context, client *dynamodb.Client, o Order) (Receipt, error) {
	key := map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: o.ID}}
	if _, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String("orders"), Key: key}); err != nil {
		return Receipt{}, fmt.Errorf("read order: %w", err)
	}
	if _, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("receipts"), Item: key}); err != nil {
		return Receipt{}, fmt.Errorf("write receipt: %w", err)
	}
	_, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                 aws.String("orders"),
		Key:                       key,
		UpdateExpression:          aws.String("SET paid = :paid"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":paid": &types.AttributeValueMemberBOOL{Value: true}},
	})
	if err != nil {
		return Receipt{}, fmt.Errorf("write order: %w", err)
	}
	return Receipt{Order: o.ID}, nil
}
