package idempotency_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// txFaultKinds are the ways in which a transaction gets no answer that settles it.
var txFaultKinds = append(slices.Clone(faultKinds),
	localtest.Unavailable, localtest.Conflict, localtest.ReplicatedConflict, localtest.TransactionInProgress)

// committed are those that let the transaction through all the same.
var committed = []localtest.FaultKind{localtest.ReplyLost, localtest.TruncatedReply, localtest.HangApplied, localtest.ServerErrorApplied}

// atEachFault runs the test with each of the faults, with the SDK's retries and without, in both modes.
func atEachFault(t *testing.T, kinds []localtest.FaultKind, test func(*testing.T, ledger, *worker, idempotency.Request, localtest.FaultKind)) {
	t.Helper()
	for _, kind := range kinds {
		for name, options := range map[string][]option{"SDK retries": nil, "no retries": {withoutRetries}} {
			t.Run(kind.String()+"/"+name, func(t *testing.T) {
				t.Parallel()
				atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
					test(t, l, l.worker(t, options...), req, kind)
				})
			})
		}
	}
}

// C02, I7, I10, rules 17 and 18: a transaction without an answer is sent again as it is, until there is one. It commits
// once, its handler runs once, and the caller gets its own answer.
func TestTxFaults_Once(t *testing.T) {
	t.Parallel()
	atEachFault(t, txFaultKinds, func(t *testing.T, l ledger, w *worker, req idempotency.Request, kind localtest.FaultKind) {
		l.inject("TransactWriteItems", kind, 1)
		res, err := w.doTx(localtest.Invocation(t, 15*time.Second), req, l.pays)
		wantAnswer(t, res, err, "paid", false)
		l.wantRuns(t, 1)
		pass(time.Second) // for copies that are late
		l.wantStatus(t, req, "COMPLETED")
		l.wantPaid(t, 1)
		res, err = w.doTx(soon(t), req, l.pays)
		wantAnswer(t, res, err, "paid", true)
		l.wantPaid(t, 1)
		for _, e := range l.seen() {
			if e.Kind == idempotency.KindLeaseLost || e.Kind == idempotency.KindNotRecorded {
				t.Errorf("event %s: %v", e.Kind, e.Err)
			}
		}
	})
}

// The same until the time is over. What was committed is recognised by a read; what was not has left nothing, the caller
// is told that it cannot be known (or that there is nothing, if that was always the answer), and the next request pays: without a policy, since a transaction that is not there has
// had no effect (rule 13).
func TestTxFaults_ToTheEnd(t *testing.T) {
	t.Parallel()
	atEachFault(t, txFaultKinds, func(t *testing.T, l ledger, w *worker, req idempotency.Request, kind localtest.FaultKind) {
		l.inject("TransactWriteItems", kind, forever)
		began := time.Now()
		res, err := w.doTx(localtest.Invocation(t, 15*time.Second), req, l.pays)
		l.db.ClearFaults()
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("it took %s of 15 s", took)
		}
		l.wantRuns(t, 1)
		l.wantWhole(t, req)
		if slices.Contains(committed, kind) || kind == localtest.AppliedLate { // of which a copy arrives in time
			wantAnswer(t, res, err, "paid", false)
			l.wantPaid(t, 1)
			return
		}
		_, cancelled := errors.AsType[*types.TransactionCanceledException](err)
		_, twin := errors.AsType[*types.TransactionInProgressException](err)
		always := kind == localtest.Throttled || kind == localtest.Conflict
		if cancelled != always || twin != (kind == localtest.TransactionInProgress) {
			t.Errorf("the cause cannot be reached: %v", err)
		}
		if always { // each answer was that nothing is written
			if refused, ok := errors.AsType[*idempotency.WriteError](err); !ok || refused.Index != -1 {
				t.Errorf("error %v", err)
			}
			l.wantStatus(t, req, "RELEASED")
			res, err = w.doTx(soon(t), req, l.pays)
			wantAnswer(t, res, err, "paid", false)
			l.wantPaid(t, 1)
			return
		}
		wantErr(t, err, idempotency.ErrNotRecorded)
		if state, ok := errors.AsType[*idempotency.StateError](err); !ok || (state.RetryAfter > 0) != (req.Tx == idempotency.SingleShot) {
			t.Errorf("retry after %+v", state)
		}
		l.wantStatus(t, req, ofTx(req, "INPROGRESS", ""))
		if req.Tx == idempotency.Claimed {
			_, err = w.doTx(soon(t), req, l.pays)
			wantErr(t, err, idempotency.ErrInProgress)
			pass(10 * time.Second)
		}
		res, err = w.doTx(soon(t), req, l.pays)
		wantAnswer(t, res, err, "paid", false)
		l.wantPaid(t, 1)
	})
}

