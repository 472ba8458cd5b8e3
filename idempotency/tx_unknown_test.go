package idempotency_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// charges is a handler with an effect outside of the table, in a step.
func (l ledger) charges(ctx context.Context, tx *idempotency.Tx) (string, error) {
	if _, err := idempotency.Step(ctx, "charge", func(context.Context) (string, error) { return "ch_1", nil }); err != nil {
		return "", err
	}
	return l.pays(ctx, tx)
}

// leftovers are what attempts leave behind that end without telling.
var leftovers = []struct {
	name   string
	inside bool // it shows that nothing has happened (rule 13)
	status string
	leave  func(*testing.T, *worker, ledger, idempotency.Request)
}{
	{"a transaction's crash", true, "INPROGRESS", func(t *testing.T, w *worker, l ledger, req idempotency.Request) {
		t.Helper()
		w.crashTx(soon(t), req, l.pays)
	}},
	{"a transaction's unknown", true, "UNKNOWN", func(t *testing.T, w *worker, _ ledger, req idempotency.Request) {
		t.Helper()
		_, err := w.doTx(soon(t), req, failsTx(idempotency.Unknown(errPlain)))
		wantErr(t, err, errPlain)
	}},
	{"a transaction's second crash", true, "INPROGRESS", func(t *testing.T, w *worker, l ledger, req idempotency.Request) {
		t.Helper()
		w.crashTx(soon(t), req, l.pays)
		pass(10 * time.Second)
		l.worker(t).crashTx(soon(t), req, l.pays)
	}},
	{"Do's crash", false, "INPROGRESS", func(t *testing.T, w *worker, _ ledger, req idempotency.Request) {
		t.Helper()
		w.crash(soon(t), req)
	}},
	{"Do's unknown", false, "UNKNOWN", func(t *testing.T, w *worker, _ ledger, req idempotency.Request) {
		t.Helper()
		_, err := w.do(soon(t), req, fails(idempotency.Unknown(errPlain)))
		wantErr(t, err, errPlain)
	}},
	{"the crash of Do that stages", false, "INPROGRESS", func(t *testing.T, w *worker, l ledger, req idempotency.Request) {
		t.Helper()
		w.abandon(soon(t), req, func(ctx context.Context) (string, error) {
			defer w.die()
			return l.pays(ctx, idempotency.TxFrom(ctx))
		})
	}},
	{"a crash after a step", false, "INPROGRESS", func(t *testing.T, w *worker, l ledger, req idempotency.Request) {
		t.Helper()
		w.crashTx(soon(t), req, l.charges)
	}},
	{"a crash after another's step", false, "INPROGRESS", func(t *testing.T, w *worker, l ledger, req idempotency.Request) {
		t.Helper()
		_, err := l.worker(t).doTx(soon(t), req, func(ctx context.Context, tx *idempotency.Tx) (string, error) {
			_, _ = l.charges(ctx, tx)
			return "", errPlain
		})
		wantErr(t, err, errPlain)
		w.crashTx(soon(t), req, l.pays)
	}},
	{"a crash over Do's unknown", false, "INPROGRESS", func(t *testing.T, w *worker, l ledger, req idempotency.Request) {
		t.Helper()
		l.make(t, "unknown", req)
		req.OnUnknown = idempotency.Rerun
		w.crashTx(soon(t), req, l.pays)
	}},
}

func atEachLeftover(t *testing.T, test func(*testing.T, ledger, idempotency.Request, bool)) {
	t.Helper()
	for _, left := range leftovers {
		t.Run(left.name, func(t *testing.T) {
			t.Parallel()
			atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
				before := req
				before.Tx = 0 // Do's own; a transaction is claimed
				left.leave(t, l.worker(t), l, before)
				pass(10 * time.Second)
				l.wantStatus(t, req, left.status)
				l.wantPaid(t, 0)
				l.quiet()
				test(t, l, req, left.inside)
			})
		})
	}
}

