package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda/payments/internal/cardprocessor"
	"github.com/oncekey/oncekey/lambda/payments/internal/outboxpipe"
	"github.com/oncekey/oncekey/localtest"
)

// A batch is delivered again, and its rows are published again: that is one charge and one row each (C43).
func TestCommission_OnceForEachRow(t *testing.T) {
	t.Parallel()
	inMarket(t, 3, func(m *market) {
		lost := errors.New("the deletion got lost")
		_, err := m.queue.Deliver(localtest.Invocation(m.t, timeout), 10, func(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
			if out, err := m.consume(ctx, e); err != nil || len(out.BatchItemFailures) > 0 {
				m.t.Errorf("answer %+v, %v", out, err)
			}
			return events.SQSEventResponse{}, lost
		})
		if !errors.Is(err, lost) {
			m.t.Fatal(err)
		}
		m.collects(3, 3)
		m.delivers(3, 0)
		m.publishes()
		m.publishes() // twice in one batch
		m.delivers(6, 0)
		m.collects(3, 3)
		if n := m.cards.Requests(); n != 6 {
			m.t.Errorf("%d requests to charge, want one for each payment and commission", n)
		}
	})
}

// The ledger knows a commission for longer than its record (C51).
func TestCommission_PublishedAfterTheWindow(t *testing.T) {
	t.Parallel()
	inMarket(t, 1, func(m *market) {
		m.delivers(1, 0)
		passes(queueMemory + time.Hour)
		m.db.Sweep(0)
		m.publishes()
		m.cards.Forget()
		m.delivers(1, 0)
		if n := m.booked(); n != 1 || m.cards.Charges() != 0 {
			m.t.Errorf("%d commissions, and %d charges after the first one; want 1 and 0", n, m.cards.Charges())
		}
	})
}

// Two workers have a row each, and it is the same one: the later one leaves it, and comes again (C42).
func TestCommission_TwoWorkers(t *testing.T) {
	t.Parallel()
	inMarket(t, 1, func(m *market) {
		goOn, came := make(chan struct{}), make(chan struct{})
		m.whenCharged(func() { <-goOn })
		go func() { defer close(came); m.delivers(1, 0) }()
		synctest.Wait()
		m.publishes()
		m.delivers(0, 1)
		close(goOn)
		<-came
		m.delivers(1, 0)
		m.collects(1, 1)
	})
}

// The worker dies between the charge and the commit: the next delivery finds the charge and books it.
func TestCommission_ChargedAndNotBooked(t *testing.T) {
	t.Parallel()
	for when, dies := range deaths {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			inMarket(t, 3, func(m *market) {
				dies(m.shop)
				m.delivers(0, 3)
				m.revives()
				m.delivers(2, 1) // the lease of the first one is alive
				passes(2 * timeout)
				m.delivers(1, 0)
				m.collects(3, 3)
				if n := m.cards.Requests(); n != 6 {
					m.t.Errorf("%d requests to charge, want 6: the charge is found, not made again", n)
				}
			})
		})
	}
}

// A worker is late, and comes back after another one has booked: its charge is the same one, and its booking is refused.
func TestCommission_LateWorker(t *testing.T) {
	t.Parallel()
	for what, when := range map[string]func(*shop, func()){"sent": (*shop).whenSent, "charged": (*shop).whenCharged} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			inMarket(t, 1, func(m *market) {
				goOn, came := make(chan struct{}), make(chan struct{})
				when(m.shop, func() { <-goOn })
				go func() {
					defer close(came)
					_, _ = m.queue.Deliver(localtest.Invocation(m.t, timeout), 1, m.consume)
				}()
				synctest.Wait()
				passes(2 * timeout)
				when(m.shop, nil)
				m.publishes()
				m.delivers(1, 0)
				close(goOn)
				<-came
				m.collects(1, 1)
				if m.queue.Len() > 0 {
					m.delivers(1, 0)
				}
				m.collects(1, 1)
			})
		})
	}
}

