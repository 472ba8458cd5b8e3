package main

import (
	"context"
	"errors"
	"testing"

	"github.com/oncekey/oncekey/idempotency"
)

// recorder is a processor that keeps what it was asked.
type recorder struct {
	key      string
	request  chargeRequest
	requests int
	err      error
}

func (r *recorder) charge(_ context.Context, key string, c chargeRequest) (string, error) {
	r.key, r.request = key, c
	r.requests++
	if r.err != nil {
		return "", r.err
	}
	return "ch_1", nil
}

func aPayment() Payment {
	return Payment{IdempotencyKey: "k1", Customer: "c1", Order: "17", Amount: 4990, Currency: "EUR", Card: "card_visa"}
}

func TestPay_ChargesUnderTheAttemptsDownstreamKey(t *testing.T) {
	t.Parallel()
	cards := &recorder{}
	ctx := idempotency.WithAttempt(t.Context(), idempotency.Attempt{Token: "t1", Number: 2, Prior: &idempotency.Prior{Number: 1}})
	got, err := payments{cards}.pay(ctx, aPayment())
	want := Receipt{Charge: "ch_1", Order: "17", Amount: 4990, Currency: "EUR", Attempt: 2}
	if err != nil || got != want {
		t.Errorf("receipt %+v, %v, want %+v", got, err, want)
	}
	if key := idempotency.AttemptFrom(ctx).DownstreamKey("card"); cards.key != key {
		t.Errorf("charged under key %q, want the attempt's %q", cards.key, key)
	}
	if want := (chargeRequest{Card: "card_visa", Amount: 4990, Currency: "EUR", Reference: "17"}); cards.request != want {
		t.Errorf("charge %+v, want %+v", cards.request, want)
	}
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
			cards := &recorder{}
			p := aPayment()
			c.change(&p)
			ctx := idempotency.WithAttempt(t.Context(), idempotency.Attempt{Token: "t1", Number: 1})
			_, err := payments{cards}.pay(ctx, p)
			if invalid, ok := errors.AsType[*InvalidPayment](err); !ok || invalid.Field != c.field {
				t.Errorf("error %v, want an InvalidPayment of %s", err, c.field)
			}
			if cards.requests != 0 {
				t.Errorf("%d charges were asked for, want none", cards.requests)
			}
		})
	}
}

func TestRequest_ScopeAndKeyComeFromThePayment(t *testing.T) {
	t.Parallel()
	got, err := request(t.Context(), aPayment())
	want := idempotency.Request{Operation: "create-payment", Scope: "c1", Key: "k1", Ref: "order 17"}
	if err != nil || got != want {
		t.Errorf("request %+v, %v, want %+v", got, err, want)
	}
}
