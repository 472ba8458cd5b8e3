package idempotency_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// C47: a staged condition fails. What Else was given is the handler's error with its mark; nothing is written, whatever
// else was staged, and the caller gets the error untouched.
func TestTxCondition_Else(t *testing.T) {
	t.Parallel()
	timeout := errors.Join(context.DeadlineExceeded)
	for name, tt := range map[string]struct {
		otherwise error
		err       error // as it comes back; nil: as Else was given it
		cause     error
		claimed   string // the record's status after a claimed transaction
	}{
		"error":          {errFunds, errFunds, errFunds, "RELEASED"},
		"terminal":       {idempotency.Terminal(errFunds), errFunds, errFunds, "FAILED"},
		"safe":           {idempotency.Safe(timeout), timeout, context.DeadlineExceeded, "RELEASED"},
		"unknown":        {idempotency.Unknown(errFunds), errFunds, errFunds, "UNKNOWN"},
		"by its looks":   {timeout, timeout, context.DeadlineExceeded, "UNKNOWN"},
		"wrapped inside": {errors.Join(idempotency.Terminal(errFunds)), nil, errFunds, "FAILED"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
				short(t, l, req)
				w := l.worker(t)
				_, err := w.doTx(soon(t), req, l.paysIf(tt.otherwise))
				if want := tt.err; want != nil && err != want { //nolint:errorlint // untouched
					t.Errorf("error %v, want %v", err, want)
				}
				wantErr(t, err, tt.cause)
				want := ofTx(req, tt.claimed, "RELEASED") // which keeps a late copy out
				if tt.claimed == "FAILED" {
					want = "FAILED"
				}
				l.wantStatus(t, req, want)
				if l.balance(t) != fee-1 || l.get(t, "p1") != nil {
					t.Error("something was written")
				}
				l.put(t, attributes{"id": text("alice"), "balance": number(opening)})
				res, err := w.doTx(soon(t), req, l.paysIf(nil))
				if want != "FAILED" {
					wantAnswer(t, res, err, "paid", false)
					l.wantPaid(t, 1)
					return
				}
				if f, ok := errors.AsType[*idempotency.Failure](err); !ok || f.Message != err.Error() {
					t.Errorf("replayed: %v", err)
				}
				l.wantPaid(t, 0)
			})
		})
	}
}

// C47: without Else it is an error with what is in the table, of each kind of write; nil where there is nothing.
func TestTxCondition_WriteError(t *testing.T) {
	t.Parallel()
	nobody := map[string]string{"id": "bob"}
	for name, tt := range map[string]struct {
		stage   func(ledger, *idempotency.Tx)
		balance int64 // of the item that the error shows; 0: none
	}{
		"Put": {func(l ledger, tx *idempotency.Tx) { tx.Put(l.accounts, owner).If("attribute_not_exists(id)") }, opening},
		"Update": {func(l ledger, tx *idempotency.Tx) {
			tx.Update(l.accounts, owner, "SET n = :n").Value(":n", 1).If("attribute_exists(n)")
		}, opening},
		"Delete": {func(l ledger, tx *idempotency.Tx) {
			tx.Delete(l.accounts, owner).If("#b < :b").Name("#b", "balance").Value(":b", 5)
		}, opening},
		"Check": {func(l ledger, tx *idempotency.Tx) { tx.Check(l.accounts, owner).If("balance = :b").Value(":b", 5) }, opening},

		"Put of none": {func(l ledger, tx *idempotency.Tx) { tx.Put(l.accounts, nobody).If("attribute_exists(id)") }, 0},
		"Update of none": {func(l ledger, tx *idempotency.Tx) {
			tx.Update(l.accounts, nobody, "SET n = :n").Value(":n", 1).If("attribute_exists(id)")
		}, 0},
		"Delete of none": {func(l ledger, tx *idempotency.Tx) { tx.Delete(l.accounts, nobody).If("attribute_exists(id)") }, 0},
		"Check of none":  {func(l ledger, tx *idempotency.Tx) { tx.Check(l.accounts, nobody).If("attribute_exists(id)") }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
				_, err := l.worker(t).doTx(soon(t), req, func(_ context.Context, tx *idempotency.Tx) (string, error) {
					tx.Put(l.accounts, payment{"p1", fee}) // its condition does not fail: not this one's index
					tt.stage(l, tx)
					return "paid", nil
				})
				failed, ok := errors.AsType[*idempotency.WriteError](err)
				if !ok {
					t.Fatalf("error %v", err)
				}
				if failed.Index != 1 || failed.Table != l.accounts || failed.Kind != name[:len(failed.Kind)] {
					t.Errorf("error of write %d, %s %s", failed.Index, failed.Kind, failed.Table)
				}
				if (failed.Item == nil) != (tt.balance == 0) || item(failed.Item).number("balance") != tt.balance {
					t.Errorf("it shows %v", failed.Item)
				}
				want := "idempotency: nothing was written: the condition of staged write 1 (" + failed.Kind + " " + l.accounts + ") failed"
				if err.Error() != want {
					t.Errorf("%q, want %q", err, want)
				}
				l.wantPaid(t, 0)
				l.wantStatus(t, req, "RELEASED")
			})
		})
	}
}