// A worker with another table of records knows nothing of this one, nor this one of it, and books first: the ledger has one row.
func TestCommission_OtherRecords(t *testing.T) {
	t.Parallel()
	inMarket(t, 1, func(m *market) {
		other, err := idempotency.New(m.db.Client(), forCommissions(idempotency.Config{
			Table: m.db.CreateTable(m.t, idempotency.Table("other", idempotency.Schema{})),
		}))
		if err != nil {
			m.t.Fatal(err)
		}
		m.db.Inject(localtest.Fault{Operation: "TransactWriteItems", Before: func() {
			m.publishes()
			if d, err := m.queue.Deliver(m.t.Context(), 1, m.worker.behindQueue(other)); err != nil || len(d.Deleted) != 1 {
				m.t.Errorf("the other one: %+v, %v", d, err)
			}
		}})
		m.delivers(0, 1)
		m.collects(1, 1)
		m.delivers(1, 0)
		m.collects(1, 1)
	})
}

// What cannot be read is nobody's charge, stops nothing else, and ends in the dead-letter queue.
func TestCommission_Poison(t *testing.T) {
	t.Parallel()
	inMarket(t, 1, func(m *market) {
		bodies, err := outboxpipe.Messages(m.t.Context(), m.db.Client(), m.function.ledger.table)
		if err != nil || len(bodies) != 1 {
			m.t.Fatal(bodies, err)
		}
		poison := []string{
			"", "null", "[]", "{}", "no JSON", "{}{}", `"text"`,
			`{"dynamodb":null}`, `{"dynamodb":[]}`, `{"dynamodb":{"NewImage":null}}`, `{"dynamodb":{"NewImage":{"id":null}}}`,
			`{"dynamodb":{"NewImage":{"id":{"S":"outbox#payment#k"}}}}`,
			bodies[0] + bodies[0],
			regexp.MustCompile(`payment#\w+`).ReplaceAllString(bodies[0], ""),
		}
		for _, wrong := range [][2]string{
			{`"S":"payment_made"`, `"S":"payment_unmade"`},
			{`"S":"payment_made"`, `"BS":[1]`}, // on which the decoder of aws-lambda-go panics
			{`"S":"payment_made"`, `"N":"1"`},
			{`"S":"payment_made"`, `"S":1`},
			{`"S":"payment_made"`, `"XX":"payment_made"`},
			{`"N":"4990"`, `"S":"4990"`},
			{`"N":"4990"`, `"N":"49.9"`},
			{`"N":"4990"`, `"N":"-1"`},
			{`"N":"4990"`, `"N":"0"`},
			{`"N":"4990"`, `"N":"99999999999999999999"`},
			{`"N":"4990"`, `"NULL":true`},
			{`"S":"EUR"`, `"S":"euro"`},
			{`"S":"EUR"`, `"L":[]`},
			{`"S":"ch_1"`, `"S":""`},
			{`"M":{`, `"S":{`},
			{`"M":{`, `"L":{`},
			{`"S":"outbox#`, `"S":"payment#`},
			{`"S":"outbox#payment#`, `"S":"outbox#outbox#`},
		} {
			body := strings.ReplaceAll(strings.ReplaceAll(bodies[0], `{ "`, `{"`), wrong[0], wrong[1])
			if body == bodies[0] || !strings.Contains(body, wrong[1]) {
				m.t.Fatalf("%s is not in %s", wrong[0], bodies[0])
			}
			poison = append(poison, body)
		}
		_, key, _ := strings.Cut(bodies[0], "outbox#payment#")
		for i, body := range poison { // each another row, or they would be refused for what the first one says
			m.queue.Send(localtest.Message{Body: strings.ReplaceAll(body, key[:6], fmt.Sprintf("poison%d", i))})
		}
		deleted := 0
		for range m.queue.MaxReceives {
			d, err := m.queue.Deliver(localtest.Invocation(m.t, timeout), 1000, m.consume)
			if err != nil {
				m.t.Fatal(err)
			}
			deleted += len(d.Deleted)
		}
		if dead := m.queue.Dead(); deleted != 1 || len(dead) != len(poison) || m.queue.Len() != 0 {
			m.t.Errorf("%d done with, %d in the dead-letter queue, %d left: want 1, %d, 0", deleted, len(dead), m.queue.Len(), len(poison))
		}
		m.collects(1, 1)
		if n := m.cards.Requests(); n != 2 {
			m.t.Errorf("%d requests to charge, want 2", n)
		}
	})
}

