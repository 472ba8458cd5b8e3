package main

import (
	"cmp"
	"context"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda/payments/demo/frontdoor"
	"github.com/oncekey/oncekey/lambda/payments/internal/cardprocessor"
	"github.com/oncekey/oncekey/localtest"
)

// world is what one situation is played in: a function behind a front door, its tables, its reconciler, a queue off its outbox
// with a worker, and a card processor.
type world struct {
	db     *localtest.DB
	table  string // of records
	ledger string
	fn     *localtest.Function
	clock  *localtest.Function // the reconciler
	worker *localtest.Function // for commissions, behind queue
	queue  *localtest.Queue
	door   frontdoor.Door
	url    string // of payments; "": there is no door
	cards  *cardprocessor.Server
	rows   []row

	mu      sync.Mutex
	charged func()
}

// started is what all worlds share.
type started struct {
	bootstrap string // path of the built function
	db        *localtest.DB
	endpoint  string // of db, for the function
}

// begin takes the seconds that do not count as play.
func begin(ctx context.Context, tb localtest.TB) started {
	tb.Helper()
	bootstrap := build(ctx, tb)
	db := localtest.Start(tb)
	return started{bootstrap, db, db.Listen(tb)} //nolint:contextcheck // it serves until the end of tb
}

func newWorld(tb localtest.TB, shared started, s situation) *world {
	tb.Helper()
	w := &world{db: shared.db}
	w.table = w.db.CreateTable(tb, idempotency.Table("idempotency", idempotency.Schema{}))
	w.ledger = w.db.CreateTable(tb, idempotency.Table("ledger", idempotency.Schema{}))
	w.cards = &cardprocessor.Server{Charged: w.onCharged}
	processor := httptest.NewServer(w.cards)
	tb.Cleanup(processor.Close)
	name := cmp.Or(s.door, "http-api")
	if s.direct {
		name = ""
	}
	function := func(timeout time.Duration, frontDoor string) *localtest.Function {
		return localtest.StartFunction(tb, localtest.Bootstrap{
			Path:    shared.bootstrap,
			Timeout: timeout,
			Env: []string{
				"IDEMPOTENCY_TABLE=" + w.table,
				"LEDGER_TABLE=" + w.ledger,
				"ON_UNKNOWN=" + s.onUnknown,
				"FRONT_DOOR=" + frontDoor,
				"CARD_PROCESSOR_URL=" + processor.URL,
				"SHOP_CARD=card_shop",
				"AWS_ENDPOINT_URL_DYNAMODB=" + shared.endpoint,
			},
		})
	}
	w.fn = function(s.timeout, name)
	w.clock = function(long, "schedule")
	w.worker = function(s.timeout, "queue")
	w.queue = localtest.NewQueue("commissions")
	w.queue.MaxReceives = 5
	if s.direct {
		return w
	}
	var err error
	if w.door, err = frontdoor.Named(name); err != nil {
		tb.Fatalf("%v", err)
	}
	w.door.IntegrationTimeout = s.gateway
	w.url = w.fn.Listen(w.door.FrontDoor) + "/payments"
	return w
}

// whenCharged sets what happens in the moment in which the card is charged and the function does not know it yet.
func (w *world) whenCharged(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.charged = f
}

func (w *world) onCharged(cardprocessor.Charge) {
	w.mu.Lock()
	charged := w.charged
	w.mu.Unlock()
	if charged != nil {
		charged()
	}
}