// Of several conditions that fail, the first one staged decides, whatever the others say.
func TestTxCondition_FirstDecides(t *testing.T) {
	t.Parallel()
	second := errors.New("second")
	atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
		_, err := l.worker(t).doTx(soon(t), req, func(_ context.Context, tx *idempotency.Tx) (string, error) {
			tx.Check(l.accounts, map[string]string{"id": "bob"}).If("attribute_not_exists(id)").Else(idempotency.Terminal(second))
			tx.Check(l.accounts, owner).If("balance = :b").Value(":b", 1).Else(errFunds)
			tx.Put(l.accounts, payment{"p1", fee}).If("attribute_exists(id)").Else(idempotency.Terminal(second))
			return "paid", nil
		})
		if err != errFunds { //nolint:errorlint // untouched
			t.Errorf("error %v, want the first one that failed", err)
		}
		l.wantStatus(t, req, "RELEASED")
	})
}

// Config.Classify judges a failed condition like any error of the handler.
func TestTxCondition_Classified(t *testing.T) {
	t.Parallel()
	for class, status := range map[idempotency.Class]string{
		idempotency.Released: "RELEASED", idempotency.Recorded: "FAILED", idempotency.Ambiguous: "UNKNOWN",
	} {
		t.Run(status, func(t *testing.T) {
			t.Parallel()
			atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
				short(t, l, req)
				asked := 0
				w := l.worker(t, func(s *settings) {
					s.Classify = func(err error) idempotency.Class {
						if _, ok := errors.AsType[*idempotency.WriteError](err); !ok {
							t.Errorf("it was asked about %v", err)
						}
						asked++
						return class
					}
				})
				_, err := w.doTx(soon(t), req, l.paysIf(nil))
				if _, ok := errors.AsType[*idempotency.WriteError](err); !ok || asked != 1 {
					t.Errorf("error %v, asked %d times", err, asked)
				}
				want := status
				if req.Tx == idempotency.SingleShot && class != idempotency.Recorded {
					want = "RELEASED"
				}
				l.wantStatus(t, req, want)
			})
		})
	}
}

// Rule 1: an attempt that has taken an unknown over does not erase it when its condition fails.
func TestTxCondition_KeepsPrior(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, req := newLedger(t), request("k")
		l.make(t, "unknown", req)
		short(t, l, req)
		_, err := l.worker(t, rerun).doTx(soon(t), req, l.paysIf(nil))
		if _, ok := errors.AsType[*idempotency.WriteError](err); !ok {
			t.Errorf("error %v", err)
		}
		if it := l.wantStatus(t, req, "UNKNOWN"); !it.has("prior_no") {
			t.Errorf("the record has no prior: %v", it)
		}
		pass(time.Minute)
		_, err = l.worker(t).doTx(localtest.Invocation(t, time.Second), req, l.pays)
		wantErr(t, err, idempotency.ErrOutcomeUnknown)
		if !slices.Contains(l.kinds(), idempotency.KindTakenOver) {
			t.Errorf("events %v", l.kinds())
		}
	})
}