// A row with more in it than this worker knows is none the worse for it.
func TestCommission_RowWithMoreInIt(t *testing.T) {
	t.Parallel()
	inMarket(t, 1, func(m *market) {
		d, err := m.queue.Deliver(m.t.Context(), 1, func(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
			e.Records[0].Body = strings.Replace(e.Records[0].Body, `"NewImage":{`, `"NewImage":{"added":{"SS":["later"]},"gone":{"NULL":true},`, 1)
			return m.consume(ctx, e)
		})
		if err != nil || len(d.Deleted) != 1 || !strings.Contains(d.Event.Records[0].Body, "later") {
			m.t.Errorf("%+v, %v", d, err)
		}
		m.collects(1, 1)
	})
}

// A declined card is an outcome, and the processor is not asked about it again; the message goes to the dead letters, for a person.
func TestCommission_Declined(t *testing.T) {
	t.Parallel()
	inMarket(t, 1, func(m *market) {
		m.worker.card = cardprocessor.DeclinedCard
		m.delivers(0, 1)
		m.publishes()
		m.delivers(0, 2)
		m.collects(1, 0)
		if n := m.cards.Requests(); n != 2 {
			m.t.Errorf("%d requests to charge, want one for the payment and one for the commission", n)
		}
	})
}

// While a table refuses, or the processor, messages come back; then each is charged and booked once (C15).
func TestCommission_Outage(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"GetItem", "PutItem", "UpdateItem", "TransactWriteItems", ""} {
		for _, kind := range []localtest.FaultKind{localtest.Throttled, localtest.ReplyLost, localtest.AccessDenied} {
			t.Run(kind.String()+" "+operation, func(t *testing.T) {
				t.Parallel()
				inMarket(t, 2, func(m *market) {
					over := m.outage(operation, kind, 0)
					_, _ = m.queue.Deliver(localtest.Invocation(m.t, timeout), 10, m.consume)
					over()
					passes(2 * timeout)
					for range 2 { // a reply that was lost: the message may have been done
						_, _ = m.queue.Deliver(localtest.Invocation(m.t, timeout), 10, m.consume)
					}
					if m.queue.Len() != 0 {
						m.t.Errorf("%d messages are left", m.queue.Len())
					}
					m.collects(2, 2)
				})
			})
		}
	}
	inMarket(t, 2, func(m *market) {
		m.lost.Store(true)
		m.delivers(0, 2)
		m.lost.Store(false)
		m.delivers(2, 0)
		m.collects(2, 2)
	})
}

// A message comes out of the dead-letter queue after weeks. Its charge may have been made, and the processor knows no key for
// so long: nothing is charged, somebody has to look (C51).
func TestCommission_RedrivenAfterWeeks(t *testing.T) {
	t.Parallel()
	inMarket(t, 1, func(m *market) {
		m.whenCharged(func() { m.cut.Store(true) })
		m.delivers(0, 1)
		m.revives()
		m.cards.Forget()
		passes(queueMemory)
		m.db.Sweep(0)
		m.publishes() // as good as a redrive: another message id
		m.delivers(0, 2)
		passes(queueMemory)
		m.db.Sweep(0)
		m.delivers(0, 2)
		m.collects(0, 0)
	})
}

// The shop has another card by now, and what was charged before is booked; what was charged for something else is not.
func TestCommission_FoundCharge(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		change     func(*market)
		done, back int
	}{
		"another card": {func(m *market) { m.worker.card = "card_new" }, 1, 0},
		"another amount": {func(m *market) {
			m.worker.cards = answering{m.worker.cards, charge{"ch_2", chargeRequest{"card_shop", 1, "EUR", "commission on ch_1", "shop"}}}
		}, 0, 1},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			inMarket(t, 1, func(m *market) {
				m.whenCharged(func() { m.cut.Store(true) })
				m.delivers(0, 1)
				m.revives()
				passes(2 * timeout)
				c.change(m)
				m.delivers(c.done, c.back)
				if n := m.booked(); n != c.done || m.cards.Charges() != 2 {
					m.t.Errorf("%d commissions and %d charges, want %d and 2", n, m.cards.Charges(), c.done)
				}
			})
		})
	}
}
