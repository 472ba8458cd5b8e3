package idempotency_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// A wrapped handler gets the transaction with its context: no second family of wrappers.
func TestTxContext_Wrapped(t *testing.T) {
	t.Parallel()
	atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
		w := l.worker(t)
		type order struct{ ID string }
		named := func(_ context.Context, o order) (idempotency.Request, error) {
			return idempotency.Request{Operation: req.Operation, Scope: req.Scope, Key: o.ID, Tx: req.Tx}, nil
		}
		pay := lambda.Wrap(w.runner, named, func(ctx context.Context, _ order) (string, error) {
			w.runs.Add(1)
			return l.pays(ctx, idempotency.TxFrom(ctx))
		})
		l.quiet()
		for range 2 {
			if got, err := pay(soon(t), order{"k"}); err != nil || got != "paid" {
				t.Errorf("got %q, %v", got, err)
			}
		}
		l.wantPaid(t, 1)
		l.wantCalls(t, ofTx(req, []string{"PutItem", "TransactWriteItems", "PutItem"}, []string{"TransactWriteItems", "TransactWriteItems"})...)
		l.wantRuns(t, ofTx(req, 1, 2))
		l.wantStatus(t, req, "COMPLETED")
	})
}

// C21: an operation inside of a transaction's handler has a transaction of its own, which commits by itself and first. If
// the outer one fails, the inner one's outcome stays and is replayed into the next run.
func TestTxContext_Nested(t *testing.T) {
	t.Parallel()
	for name, inner := range map[string]idempotency.TxMode{"in Do": 0, "in a claimed one": idempotency.Claimed, "in a single shot": idempotency.SingleShot} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
				w, nested := l.worker(t), request("nested")
				nested.Tx = inner
				innerRuns, committed := 0, false
				outer := func(end error) txHandler {
					return func(ctx context.Context, tx *idempotency.Tx) (string, error) {
						tx.Put(l.accounts, payment{"outer", 1})
						res, err := idempotency.Do(ctx, w.runner, nested, func(inside context.Context) (string, error) {
							innerRuns++
							own := idempotency.TxFrom(inside)
							if own == nil || own == tx || idempotency.TxFrom(ctx) != tx {
								t.Error("the transactions are mixed up")
							}
							return l.pays(inside, own)
						})
						if err != nil {
							return "", err
						}
						l.wantPaid(t, 1)
						if !committed && l.get(t, "outer") != nil {
							t.Error("the outer transaction is committed before its end")
						}
						return "outer and " + res.Value, end
					}
				}
				_, err := w.doTx(soon(t), req, outer(errPlain))
				wantErr(t, err, errPlain)
				l.wantPaid(t, 1)
				if l.get(t, "outer") != nil {
					t.Error("what was staged outside was committed")
				}
				for _, replayed := range []bool{false, true} {
					res, err := w.doTx(soon(t), req, outer(nil))
					wantAnswer(t, res, err, "outer and paid", replayed)
					committed = true
				}
				l.wantPaid(t, 1)
				if l.get(t, "outer") == nil {
					t.Error("what was staged outside is not committed")
				}
				if inner != idempotency.SingleShot && innerRuns != 1 {
					t.Errorf("the inner handler ran %d times, want 1", innerRuns)
				}
				l.wantStatus(t, nested, "COMPLETED")
			})
		})
	}
}

// A bare handler is tested with WithAttempt: what it has staged is there to be looked at.
func TestTxContext_BareHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLedger(t)
		ctx := idempotency.WithAttempt(t.Context(), idempotency.Attempt{Token: "t"})
		if _, err := l.paysIf(errFunds)(ctx, idempotency.TxFrom(ctx)); err != nil {
			t.Fatal(err)
		}
		actions, err := idempotency.TxFrom(ctx).Actions()
		if err != nil || len(actions) != 2 {
			t.Fatalf("%d actions, %v", len(actions), err)
		}
		if u := actions[0].Update; u == nil || *u.ConditionExpression != "balance >= :a" || item(u.Key).text("id") != "alice" {
			t.Errorf("the first is %+v", actions[0])
		}
		if p := actions[1].Put; p == nil || item(p.Item).number("amount") != fee {
			t.Errorf("the second is %+v", actions[1])
		}
		l.wantPaid(t, 0)
	})
}

// A handler that asks for its own key would wait for itself: it is told so, and how it was meant.
func TestTxContext_OwnKey(t *testing.T) {
	t.Parallel()
	atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
		w := l.worker(t)
		_, err := w.doTx(soon(t), req, func(ctx context.Context, _ *idempotency.Tx) (string, error) {
			for _, mode := range []idempotency.TxMode{0, idempotency.Claimed, idempotency.SingleShot} {
				inner := req
				inner.Tx = mode
				_, err := idempotency.Do(ctx, w.runner, inner, func(context.Context) (string, error) {
					t.Error("it ran")
					return "", nil
				})
				if field, ok := errors.AsType[*idempotency.FieldError](err); !ok || field.Field != "Request.Key" || !strings.Contains(err.Error(), "TxFrom(ctx)") {
					t.Errorf("mode %d: %v", mode, err)
				}
			}
			return "paid", nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// A step is there and the transaction is refused: whoever never asks again must not leave a charge without its rows, so the
// outcome is unknown, unless the handler has said what the condition means.
func TestTxContext_RefusedAfterAStep(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		otherwise error
		denied    bool
		status    string
	}{
		"condition":      {nil, false, "UNKNOWN"},
		"denied":         {nil, true, "UNKNOWN"},
		"Else":           {errFunds, false, "RELEASED"},
		"Else(Terminal)": {idempotency.Terminal(errFunds), false, "FAILED"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, req := newLedger(t), request("k")
				short(t, l, req)
				if c.denied {
					l.inject("TransactWriteItems", localtest.AccessDenied, 1)
				}
				_, err := l.worker(t).do(soon(t), req, func(ctx context.Context) (string, error) {
					if _, err := idempotency.Step(ctx, "charge", func(context.Context) (string, error) { return "ch_1", nil }); err != nil {
						return "", err
					}
					return l.paysIf(c.otherwise)(ctx, idempotency.TxFrom(ctx))
				})
				if err == nil {
					t.Error("no error")
				}
				l.wantStatus(t, req, c.status)
			})
		})
	}
}
