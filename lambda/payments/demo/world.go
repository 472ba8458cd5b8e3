package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda/payments/internal/cardprocessor"
	"github.com/oncekey/oncekey/localtest"
)

// world is what one situation is played in: a function, its table and a card processor.
type world struct {
	db     *localtest.DB
	table  string
	fn     *localtest.Function
	cards  *cardprocessor.Server
	events map[string][]byte
	rows   []row

	mu      sync.Mutex
	charged func()
}

func newWorld(tb localtest.TB, db *localtest.DB, endpoint string, f function, s situation) *world {
	tb.Helper()
	w := &world{db: db, events: f.events}
	w.table = db.CreateTable(tb, idempotency.Table("idempotency", idempotency.Schema{}))
	w.cards = &cardprocessor.Server{Charged: w.onCharged}
	processor := httptest.NewServer(w.cards)
	tb.Cleanup(processor.Close)
	w.fn = localtest.StartFunction(tb, localtest.Bootstrap{
		Path:    f.bootstrap,
		Timeout: s.timeout,
		Env: []string{
			"IDEMPOTENCY_TABLE=" + w.table,
			"ON_UNKNOWN=" + s.onUnknown,
			"FRONT_DOOR=" + s.frontDoor,
			"CARD_PROCESSOR_URL=" + processor.URL,
			"AWS_ENDPOINT_URL_DYNAMODB=" + endpoint,
		},
	})
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

// pay invokes the function with an event file.
func (w *world) pay(ctx context.Context, event string) answer {
	payload, ok := w.events[event]
	if !ok {
		return answer{lost: fmt.Errorf("there is no event file %s.json", event)}
	}
	r, err := w.fn.Invoke(ctx, localtest.Event{Payload: payload})
	return answer{payload: r.Payload, err: r.Error, lost: err}
}

// payUntilDecided is pay for a client that comes back as long as it is told that the payment is in progress.
func (w *world) payUntilDecided(ctx context.Context, event string) answer {
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for giveUp := time.After(15 * time.Second); ; {
		a := w.pay(ctx, event)
		if a.String() != inProgress {
			return a
		}
		select {
		case <-again.C:
		case <-giveUp:
			return a
		case <-ctx.Done():
			return a
		}
	}
}

// answer is what the caller of the function got.
type answer struct {
	payload []byte
	err     *localtest.FunctionError
	lost    error // there was no answer
}

// What the answers of the protocol look like.
const (
	inProgress  = "error IdempotencyInProgress"
	mismatch    = "error IdempotencyMismatch"
	unknown     = "error IdempotencyOutcomeUnknown"
	unavailable = "error IdempotencyUnavailable"
	sameAnswer  = "the same bytes"
)

func receipt(charge string, attempt int) string {
	return fmt.Sprintf("receipt: %s, attempt %d", charge, attempt)
}

func (a answer) String() string {
	if a.lost != nil {
		return "no answer: " + a.lost.Error()
	}
	if a.err != nil {
		return "error " + a.err.Type
	}
	var r struct {
		Charge  string
		Attempt int
	}
	if err := json.Unmarshal(a.payload, &r); err != nil || r.Charge == "" {
		return "no receipt: " + string(a.payload)
	}
	return receipt(r.Charge, r.Attempt)
}

// after describes an answer that should be the one that came before it.
func (a answer) after(first answer) string {
	if a.lost == nil && first.lost == nil && (a.err == nil) == (first.err == nil) && bytes.Equal(a.payload, first.payload) {
		return sameAnswer
	}
	return a.String()
}
