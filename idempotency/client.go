package idempotency

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Client is the part of [dynamodb.Client] that the library calls.
//
// Pass the function's own client: its region, credentials, retries and HTTP connections are used as they are.
// A test's fake must keep DynamoDB's promises: a condition is evaluated and its write applied as one step,
// and a condition that fails answers with [types.ConditionalCheckFailedException] that carries the item when
// ALL_OLD was asked for. Package localtest has such a client.
//
// BatchWriteItem and BatchGetItem are for answers of more than one item, Scan is for [Runner.Unknowns]. The interface is
// complete from the first release on, so that a fake written today still compiles later; Query is not called yet.
//
// [types.ConditionalCheckFailedException]: https://pkg.go.dev/github.com/aws/aws-sdk-go-v2/service/dynamodb/types#ConditionalCheckFailedException
type Client interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
	BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	BatchWriteItem(context.Context, *dynamodb.BatchWriteItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
}

var _ Client = (*dynamodb.Client)(nil)
