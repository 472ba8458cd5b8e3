package idempotency_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// H9, rule 12: a record whose window is over counts as none, whether or not time to live has deleted it, and is replaced
// whole. Another request may have the key then.
func TestTxWindow_Over(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*testing.T, ledger, idempotency.Request){
		"completed":    paidBefore,
		"released":     releasedBefore,
		"crashed":      crashedBefore,
		"Do's unknown": func(t *testing.T, l ledger, req idempotency.Request) { t.Helper(); l.make(t, "unknown", req) },
		"Do's failure": func(t *testing.T, l ledger, req idempotency.Request) { t.Helper(); l.make(t, "failed", req) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
				before := req
				if name[:2] == "Do" {
					before.Tx = 0
				}
				leave(t, l, before)
				paid := (opening - l.balance(t)) / fee
				old := l.record(t, req)
				pass(48 * time.Hour)
				res, err := l.worker(t).doTx(soon(t), other(req), l.pays)
				wantAnswer(t, res, err, "paid", false)
				l.wantPaid(t, paid+1)
				it := l.wantStatus(t, req, "COMPLETED")
				if it.number("attempt_no") != 1 || it.has("prev") || it.number("window") <= old.number("window") || it.text("validation") == old.text("validation") {
					t.Errorf("the record is %v, want a new one", it)
				}
			})
		})
	}
}

// The window counts from the completion, per request, and up to its end nothing runs.
func TestTxWindow_Retention(t *testing.T) {
	t.Parallel()
	atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
		req.Retention = time.Hour
		w := l.worker(t)
		res, err := w.doTx(localtest.Invocation(t, time.Minute), req, func(ctx context.Context, tx *idempotency.Tx) (string, error) {
			pass(30 * time.Second)
			return l.pays(ctx, tx)
		})
		wantAnswer(t, res, err, "paid", false)
		pass(time.Hour - time.Second)
		res, err = w.doTx(soon(t), req, l.pays)
		wantAnswer(t, res, err, "paid", true)
		l.wantPaid(t, 1)
		pass(5 * time.Second) // and the margin
		res, err = w.doTx(soon(t), req, l.pays)
		wantAnswer(t, res, err, "paid", false)
		l.wantPaid(t, 2)
	})
}

// Rule 12: the window ends while the handler of a single shot runs.
func TestTxWindow_EndsInTheRun(t *testing.T) {
	t.Parallel()
	atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
		if req.Tx == idempotency.Claimed {
			return // what it has claimed is its own
		}
		req.Retention = time.Hour
		paidBefore(t, l, req)
		pass(time.Hour - 10*time.Second)
		res, err := l.worker(t).doTx(localtest.Invocation(t, time.Minute), req, func(ctx context.Context, tx *idempotency.Tx) (string, error) {
			pass(30 * time.Second)
			return l.pays(ctx, tx)
		})
		wantAnswer(t, res, err, "paid", false)
		l.wantPaid(t, 2)
	})
}

// C14: a request that waits gets the answer of the attempt before it; if that gives the key back, or dies, it pays itself.
func TestTxWindow_Wait(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		first    func(ledger, *worker) txHandler
		replayed bool
	}{
		"it pays":    {func(l ledger, _ *worker) txHandler { return l.pays }, true},
		"it fails":   {func(ledger, *worker) txHandler { return failsTx(errPlain) }, false},
		"it is open": {func(ledger, *worker) txHandler { return failsTx(idempotency.Unknown(errPlain)) }, false},
		"it dies": {func(_ ledger, w *worker) txHandler {
			return func(context.Context, *idempotency.Tx) (string, error) { w.die(); return "", nil }
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
				claimed := req
				claimed.Tx = idempotency.Claimed
				w, running := l.worker(t), make(chan struct{})
				go w.abandonTx(soon(t), claimed, func(ctx context.Context, tx *idempotency.Tx) (string, error) {
					close(running)
					pass(time.Second)
					return tt.first(l, w)(ctx, tx)
				})
				<-running
				req.Wait = 20 * time.Second
				res, err := l.worker(t).doTx(localtest.Invocation(t, 30*time.Second), req, l.pays)
				wantAnswer(t, res, err, "paid", tt.replayed)
				l.wantPaid(t, 1)
				l.wantStatus(t, req, "COMPLETED")
			})
		})
	}
}

// A request that is not to wait, or not so long, is refused while the key is claimed, by Do too; it has committed nothing.
func TestTxWindow_InProgress(t *testing.T) {
	t.Parallel()
	for _, wait := range []time.Duration{0, time.Second} {
		t.Run(wait.String(), func(t *testing.T) {
			t.Parallel()
			atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
				before := req
				before.Tx = 0
				end := l.worker(t).hold(localtest.Invocation(t, time.Minute), t, before)
				was := l.record(t, req)
				l.quiet()
				req.Wait = wait
				_, err := l.worker(t).doTx(soon(t), req, l.pays)
				wantErr(t, err, idempotency.ErrInProgress)
				_, err = l.worker(t).doTx(soon(t), other(req), l.pays)
				wantErr(t, err, idempotency.ErrMismatch)
				l.wantPaid(t, 0)
				l.wantUntouched(t, req, was)
				l.wantRuns(t, ofTx(req, 0, 2))
				res, err := end(returns("Do's own"))
				wantAnswer(t, res, err, "Do's own", false)
				res, err = l.worker(t).doTx(soon(t), req, l.pays)
				wantAnswer(t, res, err, "Do's own", true)
				l.wantPaid(t, 0)
			})
		})
	}
}

// I2, I10: many requests at once. One commits, of both modes and of each deployment.
func TestTxWindow_Storm(t *testing.T) {
	t.Parallel()
	atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
		req.Wait = 10 * time.Second
		w := l.worker(t)
		answers := make(chan bool)
		for range 50 {
			go func() {
				res, err := w.doTx(localtest.Invocation(t, 30*time.Second), req, l.pays)
				if err != nil || res.Value != "paid" {
					t.Errorf("got %q, %v", res.Value, err)
				}
				answers <- res.Replayed
			}()
		}
		own := 0
		for range 50 {
			if !<-answers {
				own++
			}
		}
		if own != 1 {
			t.Errorf("%d callers got an answer as their own, want 1", own)
		}
		l.wantPaid(t, 1)
	})
	t.Run("distinct keys", func(t *testing.T) { // two transactions meet on an item
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			l := newLedger(t)
			w := l.worker(t)
			done := make(chan struct{})
			for i := range 20 {
				go func() {
					req := request(string(rune('a' + i)))
					req.Tx = idempotency.TxMode(1 + i%2)
					res, err := w.doTx(soon(t), req, l.pays)
					wantAnswer(t, res, err, "paid", false)
					done <- struct{}{}
				}()
			}
			for range 20 {
				<-done
			}
			l.wantPaid(t, 20)
		})
	})
}
