package localtest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/localtest"
)

// put is the function's half: it creates an item, unless there is one.
func put(ctx context.Context, id string) (string, error) {
	client := dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(os.Getenv("ENDPOINT")),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil
		}),
	})
	_, err := client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:           aws.String(os.Getenv("TABLE")),
		Item:                map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}},
		ConditionExpression: aws.String("attribute_not_exists(id)"),
	})
	if _, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return "found", nil
	}
	return "created", err
}

func paymentsTable(tb localtest.TB, db *localtest.DB) string {
	tb.Helper()
	return db.CreateTable(tb, &dynamodb.CreateTableInput{
		TableName:            aws.String("payments"),
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
	})
}

// The process dies at its second write: before the table has got it, and after. A hook of a fault names the point. A
// request that has arrived is applied whether its sender lives or not, so that the first needs RequestLost, too.
func ExampleFunction_Reach() {
	var t recorder // a *testing.T
	defer t.end()

	for _, when := range []string{"before", "after"} {
		db := localtest.Start(&t)
		f := localtest.StartFunction(&t, localtest.Bootstrap{Env: []string{"ENDPOINT=" + db.Listen(&t), "TABLE=" + paymentsTable(&t, db)}})
		kill := localtest.Fault{Operation: "PutItem", Nth: 2, After: func() { f.Reach("write") }}
		if when == "before" {
			kill = localtest.Fault{Operation: "PutItem", Nth: 2, Kind: localtest.RequestLost, Before: func() { f.Reach("write") }}
		}
		db.Inject(kill)
		f.KillAt("write", 1)
		for _, id := range []string{"order-1", "order-2", "order-2"} {
			r, err := f.Invoke(context.Background(), localtest.Event{Payload: fmt.Appendf(nil, `{"Do":"put","Value":%q}`, id)})
			switch {
			case err != nil:
				t.Errorf("invoke: %v", err)
			case r.Error != nil:
				fmt.Printf("killed %s: %s failed with %s\n", when, id, r.Error.Type)
			default:
				fmt.Printf("killed %s: %s %s\n", when, id, r.Payload)
			}
		}
	}
	// Output:
	// killed before: order-1 "created"
	// killed before: order-2 failed with Runtime.ExitError
	// killed before: order-2 "created"
	// killed after: order-1 "created"
	// killed after: order-2 failed with Runtime.ExitError
	// killed after: order-2 "found"
}

// A hook without RequestLost kills too early to be told, not too early to be applied.
func TestReach_BeforeIsApplied(t *testing.T) {
	t.Parallel()
	db := localtest.Start(t)
	f := localtest.StartFunction(t, localtest.Bootstrap{
		Env: []string{"ENDPOINT=" + db.Listen(t), "TABLE=" + paymentsTable(t, db)}, Timeout: longEnough,
	})
	db.Inject(localtest.Fault{Operation: "PutItem", Before: func() { f.Reach("write") }})
	f.KillAt("write", 1)
	wantError(t, invoke(t, f, "put", "order-1"), "Runtime.ExitError: ")
	for end := time.Now().Add(longEnough); !db.Calls("PutItem")[0].Applied; {
		if call := db.Calls("PutItem")[0]; call.Err != "" || time.Now().After(end) {
			t.Fatalf("the write without its sender is not applied: %+v", call)
		}
		runtime.Gosched()
	}
	wantAnswer(t, invoke(t, f, "put", "order-1"), `"found"`)
}
