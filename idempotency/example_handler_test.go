package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// An error that is safe to run again after, although the context has ended meanwhile, releases the key.
func ExampleSafe() {
	r := exampleRunner()
	read := 0
	report := func(context.Context) (string, error) {
		if read++; read == 1 {
			return "", idempotency.Safe(context.DeadlineExceeded) // it only reads: nothing has happened
		}
		return "42 orders", nil
	}
	req := idempotency.Request{Operation: "report", Scope: "customer 7", Key: "May", Input: "May"}
	for range 2 {
		res, err := idempotency.Do(context.Background(), r, req, report)
		fmt.Printf("%q %v\n", res.Value, err)
	}
	// Output:
	// "" context deadline exceeded
	// "42 orders" <nil>
}

// Two effects: when the second one fails, the retry finds the first one recorded and does not charge again.
func ExampleStep() {
	r := exampleRunner()
	charges, mails := 0, 0
	order := func(ctx context.Context) (string, error) {
		charge, err := idempotency.Step(ctx, "charge", func(context.Context) (string, error) {
			charges++
			return fmt.Sprint("ch_", charges), nil
		})
		if err != nil {
			return "", err
		}
		if mails++; mails == 1 {
			return "", idempotency.Safe(errors.New("the mail server is away"))
		}
		return charge, nil
	}
	req := idempotency.Request{Operation: "order", Scope: "customer 7", Key: "5f1c", Input: "chair"}
	for range 2 {
		res, err := idempotency.Do(context.Background(), r, req, order)
		fmt.Printf("%q %v, %d charge\n", res.Value, err, charges)
	}
	// Output:
	// "" the mail server is away, 1 charge
	// "ch_1" <nil>, 1 charge
}

// A bare handler in a test: it gets the attempt that a wrapper would give it, here the one after a crash.
func ExampleWithAttempt() {
	handler := func(ctx context.Context) string {
		a := idempotency.AttemptFrom(ctx)
		if p := a.Prior; p != nil {
			return fmt.Sprintf("ask for attempt %d's charge under a key of %d characters first", p.Number, len(a.DownstreamUUID("charge")))
		}
		return "charge"
	}
	second := idempotency.Attempt{Token: "t2", Number: 2, Prior: &idempotency.Prior{Number: 1, Started: time.Unix(1_800_000_000, 0)}}
	fmt.Println(handler(idempotency.WithAttempt(context.Background(), idempotency.Attempt{Token: "t1", Number: 1})))
	fmt.Println(handler(idempotency.WithAttempt(context.Background(), second)))
	// Output:
	// charge
	// ask for attempt 1's charge under a key of 36 characters first
}

// A handler of Do stages its writes: an order is deleted unless its customer is blocked, in the same transaction as the answer.
func ExampleTxFrom() {
	r, shop := exampleShop()
	req := idempotency.Request{Operation: "cancel", Scope: "customer 7", Key: "5f1c", Input: 17, Tx: idempotency.Claimed}
	res, err := idempotency.Do(context.Background(), r, req, func(ctx context.Context) (string, error) {
		tx := idempotency.TxFrom(ctx)
		tx.Check(shop, accountKey{"customer 7"}).If("attribute_not_exists(#b)").Name("#b", "blocked")
		tx.Delete(shop, accountKey{"order 17"})
		return "cancelled", nil
	})
	fmt.Println(res.Value, err)
	// Output: cancelled <nil>
}

// A condition that fails and has no Else is a WriteError. Nothing is written, and the next request runs.
func ExampleWriteError() {
	r, shop := exampleShop()
	req := idempotency.Request{Operation: "cancel", Scope: "customer 7", Key: "5f1c", Input: 17}
	_, err := idempotency.DoTx(context.Background(), r, req, func(_ context.Context, tx *idempotency.Tx) (string, error) {
		tx.Delete(shop, accountKey{"order 17"}).If("attribute_exists(id)")
		return "cancelled", nil
	})
	if refused, ok := errors.AsType[*idempotency.WriteError](err); ok {
		fmt.Println("refused by the shop's table:", refused.Table == shop)
	}
	// Output: refused by the shop's table: true
}

// exampleShop is a Runner, and an empty table with the partition key id.
func exampleShop() (r *idempotency.Runner, shop string) {
	db := localtest.Start(example{})
	r, err := idempotency.New(db.Client(), idempotency.Config{Table: db.CreateTable(example{}, idempotency.Table("idempotency", idempotency.Schema{}))})
	if err != nil {
		panic(err)
	}
	return r, db.CreateTable(example{}, idempotency.Table("shop", idempotency.Schema{}))
}
