package main

import (
	"context"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/oncekey/oncekey/localtest"
)

// The client hangs up while its card is being charged; the function goes on (C50).
func clientHangsUp(ctx context.Context, w *world) {
	listening, hangUp := context.WithCancel(ctx)
	defer hangUp()
	gone := make(chan struct{})
	w.whenCharged(func() {
		hangUp()
		<-gone // an answer that is on its way already would be another situation
	})
	a := w.pay(listening, "k1", order)
	close(gone)
	w.expect("The client hangs up after the charge", a.String(), "nothing", 1, 1)
	w.expect("  and tries again", w.payUntilDecided(ctx).String(), receipt("ch_1", 1)+", replayed", 1, 1)
}

// An HTTP API waits for 30 s at most; the function goes on (C50).
func gatewayGivesUp(ctx context.Context, w *world) {
	charged, over := make(chan struct{}), make(chan struct{})
	w.whenCharged(func() {
		close(charged)
		<-over
	})
	a := w.pay(ctx, "k1", order)
	select {
	case <-charged:
	case <-ctx.Done():
	}
	w.expect("The gateway gives up after the charge", a.String(), gatewayGaveUp, 1, 1)
	close(over)
	w.expect("  the client tries again", w.payUntilDecided(ctx).String(), receipt("ch_1", 1)+", replayed", 1, 1)
}

// The key is acquired and the function does not hear of it: the SDK sends the write again, and it meets its own
// (C01).
func acquireReplyLost(ctx context.Context, w *world) {
	w.replyLost(ctx, "PutItem", "The reply to the acquire is lost")
}

// The charge is recorded as a step and the function does not hear of it (C02).
func stepReplyLost(ctx context.Context, w *world) {
	w.replyLost(ctx, "UpdateItem", "The reply to the step is lost")
}

// Outcome and ledger are written and the function does not hear of it (C02).
func commitReplyLost(ctx context.Context, w *world) {
	w.replyLost(ctx, "TransactWriteItems", "The reply to the commit is lost")
}

func (w *world) replyLost(ctx context.Context, operation, what string) {
	w.db.Inject(localtest.Fault{Operation: operation, Match: w.own, Kind: localtest.ReplyLost})
	first := w.pay(ctx, "k1", order)
	got := first.String()
	lost := func(c localtest.Call) bool { return w.own(c) && c.Err == localtest.ReplyLost.String() }
	if !slices.ContainsFunc(w.db.Calls(operation), lost) {
		got = "no reply was lost"
	}
	w.expect(what, got, receipt("ch_1", 1), 1, 1)
	w.expect("  the same request again", w.pay(ctx, "k1", order).after(first), sameAnswer, 1, 1)
}

func tableDown(ctx context.Context, w *world) {
	w.tableRefuses(ctx, localtest.ServerError, "The table is down")
}

func accessDenied(ctx context.Context, w *world) {
	w.tableRefuses(ctx, localtest.AccessDenied, "The function may not use the table")
}

// While the table cannot be asked nothing is charged (C15).
func (w *world) tableRefuses(ctx context.Context, everything localtest.FaultKind, what string) {
	end := w.outage(everything)
	w.expect(what, w.pay(ctx, "k1", order).String(), unavailable, 0, 0)
	end()
	w.expect("  when that is over, the same request", w.pay(ctx, "k1", order).String(), receipt("ch_1", 1), 1, 1)
}

// outage refuses every call to the table, until end is called.
func (w *world) outage(everything localtest.FaultKind) (end func()) {
	var over atomic.Bool
	w.db.Inject(localtest.Fault{
		Table: w.table, Kind: everything, Times: -1,
		Match: func(localtest.Call) bool { return !over.Load() },
	})
	return func() { over.Store(true) }
}

// The card is charged, and the processor does not say so before the function's time is over.
func processorTooLate(ctx context.Context, w *world) {
	over := make(chan struct{})
	w.whenCharged(func() { <-over })
	w.expect("The processor answers too late", w.pay(ctx, "k1", order).String(), unknown, 1, 1)
	close(over)
	w.expect("  the same request again", w.pay(ctx, "k1", order).String(), unknown, 1, 1)
	w.reconciled(ctx, 1)
}

// The card is charged, and the function does not live to say so. Nobody can tell from the table alone; the processor
// can (C09).
func killed(ctx context.Context, w *world) {
	w.killedWhenCharged(ctx)
	w.expect("  after the lease, policy refuse", w.payUntilDecided(ctx).String(), unknown, 1, 1)
	w.reconciled(ctx, 1)
}

func killedUnderRerun(ctx context.Context, w *world) {
	w.killedWhenCharged(ctx)
	again := w.payUntilDecided(ctx)
	w.expect("  after the lease, policy rerun", again.String(), receipt("ch_1", 2), 1, 1)
	w.expect("  the same request again", w.pay(ctx, "k1", order).after(again), sameAnswer, 1, 1)
}

func (w *world) killedWhenCharged(ctx context.Context) {
	w.whenCharged(w.fn.Kill)
	w.expect("Killed after the charge", w.pay(ctx, "k1", order).String(), functionDied, 1, 1)
	w.expect("  the same request at once", w.pay(ctx, "k1", order).String(), inProgress, 1, 1)
}

// A client with this module's RoundTripper sends one request, and hears of nothing but the receipt.
func clientThatRetries(ctx context.Context, w *world) {
	end := w.outage(localtest.AccessDenied) // which the SDK does not ask again: the function has not much time
	w.whenCharged(w.fn.Kill)
	tries := &tries{heard: func(status int) {
		if status == http.StatusServiceUnavailable {
			end()
		}
	}}
	a := tries.send(ctx, w)
	w.expect("httpclient, an outage and a crash", tries.before(a), "503, 500, 409, "+receipt("ch_1", 2), 1, 1)
}
