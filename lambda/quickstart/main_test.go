package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// snippet:test
func TestPay_LostReplyThenTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // virtual time: the 15 minutes below take none
		db := localtest.Start(t)
		table := db.CreateTable(t, idempotency.Table("idempotency", idempotency.Schema{}))
		r, err := idempotency.New(db.Client(), idempotency.Config{Table: table})
		if err != nil {
			t.Fatal(err)
		}
		runs := 0
		handler := lambda.Wrap(r, request, func(ctx context.Context, o Order) (Receipt, error) {
			runs++
			if o.ID == "slow" {
				<-ctx.Done() // ends before Lambda's own deadline
				return Receipt{}, ctx.Err()
			}
			return pay(ctx, o)
		})

		// The table takes the write and its reply is lost: the SDK sends it again, and the handler runs once.
		db.Inject(localtest.Fault{Operation: "PutItem", Kind: localtest.ReplyLost})
		first, err := handler(localtest.Invocation(t, 3*time.Second), Order{ID: "o1", Customer: "c1"})
		if err != nil {
			t.Fatal(err)
		}
		again, err := handler(localtest.Invocation(t, 3*time.Second), Order{ID: "o1", Customer: "c1"})
		if err != nil || again != first || runs != 1 {
			t.Errorf("retry = %v, %v after %d runs, want %v after 1", again, err, runs, first)
		}

		// A handler that runs out of time leaves an unknown outcome, and no retry runs it again by itself.
		slow := Order{ID: "slow", Customer: "c1"}
		_, _ = handler(localtest.Invocation(t, 15*time.Minute), slow)
		if _, err := handler(localtest.Invocation(t, 3*time.Second), slow); !errors.Is(err, idempotency.ErrOutcomeUnknown) {
			t.Errorf("after a time-out = %v, want ErrOutcomeUnknown", err)
		}
	})
}

// snippet:end
