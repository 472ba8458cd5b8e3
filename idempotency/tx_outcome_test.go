package idempotency_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/smithy-go"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// C17: an answer that cannot be stored goes to its caller, and the payment is recorded as done without it.
func TestTxOutcome_NoBody(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{"too long": strings.Repeat("x", 8<<20), "not to be encoded": func() {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
				w := l.worker(t)
				run := func() (idempotency.Result[any], error) {
					return idempotency.DoTx(soon(t), w.runner, req, func(ctx context.Context, tx *idempotency.Tx) (any, error) {
						_, err := l.pays(ctx, tx)
						return value, err
					})
				}
				res, err := run()
				if err != nil || res.Value == nil {
					t.Errorf("got %T, %v", res.Value, err)
				}
				if it := l.wantStatus(t, req, "COMPLETED"); it.text("encoding") != "none" || it.has("data") {
					t.Errorf("the record is %v", it)
				}
				for range 2 {
					_, err = run()
					wantErr(t, err, idempotency.ErrNoBody)
				}
				l.wantPaid(t, 1)
			})
		})
	}
}

// A missing right to write into the tables: nothing is written, the key is given back, and the cause goes to the caller.
func TestTxOutcome_AccessDenied(t *testing.T) {
	t.Parallel()
	atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
		w := l.worker(t)
		l.inject("TransactWriteItems", localtest.AccessDenied, forever)
		l.quiet()
		_, err := w.doTx(soon(t), req, l.pays)
		if api, ok := errors.AsType[smithy.APIError](err); !ok || api.ErrorCode() != "AccessDeniedException" {
			t.Errorf("error %v", err)
		}
		l.wantCalls(t, ofTx(req, []string{"PutItem", "TransactWriteItems", "UpdateItem"}, []string{"TransactWriteItems", "PutItem"})...)
		l.wantStatus(t, req, "RELEASED")
		l.wantPaid(t, 0)
		l.db.ClearFaults()
		res, err := w.doTx(soon(t), req, l.pays)
		wantAnswer(t, res, err, "paid", false)
		l.wantPaid(t, 1)
	})
}

// I7: the transaction commits, its reply is lost, and its repetition is refused. What is recorded counts.
func TestTxOutcome_RefusedAfterCommit(t *testing.T) {
	t.Parallel()
	atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
		w := l.worker(t)
		l.inject("TransactWriteItems", localtest.ReplyLost, 1)
		l.inject("TransactWriteItems", localtest.AccessDenied, forever)
		res, err := w.doTx(soon(t), req, l.pays)
		wantAnswer(t, res, err, "paid", true)
		l.wantRuns(t, 1)
		l.wantPaid(t, 1)
		l.wantStatus(t, req, "COMPLETED")
		if last := l.kinds()[len(l.kinds())-1]; last != idempotency.KindReplayed {
			t.Errorf("events %v", l.kinds())
		}
	})
}

// I9: the same, and the answer is in an item beside the record that cannot be read. That nothing was run would be wrong, and the
// same request finds out.
func TestTxOutcome_CommittedAndUnreadable(t *testing.T) {
	t.Parallel()
	atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
		w := l.worker(t, func(s *settings) { s.Inline = 8 })
		l.inject("TransactWriteItems", localtest.ReplyLost, 1)
		l.inject("TransactWriteItems", localtest.AccessDenied, forever)
		w.after = nth("TransactWriteItems", 1, func() { l.inject("GetItem", localtest.AccessDenied, forever) })
		pays := func(ctx context.Context, tx *idempotency.Tx) (string, error) {
			_, err := l.pays(ctx, tx)
			return "an answer of more than 8 bytes", err
		}
		_, err := w.doTx(soon(t), req, pays)
		wantErr(t, err, idempotency.ErrNotRecorded)
		if st, ok := errors.AsType[*idempotency.StateError](err); !ok || st.RetryAfter == 0 {
			t.Errorf("%v has no time to come again", err)
		}
		if errors.Is(err, idempotency.ErrUnavailable) || strings.Contains(err.Error(), "nothing was run") {
			t.Errorf("a payment is made, and its caller was told %v", err)
		}
		l.wantPaid(t, 1)
		l.db.ClearFaults()
		res, err := w.doTx(soon(t), req, pays)
		wantAnswer(t, res, err, "an answer of more than 8 bytes", true)
		l.wantPaid(t, 1)
	})
}

