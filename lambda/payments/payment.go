package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/oncekey/oncekey/idempotency"
)

// Payment is the event. A retry carries the same one.
type Payment struct {
	IdempotencyKey string `json:"idempotencyKey"` // made by the client, one for each payment that it means to make
	Customer       string `json:"customer"`
	Order          string `json:"order"`
	Amount         int64  `json:"amount"`   // in the currency's minor unit, such as cents
	Currency       string `json:"currency"` // ISO 4217
	Card           string `json:"card"`     // the processor's token for it, never the number
}

// Receipt is the answer. It is recorded, so every retry gets this very one.
type Receipt struct {
	Charge   string `json:"charge"`
	Order    string `json:"order"`
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
	Attempt  int64  `json:"attempt"` // which attempt got the charge from the processor; an earlier one may have made it
}

// InvalidPayment is a payment that can never be made. Its type's name is the errorType that callers of the
// function see.
//
//nolint:errname // named for the callers
type InvalidPayment struct{ Field, Rule string }

func (e *InvalidPayment) Error() string {
	return fmt.Sprintf("invalid payment: %s %s", e.Field, e.Rule)
}

// The operations. Their outcomes have different forms, and so their records have different names.
const (
	byEvent  = "create-payment-event" // a Receipt
	overHTTP = "create-payment"       // an answer
)

// request says which logical request a payment is. Its Input is left to the wrapper: the whole event, so that a
// key which comes back with another amount is refused.
func request(_ context.Context, p Payment) (idempotency.Request, error) {
	return idempotency.Request{
		Operation: byEvent,
		// Only trusted services may invoke this function, and they say whose payment it is. Behind an HTTP
		// door the scope must come from the authoriser instead: a stranger can write any customer into a body.
		Scope: p.Customer,
		Key:   p.IdempotencyKey,
		Ref:   "order " + p.Order,
	}, nil
}

type payments struct {
	cards  processor
	ledger ledger
}

// theCharge names the step, and the key under which the processor knows it.
const theCharge = "charge"

// pay is the handler: it runs when the payment has no outcome yet, and its error decides what becomes of the next try.
//
// It charges, and then books: no row without a charge. What it books is staged, and commits with its outcome; if that fails,
// or the process dies before, the charge is a recorded step or is found by its key, the outcome is unknown, and either the
// next attempt books it or the reconciler does: no charge without a row.
func (s payments) pay(ctx context.Context, p Payment) (Receipt, error) {
	if err := p.validate(); err != nil {
		return Receipt{}, idempotency.Terminal(err) // the same event will be just as wrong the next time
	}
	attempt := idempotency.AttemptFrom(ctx)
	if prior := attempt.Prior; prior != nil {
		slog.WarnContext(ctx, "payments: an earlier attempt may have charged this card; looking for its charge",
			"order", p.Order, "attempt", attempt.Number, "since", prior.Started)
	}
	// The processor gets the same key from every attempt at this payment, so it charges once, too.
	key := attempt.DownstreamKey(theCharge)
	done, ok, err := s.ledger.booked(ctx, key)
	if err != nil {
		return Receipt{}, idempotency.Safe(err) // nothing but a read
	}
	if ok { // by the reconciler; or before the record's window ended, and then it may have been another payment
		if done != (entry{done.ID, p.Customer, done.Charge, p.Order, p.Amount, p.Currency, done.Attempt}) {
			return Receipt{}, idempotency.Terminal(&InvalidPayment{"idempotencyKey", "is that of another payment"})
		}
		return done.receipt(), nil
	}
	made, err := idempotency.StepOrFind(ctx, theCharge,
		func(ctx context.Context) (madeCharge, bool, error) {
			c, ok, err := s.chargeSince(ctx, key, firstStart(attempt.Prior, time.Now()))
			if ok && !c.isFor(p) { // made under this key before its window, for something else
				return madeCharge{}, false, idempotency.Terminal(&InvalidPayment{"idempotencyKey", "is that of another payment"})
			}
			return madeCharge{c.ID, attempt.Number}, ok, idempotency.Unknown(err)
		},
		func(ctx context.Context) (madeCharge, error) {
			// Asked within the step: a charge that is made already is to be booked, whatever the limit is by now.
			err := s.ledger.allow(ctx, p)
			if err != nil && attempt.Prior != nil {
				// No final no: an earlier attempt's request may still be on its way to the processor.
				err = idempotency.Unknown(errors.New("an earlier attempt may charge yet; this one did not: " + err.Error()))
			}
			if err != nil {
				return madeCharge{}, err
			}
			id, err := s.chargeNow(ctx, key, chargeRequest{p.Card, p.Amount, p.Currency, p.Order, p.Customer})
			return madeCharge{id, attempt.Number}, err
		})
	if err != nil {
		return Receipt{}, err
	}
	e := entry{paymentID(key), p.Customer, made.ID, p.Order, p.Amount, p.Currency, made.Attempt}
	s.ledger.book(idempotency.TxFrom(ctx), e)
	return e.receipt(), nil
}

// madeCharge is what the step records.
type madeCharge struct {
	ID      string
	Attempt int64
}

// chargeNow charges, and marks what an error means.
func (s payments) chargeNow(ctx context.Context, key string, r chargeRequest) (id string, err error) {
	id, err = s.cards.charge(ctx, key, r)
	if declined, ok := errors.AsType[*CardDeclined](err); ok {
		return "", idempotency.Terminal(declined) // final, and nothing was charged
	}
	return id, idempotency.Unknown(err) // whatever it looks like: it may have been
}

// keyMemory is for how long the card processor knows its keys. After that it neither finds a charge nor recognises a second
// one.
const keyMemory = 24 * time.Hour

// chargeSince asks for the charge of a key that was first used then. An answer that says nothing is an error.
func (s payments) chargeSince(ctx context.Context, key string, since time.Time) (c charge, ok bool, err error) {
	c, ok, err = s.cards.find(ctx, key)
	if err == nil && !ok && time.Since(since) > keyMemory {
		err = fmt.Errorf("the card processor may have forgotten a charge since %v: somebody has to look", since)
	}
	return c, ok, err
}

// firstStart is when the first attempt started of which nobody knows what became.
func firstStart(prior *idempotency.Prior, started time.Time) time.Time {
	if prior != nil {
		return prior.Started
	}
	return started
}

var (
	currency    = regexp.MustCompile("^[A-Z]{3}$")
	orderNumber = regexp.MustCompile(`^[\w.-]{1,100}$`) // also a Ref
)

func (p Payment) validate() error {
	switch {
	case !orderNumber.MatchString(p.Order):
		return &InvalidPayment{"order", "must be up to 100 letters, digits, dots and dashes"}
	case p.Amount <= 0:
		return &InvalidPayment{"amount", fmt.Sprintf("is %d: must be positive", p.Amount)}
	case !currency.MatchString(p.Currency):
		return &InvalidPayment{"currency", fmt.Sprintf("is %q: must be a code of three capital letters", p.Currency)}
	case p.Card == "":
		return &InvalidPayment{"card", "is required"}
	}
	return nil
}
