package localtest_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/localtest"
)

// putOrder writes an item, as the code under test would.
func putOrder(db *localtest.DB, table string) error {
	_, err := db.Client(func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 }).PutItem(context.Background(), &dynamodb.PutItemInput{
		TableName: &table, Item: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "order-1"}},
	})
	return err
}

// A database, a table and a client in three lines, and what the code under test has asked for.
func ExampleStart() {
	db := localtest.Start(demo{}) // in a test: Start(t)
	table := db.CreateTable(demo{}, idTable())
	client := db.Client()

	tables, err := client.ListTables(context.Background(), &dynamodb.ListTablesInput{})
	fmt.Println(len(tables.TableNames), "table", err)
	db.ResetCalls() // from here on
	fmt.Println(putOrder(db, table))
	for _, c := range db.Calls("") {
		fmt.Println(c.Operation, c.Key, c.WriteUnits, c.Actions)
	}
	// Output:
	// 1 table <nil>
	// <nil>
	// PutItem order-1 1 [dynamodb:PutItem]
}

// A write arrives after the client has given up: until then the table does not have it.
func ExampleDB_Flush() {
	db := localtest.Start(demo{})
	table := db.CreateTable(demo{}, idTable())
	db.Inject(localtest.Fault{Operation: "PutItem", Kind: localtest.AppliedLate})
	fmt.Println("the client has an answer:", putOrder(db, table) == nil)
	items := func() int32 {
		out, err := db.Client().Scan(context.Background(), &dynamodb.ScanInput{TableName: &table})
		if err != nil {
			fmt.Println(err)
			return 0
		}
		return out.Count
	}
	fmt.Println(items(), "items")
	fmt.Println(db.Flush(), "request arrives:", items(), "item")
	// Output:
	// the client has an answer: false
	// 0 items
	// 1 request arrives: 1 item
}

// A fault that lasts is called off.
func ExampleDB_ClearFaults() {
	db := localtest.Start(demo{})
	table := db.CreateTable(demo{}, idTable())
	db.Inject(localtest.Fault{Operation: "PutItem", Kind: localtest.AccessDenied, Times: 100})
	fmt.Println("denied:", putOrder(db, table) != nil)
	db.ClearFaults()
	fmt.Println(putOrder(db, table))
	// Output:
	// denied: true
	// <nil>
}

// The handler's context as Lambda makes it: with a deadline, and a request id of its own.
func ExampleInvocation() {
	ctx := localtest.Invocation(demo{}, 3*time.Second) // in a test: Invocation(t, …)
	deadline, _ := ctx.Deadline()
	lc, _ := lambdacontext.FromContext(ctx)
	fmt.Println(time.Until(deadline) > 2*time.Second, len(lc.AwsRequestID), lc.InvokedFunctionArn)
	// Output: true 36 arn:aws:lambda:us-east-1:000000000000:function:function
}

// The database behind a server of the test's own, for a client that takes an endpoint.
func ExampleDB_Handler() {
	db := localtest.Start(demo{})
	server := httptest.NewServer(db.Handler())
	defer server.Close()
	client := dynamodb.NewFromConfig(aws.Config{Region: "us-east-1", BaseEndpoint: &server.URL, Credentials: aws.AnonymousCredentials{}})
	tables, err := client.ListTables(context.Background(), &dynamodb.ListTablesInput{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(tables.TableNames), "tables")
	// Output: 0 tables
}
