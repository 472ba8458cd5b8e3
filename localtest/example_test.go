package localtest_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/localtest"
)

// demo stands in for the *testing.T of a test.
type demo struct{}

func (demo) Helper()                           {}
func (demo) Cleanup(func())                    {}
func (demo) Errorf(format string, args ...any) { fmt.Printf(format+"\n", args...) }
func (demo) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (demo) Logf(format string, args ...any)   { fmt.Printf(format+"\n", args...) }
func (demo) Name() string                      { return "demo" }

// The reply to a conditional put is lost. The SDK tries again, and meets the caller's own item.
func ExampleDB_Inject() {
	db := localtest.Start(demo{})
	table := db.CreateTable(demo{}, &dynamodb.CreateTableInput{
		TableName:            aws.String("payments"),
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
	})
	db.Inject(localtest.Fault{Operation: "PutItem", Kind: localtest.ReplyLost})

	_, err := db.Client().PutItem(context.Background(), &dynamodb.PutItemInput{
		TableName: &table,
		Item: map[string]types.AttributeValue{
			"id":    &types.AttributeValueMemberS{Value: "order-1"},
			"token": &types.AttributeValueMemberS{Value: "mine"},
		},
		ConditionExpression:                 aws.String("attribute_not_exists(id)"),
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		fmt.Println("refused; there is:", failed.Item["token"].(*types.AttributeValueMemberS).Value)
	}
	for _, c := range db.Calls("PutItem") {
		fmt.Printf("%s %s: applied %v, %v write units, told %q\n", c.Operation, c.Key, c.Applied, c.WriteUnits, c.Err)
	}
	// Output:
	// refused; there is: mine
	// PutItem order-1: applied true, 1 write units, told "ReplyLost"
	// PutItem order-1: applied false, 1 write units, told "ConditionalCheckFailedException"
}