// C02: committed, and neither the replies nor the reads come through. The caller is told that the effect may have
// happened; later the outcome is there, once.
func TestTxFaults_CommittedWithoutAnswer(t *testing.T) {
	t.Parallel()
	atEachFault(t, committed, func(t *testing.T, l ledger, w *worker, req idempotency.Request, kind localtest.FaultKind) {
		l.inject("TransactWriteItems", kind, forever)
		l.inject("GetItem", localtest.RequestLost, forever)
		_, err := w.doTx(soon(t), req, l.pays)
		l.db.ClearFaults()
		wantErr(t, err, idempotency.ErrNotRecorded)
		if _, ok := errors.AsType[*idempotency.StateError](err); !ok {
			t.Errorf("a %T", err)
		}
		l.wantRuns(t, 1)
		l.wantPaid(t, 1)
		l.wantStatus(t, req, "COMPLETED")
		res, err := w.doTx(soon(t), req, l.pays)
		wantAnswer(t, res, err, "paid", true)
		l.wantPaid(t, 1)
	})
}

// A copy that is on its way for so long that its caller has gone: it commits if nothing else has happened, and changes
// nothing if somebody else has paid (I4).
func TestTxFaults_AppliedLongAfter(t *testing.T) {
	t.Parallel()
	for _, first := range []string{"late copy", "next request"} {
		t.Run(first+" first", func(t *testing.T) {
			t.Parallel()
			atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
				w := l.worker(t)
				l.db.Inject(localtest.Fault{Operation: "TransactWriteItems", Kind: localtest.AppliedLate, Times: forever, Delay: time.Minute})
				_, err := w.doTx(soon(t), req, l.pays)
				l.db.ClearFaults()
				wantErr(t, err, idempotency.ErrNotRecorded)
				l.wantPaid(t, 0)
				pass(30 * time.Second) // the lease is over
				if first == "late copy" {
					l.db.Flush()
					l.wantPaid(t, 1)
				}
				res, err := w.doTx(soon(t), req, l.pays)
				wantAnswer(t, res, err, "paid", first == "late copy")
				before := l.record(t, req)
				l.db.Flush()
				l.wantPaid(t, 1)
				l.wantUntouched(t, req, before)
			})
		})
	}
}

// Rule 18: a token that DynamoDB knows with other parameters says nothing of this transaction.
func TestTxFaults_ParameterMismatch(t *testing.T) {
	t.Parallel()
	atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
		w := l.worker(t)
		refusals := 2
		w.before = func(operation string) error {
			if operation != "TransactWriteItems" || refusals == 0 {
				return nil
			}
			refusals--
			return &types.IdempotentParameterMismatchException{}
		}
		res, err := w.doTx(soon(t), req, l.pays)
		wantAnswer(t, res, err, "paid", false)
		l.wantRuns(t, 1)
		l.wantPaid(t, 1)
		l.wantCalls(t, ofTx(req, []string{"PutItem", "GetItem", "GetItem", "TransactWriteItems"}, []string{"GetItem", "GetItem", "TransactWriteItems"})...)
	})
}

// C09, I10: the process dies before or after each of its calls. The effect is there with the outcome or not at all, and
// the next request, after the lease if there is one, pays or is told of the payment; under Refuse.
func TestTxFaults_EveryCrash(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"before", "after"} {
		for _, operation := range []string{"PutItem", "TransactWriteItems"} {
			t.Run(when+" "+operation, func(t *testing.T) {
				t.Parallel()
				atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
					if req.Tx == idempotency.SingleShot && operation == "PutItem" {
						return
					}
					w := l.worker(t)
					die := nth(operation, 1, w.die)
					if when == "after" {
						w.after = die
					} else {
						w.before = func(operation string) error { die(operation); return nil }
					}
					w.abandonTx(soon(t), req, l.pays)
					l.wantWhole(t, req)
					paid := operation == "TransactWriteItems" && when == "after"
					pass(10 * time.Second)
					res, err := l.worker(t).doTx(soon(t), req, l.pays)
					wantAnswer(t, res, err, "paid", paid)
					l.wantPaid(t, 1)
				})
			})
		}
	}
}
