package localtest_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

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
	table := db.CreateTable(demo{}, idTable())
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
		fmt.Printf("%s %s: applied %v, told %q\n", c.Operation, c.Key, c.Applied, c.Err)
	}
	// Output:
	// refused; there is: mine
	// PutItem order-1: applied true, told "ReplyLost"
	// PutItem order-1: applied false, told "ConditionalCheckFailedException"
}

// An expired item is there until a sweep finds it, which DynamoDB takes up to days for.
func ExampleDB_Sweep() {
	db := localtest.Start(demo{})
	table := db.CreateTable(demo{}, idTable())
	db.EnableTTL(demo{}, table, "expiration")
	now := time.Unix(1_700_000_000, 0)
	db.SetClock(func() time.Time { return now })
	_, err := db.Client().PutItem(context.Background(), &dynamodb.PutItemInput{
		TableName: &table,
		Item: map[string]types.AttributeValue{
			"id":         &types.AttributeValueMemberS{Value: "order-1"},
			"expiration": &types.AttributeValueMemberN{Value: "1700003600"},
		},
	})
	if err != nil {
		fmt.Println(err)
	}
	now = now.Add(24 * time.Hour)
	fmt.Println("two days late:", db.Sweep(48*time.Hour))
	fmt.Println("at once:", db.Sweep(0))
	// Output:
	// two days late: 0
	// at once: 1
}

// A test that asserts units can say that it needs the embedded database: elsewhere it is skipped by name.
func ExampleOnlyEmbedded() {
	localtest.OnlyEmbedded(demo{}, "the bill")
	db := localtest.Start(demo{})
	table := db.CreateTable(demo{}, idTable())
	_, err := db.Client().PutItem(context.Background(), &dynamodb.PutItemInput{
		TableName: &table,
		Item: map[string]types.AttributeValue{
			"id":   &types.AttributeValueMemberS{Value: "order-1"},
			"data": &types.AttributeValueMemberS{Value: strings.Repeat("x", 2500)},
		},
	})
	if err != nil {
		fmt.Println(err)
	}
	call := db.Calls("PutItem")[0]
	fmt.Println(call.WriteUnits, call.Actions)
	// Output: 3 [dynamodb:PutItem]
}

// A load that is no test. Whatever failed, its main ends with another status than 0.
func ExampleProgram() {
	ok := localtest.Program("load", log.New(os.Stdout, "load: ", 0), func(tb localtest.TB) {
		tb.Cleanup(func() { fmt.Println("cleaned up") })
		db := localtest.Start(tb)
		table := db.CreateTable(tb, idTable())
		if err := putOrder(db, table); err != nil {
			tb.Fatalf("%v", err)
		}
		for _, c := range db.Calls("PutItem") {
			tb.Logf("%s %s: %v write units", c.Operation, c.Key, c.WriteUnits)
		}
	})
	fmt.Println(ok)
	// Output:
	// load: PutItem order-1: 1 write units
	// cleaned up
	// true
}

// idTable is a table with the partition key id.
func idTable() *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName:            aws.String("payments"),
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
	}
}
