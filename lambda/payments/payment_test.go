package main

import (
	"errors"
	"reflect"
	"testing"

	"github.com/oncekey/oncekey/idempotency"
)

func aPayment() Payment {
	return Payment{IdempotencyKey: "k1", Customer: "c1", Order: "17", Amount: 4990, Currency: "EUR", Card: "card_visa"}
}

func TestPay_InvalidChargesNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		field  string
		change func(*Payment)
	}{
		{"order", func(p *Payment) { p.Order = "" }},
		{"amount", func(p *Payment) { p.Amount = -1 }},
		{"currency", func(p *Payment) { p.Currency = "EURO" }},
		{"currency", func(p *Payment) { p.Currency = "€" }},
		{"currency", func(p *Payment) { p.Currency = "123" }},
		{"currency", func(p *Payment) { p.Currency = "EUR\n" }},
		{"card", func(p *Payment) { p.Card = "" }},
	} {
		t.Run(c.field, func(t *testing.T) {
			t.Parallel()
			p := aPayment()
			c.change(&p)
			ctx := idempotency.WithAttempt(t.Context(), idempotency.Attempt{Token: "t1", Number: 1})
			_, err := payments{}.pay(ctx, p) // asks nobody
			if invalid, ok := errors.AsType[*InvalidPayment](err); !ok || invalid.Field != c.field {
				t.Errorf("error %v, want an InvalidPayment of %s", err, c.field)
			}
		})
	}
}

func TestRequest_ScopeAndKeyComeFromThePayment(t *testing.T) {
	t.Parallel()
	got, err := request(t.Context(), aPayment())
	want := idempotency.Request{Operation: "create-payment-event", Scope: "c1", Key: "k1", Ref: "order 17"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("request %+v, %v, want %+v", got, err, want)
	}
}
