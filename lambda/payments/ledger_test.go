package main

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
)

// The limit is asked for before the charge, and is the customer's in one currency.
func TestLedger_Limit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, idempotency.Refuse)
		pay := func(key, customer, currency string, amount int64) error {
			p := aPayment()
			p.IdempotencyKey, p.Customer, p.Currency, p.Amount = key, customer, currency, amount
			_, err := s.payEvent(p)
			return err
		}
		for _, c := range []struct {
			key, customer, currency string
			amount                  int64
			over                    bool
		}{
			{"k0", "c1", "EUR", spendingLimit + 1, true},
			{"k1", "c1", "EUR", spendingLimit - 1, false},
			{"k2", "c1", "EUR", 2, true},
			{"k2", "c1", "EUR", 2, true}, // recorded
			{"k3", "c1", "EUR", 1, false},
			{"k4", "c1", "EUR", 1, true},
			{"k5", "c1", "USD", 1, false},
			{"k5", "c2", "EUR", 1, false},
		} {
			err := pay(c.key, c.customer, c.currency, c.amount)
			if over := err != nil; over != c.over || over && !strings.Contains(err.Error(), "spending limit of 1000000 reached") {
				t.Errorf("%+v: %v", c, err)
			}
		}
		s.books(4)
	})
}

// A charge that is made is booked, whatever the limit is by then.
func TestLedger_LimitIsNoReasonNotToBook(t *testing.T) {
	t.Parallel()
	atEachDeath(t, func(s *shop, pay func() string) {
		passes(2 * timeout)
		rest := aPayment()
		rest.IdempotencyKey, rest.Amount, rest.Customer = "k2", spendingLimit, s.customer
		if _, err := s.payEvent(rest); err != nil {
			s.t.Fatal(err)
		}
		if s.policy == idempotency.Refuse {
			s.reconciles(counts{Completed: 1})
		}
		s.receives(pay)
		s.books(2)
	})
}

// While an earlier attempt's request may be on its way, "over the limit" is not the last word: it would leave a charge of
// which nobody hears.
func TestLedger_NoFinalNoBesideALateCharge(t *testing.T) {
	t.Parallel()
	inShop(t, func(s *shop, pay func() string) {
		if s.policy == idempotency.Refuse {
			return // nobody runs beside it
		}
		goOn, came := make(chan struct{}), make(chan string)
		s.whenSent(func() { <-goOn })
		go func() { came <- pay() }()
		synctest.Wait()
		passes(2 * timeout)
		s.whenSent(nil)
		rest := aPayment()
		rest.IdempotencyKey, rest.Amount, rest.Customer = "k2", spendingLimit, s.customer
		if _, err := s.payEvent(rest); err != nil {
			s.t.Fatal(err)
		}
		if got := pay(); !strings.Contains(got, "may charge yet") {
			s.t.Errorf("beside a late charge the client got %s", got)
		}
		close(goOn)
		<-came
		s.reconciles(counts{Completed: 1})
		if got := pay(); got != "ch_2" {
			s.t.Errorf("the client got %s, want ch_2", got)
		}
		s.books(2)
	})
}

// The ledger knows a payment for longer than its record: after the window the same one is no second charge, and another
// one under its key is refused.
func TestLedger_OutlivesTheRecord(t *testing.T) {
	t.Parallel()
	inShop(t, func(s *shop, pay func() string) {
		s.receives(pay)
		passes(48 * 60 * 60 * 1e9)
		s.receives(pay)
		s.books(1)
	})
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, idempotency.Refuse)
		if _, err := s.payEvent(aPayment()); err != nil {
			t.Fatal(err)
		}
		passes(48 * 60 * 60 * 1e9)
		other := aPayment()
		other.Amount++
		_, err := s.payEvent(other)
		if invalid, ok := errors.AsType[*InvalidPayment](err); !ok || invalid.Field != "idempotencyKey" {
			t.Errorf("another amount: %v, want an InvalidPayment of idempotencyKey", err)
		}
		s.books(1)
	})
}

// Behind a door the customer is who calls, whatever the body says.
func TestLedger_CustomerIsTheCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, idempotency.Refuse)
		s.receives(s.payOverHTTP)
		var spent total
		if ok, err := s.function.ledger.get(t.Context(), totalID(caller, "EUR"), &spent); err != nil || !ok || spent.Spent != 4990 {
			t.Errorf("the caller has spent %d, %v, want 4990", spent.Spent, err)
		}
	})
}

// A charge that was made under the key before its window, for something else, is no charge for this payment.
func TestLedger_ChargeOfAnotherPayment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, idempotency.Rerun)
		s.customer = aPayment().Customer
		s.whenCharged(func() { s.cut.Store(true) })
		s.dies(s.payByEvent)
		passes(8*24*time.Hour + time.Minute)
		p := aPayment()
		p.Amount = 1
		r, err := s.payEvent(p)
		if invalid, ok := errors.AsType[*InvalidPayment](err); !ok || invalid.Field != "idempotencyKey" || r.Charge != "" {
			t.Errorf("got %+v, %v", r, err)
		}
		if s.cards.Charges() != 1 {
			t.Errorf("%d charges", s.cards.Charges())
		}
	})
}
