package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/oncekey/oncekey/idempotency"
)

// processor is a card processor that can be asked, by the key that a charge was made with, what has become of it.
type processor struct{ charges map[string]string }

func (p processor) find(key string) (charge string, ok bool, err error) {
	if p.charges == nil {
		return "", false, errors.New("the processor does not answer")
	}
	charge, ok = p.charges[key]
	return charge, ok, nil
}

// A reconciler, run on a schedule: it asks the processor about every key whose outcome is unknown, by the downstream key
// that the handler has charged with, and settles it. The client's next retry gets the answer.
func ExampleRunner_Unknowns() {
	ctx, r := context.Background(), exampleRunner()
	cards := processor{charges: map[string]string{}}
	pay := func(arrives bool) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			if key := idempotency.AttemptFrom(ctx).DownstreamKey("charge"); arrives {
				cards.charges[key] = "ch_1"
			}
			return "", idempotency.Unknown(errors.New("the processor did not answer"))
		}
	}
	request := func(order string) idempotency.Request {
		return idempotency.Request{Operation: "pay", Scope: "customer 7", Key: order, Input: "19.90 EUR", Ref: order}
	}
	_, _ = idempotency.Do(ctx, r, request("order 1"), pay(true))
	_, _ = idempotency.Do(ctx, r, request("order 2"), pay(false))

	// snippet:recovery
	for rec, err := range r.Unknowns(ctx) {
		if err != nil {
			log.Print(err) // and go on: the other records follow
			continue
		}
		if rec.Operation != "pay" {
			continue // somebody else's
		}
		charge, charged, err := cards.find(rec.DownstreamKey("charge"))
		if err != nil {
			continue // still unknown: the next pass asks again
		}
		as := idempotency.NotDone() // wait before you say so where a charge may still be on its way
		if charged {
			as = idempotency.Completed(charge)
		}
		if err := r.Resolve(ctx, rec, as); err != nil {
			log.Print(err) // somebody was faster, or the table did not answer
		}
	}
	// snippet:end

	for _, order := range []string{"order 1", "order 2"} {
		res, err := idempotency.Do(ctx, r, request(order), func(context.Context) (string, error) { return "ch_2", nil })
		fmt.Println(order, res.Value, res.Replayed, err)
	}
	// Output:
	// order 1 ch_1 true <nil>
	// order 2 ch_2 false <nil>
}