// H3, rule 13: a transaction runs without a policy over what shows that nothing has happened, and only over that.
func TestTxUnknown_Refuse(t *testing.T) {
	t.Parallel()
	atEachLeftover(t, func(t *testing.T, l ledger, req idempotency.Request, inside bool) {
		before := l.record(t, req)
		w := l.worker(t)
		res, err := w.doTx(soon(t), req, func(ctx context.Context, tx *idempotency.Tx) (string, error) {
			if a := idempotency.AttemptFrom(ctx); a.Prior != nil {
				t.Errorf("prior %+v, want none: nothing has happened", a.Prior)
			}
			return l.pays(ctx, tx)
		})
		if !inside {
			wantErr(t, err, idempotency.ErrOutcomeUnknown)
			l.wantPaid(t, 0)
			l.wantUntouched(t, req, before)
			l.wantKinds(t, idempotency.KindUnknown)
			l.wantRuns(t, ofTx(req, 0, 1))
			return
		}
		wantAnswer(t, res, err, "paid", false)
		l.wantPaid(t, 1)
		it := l.wantStatus(t, req, "COMPLETED")
		if it.number("attempt_no") != before.number("attempt_no")+1 || it.text("prev") != before.text("attempt") || it.has("prior_no") || it.has("steps") {
			t.Errorf("the record is %v", it)
		}
		_, err = w.doTx(soon(t), other(req), l.pays)
		wantErr(t, err, idempotency.ErrMismatch)
	})
}

// Under Rerun it runs over each of them, and with a claim it is told of what may have happened.
func TestTxUnknown_Rerun(t *testing.T) {
	t.Parallel()
	atEachLeftover(t, func(t *testing.T, l ledger, req idempotency.Request, inside bool) {
		w := l.worker(t, rerun)
		res, err := w.doTx(soon(t), req, func(ctx context.Context, tx *idempotency.Tx) (string, error) {
			a := idempotency.AttemptFrom(ctx)
			if req.Tx == idempotency.Claimed && (a.Prior == nil) != inside {
				t.Errorf("prior %+v", a.Prior)
			}
			return l.pays(ctx, tx)
		})
		wantAnswer(t, res, err, "paid", false)
		l.wantPaid(t, 1)
		if it := l.wantStatus(t, req, "COMPLETED"); it.has("prior_no") || it.has("steps") {
			t.Errorf("the record is %v", it)
		}
	})
}

// H3: Do promises nothing, so that it obeys the policy over each of them, a transaction's too.
func TestTxUnknown_ByDo(t *testing.T) {
	t.Parallel()
	atEachLeftover(t, func(t *testing.T, l ledger, req idempotency.Request, _ bool) {
		req.Tx = 0
		before := l.record(t, req)
		_, err := l.worker(t).do(soon(t), req, returns("ran"))
		wantErr(t, err, idempotency.ErrOutcomeUnknown)
		l.wantUntouched(t, req, before)
		l.wantRuns(t, 0)
		res, err := l.worker(t, rerun).do(soon(t), req, func(ctx context.Context) (string, error) {
			if idempotency.AttemptFrom(ctx).Prior == nil {
				t.Error("it runs and is not told of the attempt before")
			}
			return "ran", nil
		})
		wantAnswer(t, res, err, "ran", false)
	})
}

// H3, rule 13: another request is a mismatch over each of them.
func TestTxUnknown_Mismatch(t *testing.T) {
	t.Parallel()
	atEachLeftover(t, func(t *testing.T, l ledger, req idempotency.Request, _ bool) {
		before := l.record(t, req)
		_, err := l.worker(t, rerun).doTx(soon(t), other(req), l.pays)
		wantErr(t, err, idempotency.ErrMismatch)
		l.wantUntouched(t, req, before)
		l.wantPaid(t, 0)
	})
}

// H7, rule 13: the late owner begins its step when the next request has already seen that there was none. It is the
// table's condition that decides.
func TestTxUnknown_StepAtTheLastMoment(t *testing.T) {
	t.Parallel()
	atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
		claimed := req
		claimed.Tx = idempotency.Claimed
		running, charged, recorded, ended := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			_, err := l.worker(t).doTx(soon(t), claimed, func(ctx context.Context, _ *idempotency.Tx) (string, error) {
				defer close(recorded)
				close(running)
				<-charged
				return idempotency.Step(ctx, "charge", func(context.Context) (string, error) { return "ch_1", nil })
			})
			if err != nil {
				t.Errorf("the late owner, whom nobody has replaced, got %v", err)
			}
		}()
		<-running
		w := l.worker(t, func(s *settings) { s.Now = func() time.Time { return time.Now().Add(time.Hour) } })
		write := ofTx(req, "UpdateItem", "TransactWriteItems")
		late := nth(write, ofTx(req, 1, 2), func() {
			close(charged)
			<-recorded
			<-ended
		})
		w.before = func(operation string) error { late(operation); return nil }
		res, err := w.doTx(soon(t), req, l.pays)
		wantAnswer(t, res, err, "ch_1", true)
		l.wantPaid(t, 0)
	})
}

