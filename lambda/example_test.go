package lambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/events"
	awslambda "github.com/aws/aws-lambda-go/lambda"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// newRunner stands for the set-up in a main: there, dynamodb.NewFromConfig makes the client.
func newRunner() *idempotency.Runner {
	db := localtest.Start(process{})
	table := db.CreateTable(process{}, idempotency.Table("idempotency", idempotency.Schema{}))
	r, err := idempotency.New(db.Client(), idempotency.Config{Table: table})
	if err != nil {
		panic(err)
	}
	return r
}

// deliver is what Lambda does with an event.
func deliver[In, Out any](h lambda.Handler[In, Out], payload string) {
	answer, err := awslambda.NewHandler(h).Invoke(context.Background(), []byte(payload))
	fmt.Printf("answer: %s, error: %v\n", answer, err)
}

// An order that is delivered twice is paid once.
func ExampleWrap() {
	type Order struct {
		ID       string `json:"id"`
		Customer string `json:"customer"`
		Amount   int    `json:"amount"`
	}
	type Receipt struct {
		Charge string `json:"charge"`
	}
	charges := 0
	charge := func(_ context.Context, key string, amount int) (string, error) { // a card processor's
		if amount <= 0 {
			return "", errors.New("no amount")
		}
		charges++
		return fmt.Sprintf("ch_%d under a key of %d characters", charges, len(key)), nil
	}

	pay := lambda.Wrap(newRunner(),
		func(_ context.Context, o Order) (idempotency.Request, error) {
			return idempotency.Request{
				Operation: "pay",
				Scope:     o.Customer, // only the shop may invoke this function, and it knows its customers
				Key:       o.ID,
				Ref:       "order " + o.ID,
			}, nil
		},
		func(ctx context.Context, o Order) (Receipt, error) {
			id, err := charge(ctx, idempotency.AttemptFrom(ctx).DownstreamKey("charge"), o.Amount)
			if err != nil {
				return Receipt{}, idempotency.Unknown(err)
			}
			return Receipt{Charge: id}, nil
		})

	// In a main: lambda.Start(pay)
	for range 2 {
		deliver(pay, `{"id":"17","customer":"c1","amount":1200}`)
	}
	// Output:
	// answer: {"charge":"ch_1 under a key of 32 characters"}, error: <nil>
	// answer: {"charge":"ch_1 under a key of 32 characters"}, error: <nil>
}

// A rule that forwards the same event twice sends one mail. The event's id is the same in both deliveries, and
// nobody but the sender's account can put events under its source.
func ExampleEvent() {
	type OrderShipped struct {
		Order string `json:"order"`
	}
	send := func(_ context.Context, key, order string) error { // a mail service's
		fmt.Printf("mail: order %s is on its way\n", order)
		return nil
	}

	notify := lambda.Event(newRunner(),
		func(_ context.Context, e events.EventBridgeEvent) (idempotency.Request, error) {
			return idempotency.Request{Operation: "mail-shipped", Scope: e.AccountID + "/" + e.Source, Key: e.ID}, nil
		},
		func(ctx context.Context, e events.EventBridgeEvent) error {
			var shipped OrderShipped
			if err := json.Unmarshal(e.Detail, &shipped); err != nil {
				return err
			}
			key := idempotency.AttemptFrom(ctx).DownstreamKey("mail")
			return idempotency.Unknown(send(ctx, key, shipped.Order))
		})

	// In a main: lambda.Start(notify)
	for range 2 {
		deliver(notify, `{"id":"6a7e8feb","account":"111122223333","source":"com.example.shop","detail":{"order":"17"}}`)
	}
	// Output:
	// mail: order 17 is on its way
	// answer: {}, error: <nil>
	// answer: {}, error: <nil>
}