// The same, and the answer comes after the outcome's window, when no record tells any more that it has committed: that nothing
// happened would be more than is known, whatever a refusal counts as and whoever has the key now.
func TestTxOutcome_AnsweredAfterItsWindow(t *testing.T) {
	t.Parallel()
	sweep := func(_ *testing.T, l ledger, _ idempotency.Request) { l.db.Sweep(0) }
	another := func(t *testing.T, l ledger, req idempotency.Request) {
		t.Helper()
		req.Tx = 0
		if res, err := l.worker(t).do(soon(t), other(req), returns("other")); err != nil || res.Replayed {
			t.Errorf("%+v, %v", res, err)
		}
	}
	for name, tt := range map[string]struct {
		happens func(*testing.T, ledger, idempotency.Request)
		class   idempotency.Class // of the refusal
		answer  localtest.FaultKind
	}{
		"swept, released":             {sweep, idempotency.Released, localtest.AccessDenied},
		"swept, recorded":             {sweep, idempotency.Recorded, localtest.AccessDenied},
		"swept, ambiguous":            {sweep, idempotency.Ambiguous, localtest.AccessDenied},
		"another request, released":   {another, idempotency.Released, localtest.AccessDenied},
		"another request, recorded":   {another, idempotency.Recorded, localtest.AccessDenied},
		"another request, ambiguous":  {another, idempotency.Ambiguous, localtest.AccessDenied},
		"another request, no refusal": {another, idempotency.Released, localtest.ReplyLost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
				l.db.EnableTTL(t, l.table, "expiration")
				req.Retention = 5 * time.Second
				w := l.worker(t, func(s *settings) { s.Classify = func(error) idempotency.Class { return tt.class } })
				w.after = func(op string) {
					if op == "TransactWriteItems" && l.balance(t) != opening {
						pass(10 * time.Second)
						tt.happens(t, l, req)
					}
				}
				l.inject("TransactWriteItems", localtest.ReplyLost, 1)
				l.inject("TransactWriteItems", tt.answer, forever)
				_, err := w.doTx(localtest.Invocation(t, time.Minute), req, l.pays)
				l.wantPaid(t, 1)
				wantErr(t, err, idempotency.ErrNotRecorded)
				if errors.Is(err, idempotency.ErrMismatch) || errors.Is(err, idempotency.ErrLeaseLost) {
					t.Errorf("told of another request's record: %v", err)
				}
			})
		})
	}
}

// I10: the same, and by then the key is free for the request: it has been released in a later window. It does not commit once more.
func TestTxOutcome_NotOnceMoreAfterItsWindow(t *testing.T) {
	t.Parallel()
	atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
		req.Retention = 5 * time.Second
		w := l.worker(t, withoutRetries)
		w.after = nth("TransactWriteItems", 1, func() {
			pass(10 * time.Second)
			do := req
			do.Tx = 0
			if _, err := l.worker(t).do(soon(t), do, fails(errPlain)); err != errPlain { //nolint:errorlint // untouched
				t.Errorf("in the next window: %v", err)
			}
		})
		l.inject("TransactWriteItems", localtest.ReplyLost, 1)
		_, err := w.doTx(localtest.Invocation(t, time.Minute), req, l.pays)
		wantErr(t, err, idempotency.ErrNotRecorded)
		l.wantPaid(t, 1)
	})
}

// C17: a panic and the end of the goroutine go on by themselves. Nothing is written, and the next request pays: without a
// policy, since staged writes that are not there have had no effect.
func TestTxOutcome_HandlerGone(t *testing.T) {
	t.Parallel()
	for name, gone := range map[string]func(){"panic": func() { panic("gone") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
				w, done := l.worker(t), make(chan any)
				go func() {
					defer func() { done <- recover() }()
					_, _ = w.doTx(soon(t), req, func(ctx context.Context, tx *idempotency.Tx) (string, error) {
						_, _ = l.pays(ctx, tx)
						gone()
						return "", nil
					})
				}()
				if v := <-done; (v == "gone") != (name == "panic") {
					t.Errorf("recovered %v", v)
				}
				l.wantPaid(t, 0)
				l.wantStatus(t, req, ofTx(req, "UNKNOWN", ""))
				res, err := w.doTx(soon(t), req, l.pays)
				wantAnswer(t, res, err, "paid", false)
				l.wantPaid(t, 1)
			})
		})
	}
}

