package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"

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

// request says which logical request a payment is. Its Input is left to the wrapper: the whole event, so that a
// key which comes back with another amount is refused.
func request(_ context.Context, p Payment) (idempotency.Request, error) {
	return idempotency.Request{
		Operation: "create-payment",
		// Only trusted services may invoke this function, and they say whose payment it is. Behind an HTTP
		// door the scope must come from the authoriser instead: a stranger can write any customer into a body.
		Scope: p.Customer,
		Key:   p.IdempotencyKey,
		Ref:   "order " + p.Order,
	}, nil
}

type payments struct{ cards processor }

// pay is the handler, and knows nothing of records: it runs when the payment has no outcome yet, and its error
// decides what becomes of the next try.
func (s payments) pay(ctx context.Context, p Payment) (Receipt, error) {
	if err := p.validate(); err != nil {
		return Receipt{}, idempotency.Terminal(err) // the same event will be just as wrong the next time
	}
	attempt := idempotency.AttemptFrom(ctx)
	if prior := attempt.Prior; prior != nil {
		slog.WarnContext(ctx, "payments: an earlier attempt may have charged this card; asking under the same key",
			"order", p.Order, "attempt", attempt.Number, "since", prior.Started)
	}
	// The processor gets the same key from every attempt at this payment, so it charges once, too.
	charge, err := s.cards.charge(ctx, attempt.DownstreamKey("card"), chargeRequest{
		Card: p.Card, Amount: p.Amount, Currency: p.Currency, Reference: p.Order,
	})
	if declined, ok := errors.AsType[*CardDeclined](err); ok {
		return Receipt{}, idempotency.Terminal(declined) // final, and nothing was charged
	}
	if err != nil {
		return Receipt{}, idempotency.Unknown(err) // whatever it looks like: the card may have been charged
	}
	return Receipt{Charge: charge, Order: p.Order, Amount: p.Amount, Currency: p.Currency, Attempt: attempt.Number}, nil
}

var currency = regexp.MustCompile("^[A-Z]{3}$")

func (p Payment) validate() error {
	switch {
	case p.Order == "":
		return &InvalidPayment{"order", "is required"}
	case p.Amount <= 0:
		return &InvalidPayment{"amount", fmt.Sprintf("is %d: must be positive", p.Amount)}
	case !currency.MatchString(p.Currency):
		return &InvalidPayment{"currency", fmt.Sprintf("is %q: must be a code of three capital letters", p.Currency)}
	case p.Card == "":
		return &InvalidPayment{"card", "is required"}
	}
	return nil
}
