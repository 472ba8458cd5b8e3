package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda/payments/internal/outboxpipe"
	"github.com/oncekey/oncekey/localtest"
)

// market is the shop with a queue off its outbox, and the worker behind that.
type market struct {
	*shop
	queue  *localtest.Queue
	worker commissions
	runner *idempotency.Runner
}

// inMarket plays with as many payments made and published, and nothing delivered.
func inMarket(t *testing.T, payments int, play func(m *market)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := &market{shop: newShop(t, idempotency.Refuse), queue: localtest.NewQueue("commissions")}
		m.db.EnableTTL(t, m.records, idempotency.DefaultExpiry)
		m.queue.MaxReceives = 5
		m.worker = commissions{m.function, "card_shop"}
		var err error
		m.runner, err = idempotency.New(m.client, forCommissions(idempotency.Config{Table: m.records, Classify: unlessMarked}))
		if err != nil {
			t.Fatal(err)
		}
		for i := range payments {
			p := aPayment()
			p.IdempotencyKey = fmt.Sprint("k", i)
			p.Amount = []int64{4990, 99, 1}[i%3] // 49.9, and less than one
			if _, err := m.payEvent(p); err != nil {
				t.Fatal(err)
			}
		}
		m.publishes()
		play(m)
	})
}

// publishes sends each row of the outbox, as a record that differs from the one before.
func (m *market) publishes() {
	m.t.Helper()
	bodies, err := outboxpipe.Messages(m.t.Context(), m.db.Client(), m.function.ledger.table)
	if err != nil {
		m.t.Fatal(err)
	}
	for _, body := range bodies {
		m.queue.Send(localtest.Message{Body: body})
	}
}

func (m *market) consume(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
	return m.worker.behindQueue(m.runner)(ctx, e)
}

// delivers a batch, of which so many messages are done with and the others come back.
func (m *market) delivers(done, back int) {
	m.t.Helper()
	d, err := m.queue.Deliver(localtest.Invocation(m.t, timeout), 10, m.consume)
	if err != nil || len(d.Deleted) != done || len(d.Returned) != back {
		m.t.Errorf("%d messages are done with and %d come back, %v; want %d and %d", len(d.Deleted), len(d.Returned), err, done, back)
	}
}

// revives starts another process after one that has died.
func (m *market) revives() {
	m.cut.Store(false)
	m.whenCharged(nil)
}

// collects checks that the ledger has so many commissions, and that the processor has charged each of them, and each payment,
// once.
func (m *market) collects(payments, want int) {
	m.t.Helper()
	if got, charges := m.booked(), m.cards.Charges(); got != want || charges != payments+want {
		m.t.Errorf("%d commissions and %d charges, want %d, and %d with those of the payments", got, charges, want, payments+want)
	}
}

// booked counts the commissions in the ledger, and checks what they are.
func (m *market) booked() (commissions int) {
	m.t.Helper()
	out, err := m.db.Client().Scan(m.t.Context(), &dynamodb.ScanInput{TableName: &m.function.ledger.table, ConsistentRead: aws.Bool(true)})
	if err != nil {
		m.t.Fatal(err)
	}
	var rows []entry // a commission is one without an order
	if err := attributevalue.UnmarshalListOfMaps(out.Items, &rows); err != nil {
		m.t.Fatal(err)
	}
	byID := map[string]entry{}
	for _, r := range rows {
		byID[r.ID] = r
	}
	for id, c := range byID {
		of, ok := strings.CutPrefix(id, "commission#")
		if !ok {
			continue
		}
		commissions++
		p := byID[of]
		if rule := map[int64]int64{4990: 49, 99: 1, 1: 1}[p.Amount]; c.Amount != rule || c.Currency != p.Currency || c.Charge == "" || c.Charge == p.Charge {
			m.t.Errorf("commission %+v on %+v, want %d", c, p, rule)
		}
	}
	return commissions
}
