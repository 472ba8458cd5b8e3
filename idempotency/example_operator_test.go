package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/oncekey/oncekey/idempotency"
)

// A client asks what has become of its key: the record says it, and by which key the other side can be asked.
func ExampleRunner_Record() {
	ctx, r := context.Background(), exampleRunner()
	req := idempotency.Request{Operation: "pay", Scope: "customer 7", Key: "5f1c", Input: "19.90 EUR", Ref: "order 17"}
	var key string
	_, _ = idempotency.Do(ctx, r, req, func(ctx context.Context) (string, error) {
		key = idempotency.AttemptFrom(ctx).DownstreamUUID("charge")
		return "", idempotency.Unknown(errors.New("the processor did not answer"))
	})

	ids, err := r.RecordIDs(req) // one, or one under each secret
	if err != nil {
		log.Fatal(err)
	}
	rec, err := r.Record(ctx, ids[0])
	fmt.Println(rec.Status, rec.Ref, rec.Attempt, err)
	fmt.Println("the key that the processor knows:", rec.DownstreamUUID("charge") == key)
	// Output:
	// UNKNOWN order 17 1 <nil>
	// the key that the processor knows: true
}

// The card was declined after all: the client's next retry gets that, as it would have from the handler.
func ExampleFailed() {
	ctx, r := context.Background(), exampleRunner()
	req := idempotency.Request{Operation: "pay", Scope: "customer 7", Key: "5f1c", Input: "19.90 EUR"}
	pay := func(context.Context) (string, error) {
		return "", idempotency.Unknown(errors.New("the processor did not answer"))
	}
	_, _ = idempotency.Do(ctx, r, req, pay)
	for rec, err := range r.Unknowns(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		if err := r.Resolve(ctx, rec, idempotency.Failed(errors.New("card declined"))); err != nil {
			log.Fatal(err)
		}
	}
	_, err := idempotency.Do(ctx, r, req, pay)
	fmt.Println(err)
	// Output: card declined
}

// What is still to be settled before a release is rolled back: the keys that have no outcome yet.
func ExampleRunner_Unfinished() {
	ctx, r := context.Background(), exampleRunner()
	request := func(order string) idempotency.Request {
		return idempotency.Request{Operation: "pay", Scope: "customer 7", Key: order, Input: order, Ref: order}
	}
	_, _ = idempotency.Do(ctx, r, request("order 1"), func(context.Context) (string, error) { return "paid", nil })
	_, _ = idempotency.Do(ctx, r, request("order 2"), func(context.Context) (string, error) {
		for rec, err := range r.Unfinished(ctx) {
			fmt.Println(rec.Ref, rec.Status, err)
		}
		return "paid", nil
	})
	// Output: order 2 INPROGRESS <nil>
}