// The handler's time ends: its error goes back, and the next request pays.
func TestTxOutcome_TimeOver(t *testing.T) {
	t.Parallel()
	atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
		w := l.worker(t)
		began := time.Now()
		_, err := w.doTx(soon(t), req, func(ctx context.Context, tx *idempotency.Tx) (string, error) {
			_, _ = l.pays(ctx, tx)
			<-ctx.Done()
			return "", ctx.Err()
		})
		wantErr(t, err, context.DeadlineExceeded)
		if took := time.Since(began); took >= 3*time.Second {
			t.Errorf("it took %s of 3 s", took)
		}
		l.wantPaid(t, 0)
		l.wantStatus(t, req, ofTx(req, "UNKNOWN", ""))
		res, err := w.doTx(soon(t), req, l.pays)
		wantAnswer(t, res, err, "paid", false)
	})
}

// C16: the caller hangs up when the handler has returned, or its time is over: the transaction goes out all the same.
func TestTxOutcome_CallerGone(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(context.CancelFunc){
		"hangs up":  func(cancel context.CancelFunc) { cancel() },
		"time over": func(context.CancelFunc) { pass(3500 * time.Millisecond) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
				ctx, cancel := context.WithCancel(soon(t))
				defer cancel()
				w := l.worker(t)
				res, err := w.doTx(ctx, req, func(ctx context.Context, tx *idempotency.Tx) (string, error) {
					end(cancel)
					return l.pays(ctx, tx)
				})
				wantAnswer(t, res, err, "paid", false)
				l.wantPaid(t, 1)
				l.wantStatus(t, req, "COMPLETED")
			})
		})
	}
}

// Nothing starts for a caller that is gone already, or has too little time; the table is not asked.
func TestTxOutcome_NoTime(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]time.Duration{"over": -time.Second, "too little": 40 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
				ctx, cancel := context.WithTimeout(t.Context(), left)
				defer cancel()
				w := l.worker(t)
				l.quiet()
				_, err := w.doTx(ctx, req, l.pays)
				wantErr(t, err, idempotency.ErrNoTime)
				l.wantRuns(t, 0)
				l.wantCalls(t)
				l.wantKinds(t, idempotency.KindNoTime)
			})
		})
	}
}

// I8, rule 15: a single shot whose handler fails, or whose condition does, looks for an outcome before it says so. If the
// table cannot be asked, the caller does not get an error that may be about its own payment.
func TestTxOutcome_LookFails(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]func(ledger) txHandler{
		"error": txFails(errFunds), "unknown": txFails(idempotency.Unknown(errFunds)), "condition": txShort(errFunds),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
				if req.Tx == idempotency.Claimed {
					return // its ending write is the look
				}
				if name == "condition" {
					short(t, l, req)
				} else {
					paidBefore(t, l, req)
				}
				w := l.worker(t)
				look := "GetItem"
				if name == "condition" { // which writes, to keep a copy out
					look = "PutItem"
				}
				l.inject(look, localtest.ServerError, forever)
				_, err := w.doTx(soon(t), req, h(l))
				l.db.ClearFaults()
				if err == errFunds { //nolint:errorlint // untouched
					t.Error("the handler's error went back")
				}
				want := idempotency.ErrUnavailable
				if name == "condition" { // a copy of what was sent may have committed
					want = idempotency.ErrNotRecorded
				}
				wantErr(t, err, want)
			})
		})
	}
}

// A terminal failure of a single shot that cannot be recorded: the caller is told of both.
func TestTxOutcome_TerminalNotRecorded(t *testing.T) {
	t.Parallel()
	atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
		w := l.worker(t)
		l.db.Inject(localtest.Fault{Operation: ofTx(req, "UpdateItem", "PutItem"), Kind: localtest.ServerError, Times: forever})
		_, err := w.doTx(soon(t), req, failsTx(idempotency.Terminal(errFunds)))
		wantErr(t, err, idempotency.ErrNotRecorded, errFunds)
	})
}

