package main

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/oncekey/oncekey/lambda/payments/internal/cardprocessor"
	"github.com/oncekey/oncekey/localtest"
)

// business is some payments a minute, more in the middle of the hour, with their retries and twins; the clock of the reconciler,
// and the worker behind its queue.
func (h *hour) business() {
	chance := func(of float64) bool { return h.random.Float64() < of }
	for i := range 280 {
		at := h.upTo(30*time.Minute) + h.upTo(30*time.Minute)
		p := hourPayment(fmt.Sprint("k", i))
		p.Customer = fmt.Sprint("c", i%40)
		p.Amount = 100 + h.random.Int64N(9900)
		if chance(0.04) {
			p.Card = cardprocessor.DeclinedCard
		}
		h.pays(at, p, fate{})
		if chance(0.06) { // the client hung up, and is there again while the first one runs
			h.pays(at+60*time.Millisecond, p, fate{})
		}
		for n := 0; n < 3 && chance(0.25); n++ {
			h.pays(at+6*time.Second+h.upTo(36*time.Second), p, fate{})
		}
		if chance(0.01) {
			p.Amount++
			h.pays(at+time.Minute, p, fate{})
		}
	}
	for m := range 60 {
		minute := time.Duration(m) * time.Minute
		h.at(minute+54*time.Second, h.measuresQueue)
		if m%5 == 4 {
			h.at(minute, h.ticks)
		}
		h.at(minute+3*time.Second, h.publishes)
		for third := range time.Duration(3) {
			if m < 37 || m >= 40 { // somebody has switched the worker off
				h.at(minute+6*time.Second+third*20*time.Second, h.works)
			}
		}
	}
}

// troubles are what goes wrong in this hour.
func (h *hour) troubles() {
	comesAgain := func(at time.Duration, key string, f fate) {
		h.pays(at, hourPayment(key), f)
		h.pays(at+90*time.Second, hourPayment(key), fate{})
		h.pays(at+8*time.Minute, hourPayment(key), fate{}) // the reconciler was there
	}
	for i := range 3 { // charged, and to be booked
		comesAgain(9*time.Minute+times(i, 12*time.Second), fmt.Sprint("killed-", i), fate{diesAt: "TransactWriteItems"})
	}
	comesAgain(9*time.Minute+20*time.Second, "killed-early", fate{diesAt: "charge"}) // left until its request cannot be on its way any more
	comesAgain(25*time.Minute+30*time.Second, "frozen", fate{frozen: 6 * time.Minute})
	for i := range 30 {
		h.pays(15*time.Minute+times(i, 12*time.Millisecond), hourPayment(fmt.Sprint("burst-", i)), fate{})
	}
	h.at(20*time.Minute, func() { h.sends("no row of the outbox") })
	h.denies(42*time.Minute, 90*time.Second, h.records, "PutItem")
	h.denies(45*time.Minute, time.Minute, h.function.ledger.table, "GetItem")
	h.denies(48*time.Minute, 24*time.Second, h.records, "UpdateItem")
	for i := range 3 {
		p := hourPayment(fmt.Sprint("declined-", i))
		p.Card = cardprocessor.DeclinedCard
		h.pays(48*time.Minute+6*time.Second+times(i, 6*time.Second), p, fate{})
	}
	for i := range 4 {
		p := hourPayment(fmt.Sprint("late-", i))
		h.at(52*time.Minute+times(i, 6*time.Second), func() { h.pay(p, fate{}, 40*time.Millisecond) })
	}
}

func times(n int, d time.Duration) time.Duration { return time.Duration(n) * d }

func hourPayment(key string) Payment {
	return Payment{IdempotencyKey: key, Customer: key, Order: key, Amount: 4990, Currency: "EUR", Card: "card_visa"}
}

// denies takes a right away for some time, as a deploy does.
func (h *hour) denies(from, during time.Duration, table, operation string) {
	h.db.Inject(localtest.Fault{
		Kind: localtest.AccessDenied, Table: table, Operation: operation, Times: -1,
		Match: func(localtest.Call) bool { return h.isWithin(from, during) },
	})
}

func (h *hour) isWithin(from, during time.Duration) bool {
	now := time.Since(h.began)
	return now >= from && now < from+during
}

// throttles is a spell in which DynamoDB takes no call but as the SDK's third try, which is its last.
func (h *hour) throttles(r *http.Request) bool {
	return h.isWithin(32*time.Minute, 3*time.Minute) && !strings.HasPrefix(r.Header.Get("Amz-Sdk-Request"), "attempt=3")
}
