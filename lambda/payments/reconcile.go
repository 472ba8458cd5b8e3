package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
)

// reconciler settles payments whose attempt has ended without telling: it asks the card processor, by the key that all
// attempts have used, what has happened. Whatever it does can be done twice and by two at once: the row is written only if
// it is not there, and a record is settled only as it was found.
type reconciler struct {
	payments
	runner *idempotency.Runner
	grace  time.Duration // how long after its lease a charge may still turn up: a request on its way, a frozen process

	observe func(context.Context, idempotency.Event) // is told what is left; the runner tells it what was settled
}

// kindLeft makes the metric Left, on which an alarm waits: payments that are left again and again are for a person.
const kindLeft idempotency.Kind = "left"

// counts says what became of the unknown payments.
type counts struct {
	Completed int `json:"completed"` // charged and booked: a retry gets the receipt
	NotDone   int `json:"notDone"`   // not charged: a retry runs
	Left      int `json:"left"`      // for the next time, or for a person; the log says why
}

// askLimit is how long one payment may take.
const askLimit = 5 * time.Second

// reconcile is the handler. Its event is a clock's tick, of which there is nothing to know.
func (r reconciler) reconcile(ctx context.Context, _ json.RawMessage) (counts, error) {
	if end, ok := ctx.Deadline(); ok { // in time to say what it did
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-min(askLimit, time.Until(end)/4)))
		defer cancel()
	}
	var n counts
	var unread error
	for rec, err := range r.runner.Unknowns(ctx) {
		if err != nil {
			slog.ErrorContext(ctx, "payments: cannot be read", "id", rec.ID, "error", err)
			unread = errors.Join(unread, err)
			continue
		}
		if rec.Operation != byEvent && rec.Operation != overHTTP {
			continue // somebody else's
		}
		did, err := r.settle(ctx, rec)
		level := slog.LevelInfo
		switch {
		case err != nil:
			did, level = "left", slog.LevelWarn
			n.Left++
			r.observe(ctx, idempotency.Event{Kind: kindLeft, Operation: rec.Operation, ID: rec.ID, Ref: rec.Ref, Attempt: rec.Attempt, Err: err})
		case did == completed:
			n.Completed++
		default:
			n.NotDone++
		}
		slog.Log(ctx, level, "payments: reconciled", "id", rec.ID, "ref", rec.Ref, "did", did, "error", err)
	}
	return n, unread // so that the function's errors show it
}

const completed, notDone = "completed", "not done"

// settle says what it did with a record; an error has left it for the next time.
func (r reconciler) settle(ctx context.Context, rec idempotency.Record) (did string, err error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	key := rec.DownstreamKey(theCharge)
	e, booked, err := r.ledger.booked(ctx, key)
	if err != nil {
		return "", err
	}
	if !booked {
		c, charged, err := r.chargeSince(ctx, key, firstStart(rec.Prior, rec.Started))
		switch {
		case err != nil:
			return "", err
		case charged && (c.Customer == "" || c.Reference == "" || c.Amount <= 0 || c.Currency == ""):
			return "", fmt.Errorf("the processor does not say what the charge %s is for: somebody has to look", c.ID)
		case !charged && slices.Contains(rec.Steps, theCharge):
			return "", errors.New("the record has a charge that the processor does not know: somebody has to look")
		case !charged && time.Since(rec.LeaseEnd) < r.grace:
			return "", fmt.Errorf("not charged, but it may be yet: the attempt ended at %v", rec.LeaseEnd)
		case !charged:
			return notDone, r.runner.Resolve(ctx, rec, idempotency.NotDone())
		}
		// Booked here and not by the client's next try, which may never come.
		e = entry{paymentID(key), c.Customer, c.ID, c.Reference, c.Amount, c.Currency, rec.Attempt}
		if err := r.ledger.bookNow(ctx, e); err != nil {
			return "", err
		}
	}
	answer, err := outcome(rec.Operation, e.receipt())
	if err != nil {
		return "", err
	}
	return completed, r.runner.Resolve(ctx, rec, idempotency.Completed(answer))
}

// outcome is what the handler of the operation would have returned.
func outcome(operation string, r Receipt) (any, error) {
	if operation == byEvent {
		return r, nil
	}
	a, err := paid(r)
	header := http.Header{}
	for name, value := range a.headers {
		header.Set(name, value)
	}
	return lambda.HTTPAnswer(a.status, header, []byte(a.body)), err
}