// What is wrong with a request is said before anything happens.
func TestTxOutcome_Refused(t *testing.T) {
	t.Parallel()
	atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
		w := l.worker(t)
		l.quiet()
		field := func(err error, want string) {
			t.Helper()
			if wrong, ok := errors.AsType[*idempotency.FieldError](err); !ok || wrong.Field != want {
				t.Errorf("error %v, want one about %s", err, want)
			}
		}
		for _, mode := range []idempotency.TxMode{-1, idempotency.SingleShot + 1} {
			wrong := req
			wrong.Tx = mode
			_, err := w.doTx(soon(t), wrong, l.pays)
			field(err, "Request.Tx")
		}
		_, err := idempotency.DoTx[string](soon(t), w.runner, req, nil)
		field(err, "fn")
		_, err = idempotency.DoTx(soon(t), nil, req, l.pays)
		field(err, "Runner")
		_, err = idempotency.DoTx(soon(t), w.runner, req, func(context.Context, *idempotency.Tx) (chan int, error) { return nil, nil })
		if _, ok := errors.AsType[*idempotency.FieldError](err); !ok {
			t.Errorf("a result that cannot be replayed: %v", err)
		}
		wrong := req
		wrong.Key = ""
		_, err = w.doTx(soon(t), wrong, l.pays)
		field(err, "Request.Key")
		l.wantRuns(t, 0)
		l.wantCalls(t)

		// A step has nothing to be recorded in without a claim (rule 14).
		ran := false
		_, err = w.doTx(soon(t), req, func(ctx context.Context, _ *idempotency.Tx) (string, error) {
			return idempotency.Step(ctx, "charge", func(context.Context) (string, error) { ran = true; return "ch_1", nil })
		})
		if req.Tx == idempotency.SingleShot {
			field(err, "Step's ctx")
		}
		if ran != (req.Tx == idempotency.Claimed) || slices.Contains(l.kinds(), idempotency.KindLeaseLost) {
			t.Errorf("the step ran: %t; events %v", ran, l.kinds())
		}
	})
}

// C12, I1: another request under the key learns nothing but that, however its handler ends.
func TestTxOutcome_Mismatch(t *testing.T) {
	t.Parallel()
	atEachEnd(t, func(t *testing.T, l ledger, req idempotency.Request, h txHandler) {
		paidBefore(t, l, req)
		before := l.record(t, req)
		res, err := l.worker(t).doTx(soon(t), other(req), h)
		wantErr(t, err, idempotency.ErrMismatch)
		if res.Value != "" || errors.Is(err, errFunds) {
			t.Errorf("it got %+v, %v", res, err)
		}
		l.wantUntouched(t, req, before)
		l.wantPaid(t, 1)
	})
}

// DESIGN's order: whose key is bound to another request hears of that, not of its handler's error; and the handler's error
// is not lost where the look fails.
func TestTxOutcome_FailedShot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, req := newLedger(t), request("k")
		req.Tx = idempotency.SingleShot
		paidBefore(t, l, req)
		res, err := l.worker(t).doTx(soon(t), other(req), txFails(errFunds)(l))
		wantErr(t, err, idempotency.ErrMismatch)
		if errors.Is(err, errFunds) || res.Replayed {
			t.Errorf("got %+v, %v", res, err)
		}
		l.inject("GetItem", localtest.AccessDenied, 1)
		_, err = l.worker(t).doTx(soon(t), req, txFails(errFunds)(l))
		wantErr(t, err, idempotency.ErrUnavailable, errFunds)
	})
}

// Result.Class and Reruns are the same in each form.
func TestTxOutcome_Class(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err    error
		class  idempotency.Class
		reruns bool
	}{
		"released": {errFunds, idempotency.Released, true},
		"recorded": {idempotency.Terminal(errFunds), idempotency.Recorded, false},
		"unknown":  {idempotency.Unknown(errFunds), idempotency.Ambiguous, true}, // nothing but staged writes, which are not there
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
				res, err := l.worker(t).doTx(soon(t), req, txFails(c.err)(l))
				wantErr(t, err, errFunds)
				if res.Class != c.class || res.Reruns != c.reruns {
					t.Errorf("class %v, reruns %v", res.Class, res.Reruns)
				}
			})
		})
	}
}