// The same, and the owner is gone after its step: its record is the stricter unknown now.
func TestTxUnknown_StepThenGone(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]item{
		"step":  {"ext": &types.AttributeValueMemberBOOL{Value: true}, "steps": steps("charge")},
		"form":  {"form": text("do")},
		"prior": {"prior_no": number(1), "prior_started": number(1), "prior_lease": number(2)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
				crashedBefore(t, l, req)
				w := l.worker(t)
				late := nth(ofTx(req, "UpdateItem", "TransactWriteItems"), ofTx(req, 1, 2), func() { l.edit(t, req, change) })
				w.before = func(operation string) error { late(operation); return nil }
				_, err := w.doTx(soon(t), req, l.pays)
				wantErr(t, err, idempotency.ErrOutcomeUnknown)
				l.wantPaid(t, 0)
				l.wantStatus(t, req, "INPROGRESS")
			})
		})
	}
}

// I5: a step has run and its record is not there. The attempt says so, and its successor must not run the step blindly.
func TestTxUnknown_StepNotRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, req := newLedger(t), request("k")
		w := l.worker(t)
		l.db.Inject(localtest.Fault{Operation: "UpdateItem", Kind: localtest.AccessDenied, Nth: 2}) // after that which says that it begins
		_, err := w.doTx(soon(t), req, l.charges)
		wantErr(t, err, idempotency.ErrNotRecorded)
		l.wantStatus(t, req, "UNKNOWN")
		_, err = w.doTx(soon(t), req, l.charges)
		wantErr(t, err, idempotency.ErrOutcomeUnknown)
	})
}

// Rule 13: no step runs unless the record says that one begins, or a crash in it would pass for one that did nothing.
func TestTxUnknown_StepNotBegun(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		fault   localtest.FaultKind
		want    error
		charges int
		status  string
	}{
		{localtest.AccessDenied, idempotency.ErrUnavailable, 0, "RELEASED"},
		{localtest.RequestLost, nil, 1, "COMPLETED"}, // it is sent again
		{localtest.ReplyLost, nil, 1, "COMPLETED"},   // the table shows that it has begun
	} {
		t.Run(tt.fault.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, req := newLedger(t), request("k")
				req.Tx = idempotency.Claimed
				l.inject("UpdateItem", tt.fault, 1)
				charges := 0
				_, err := l.worker(t, withoutRetries).doTx(soon(t), req, func(ctx context.Context, _ *idempotency.Tx) (string, error) {
					return idempotency.Step(ctx, "charge", func(context.Context) (string, error) {
						charges++
						if !l.record(t, req).has("ext") {
							t.Error("a step runs, and its record does not say that one begins")
						}
						return "ch_1", nil
					})
				})
				if !errors.Is(err, tt.want) || charges != tt.charges {
					t.Errorf("%d charges, %v; want %d, %v", charges, err, tt.charges, tt.want)
				}
				l.wantStatus(t, req, tt.status)
			})
		})
	}
}

// H1: a transaction that runs over an unknown by its policy, and is refused, has settled nothing: the next request hears of it.
func TestTxUnknown_RefusedOverOne(t *testing.T) {
	t.Parallel()
	atEachLeftover(t, func(t *testing.T, l ledger, req idempotency.Request, inside bool) {
		rerun := req
		rerun.OnUnknown = idempotency.Rerun
		_, err := l.worker(t).doTx(soon(t), rerun, func(_ context.Context, tx *idempotency.Tx) (string, error) {
			tx.Put(l.accounts, payment{"p1", fee}).If("attribute_exists(id)")
			return "paid", nil
		})
		if _, refused := errors.AsType[*idempotency.WriteError](err); !refused {
			t.Fatalf("got %v", err)
		}
		pass(10 * time.Second)
		if inside {
			return // nothing has happened, and another run may follow
		}
		refuse := req
		refuse.Tx = 0
		_, err = l.worker(t).do(soon(t), refuse, returns("again"))
		wantErr(t, err, idempotency.ErrOutcomeUnknown)
	})
}
