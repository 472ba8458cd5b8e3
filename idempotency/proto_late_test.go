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

// A late attempt is one whose handler overruns its context and its lease: its worker was frozen, or does not look
// at its context.

// late holds an attempt of w, lets its lease end, and leaves the key to others.
func late(t *testing.T, w *worker, req idempotency.Request) func(handler) (idempotency.Result[string], error) {
	t.Helper()
	end := w.hold(localtest.Invocation(t, time.Second), t, req)
	pass(4 * time.Second)
	return end
}

// lateEndings are the ways in which a late handler ends, and what its caller gets of them. The panic is not in
// it: it has no caller.
var lateEndings = []struct {
	name string
	h    handler
	err  error // the handler's own
}{
	{"completes", returns("late"), nil},
	{"fails", fails(idempotency.Terminal(errPlain)), errPlain},
	{"releases", fails(errPlain), errPlain},
	{"marks unknown", fails(idempotency.Unknown(errPlain)), errPlain},
}

// C03, I4: another attempt has taken over and recorded an outcome. Nothing of it changes, and the late one's caller
// gets the winner's outcome along with ErrLeaseLost.
func TestLate_WinnerHasFinished(t *testing.T) {
	t.Parallel()
	winners := []struct {
		name   string
		h      handler
		status string
	}{
		{"result", returns("winner"), "COMPLETED"},
		{"failure", fails(idempotency.Terminal(errors.New("declined"))), "FAILED"},
	}
	for _, winner := range winners {
		for _, tt := range lateEndings {
			t.Run(tt.name+"/"+winner.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t)
					req := request("k")
					end := late(t, f.worker(t, rerun), req)
					_, _ = f.worker(t, rerun).do(localtest.Invocation(t, 3*time.Second), req, winner.h)
					before := f.wantStatus(t, req, winner.status)
					f.quiet()

					res, err := end(tt.h)
					wantErr(t, err, idempotency.ErrLeaseLost)
					if tt.err != nil {
						wantErr(t, err, tt.err)
					}
					st, ok := errors.AsType[*idempotency.StateError](err)
					if !ok || st.Attempt != 2 {
						t.Fatalf("state %+v, want the winner's attempt, 2", st)
					}
					if !res.Replayed || res.CompletedAt.UnixMilli() != before.number("completed") {
						t.Errorf("result %+v, want the winner's", res)
					}
					if winner.status == "COMPLETED" {
						if res.Value != "winner" || st.Winner != nil {
							t.Errorf("result %q, winner %v; want the winner's result", res.Value, st.Winner)
						}
					} else if failure, ok := errors.AsType[*idempotency.Failure](st.Winner); !ok || failure.Message != "declined" {
						t.Errorf("winner %v, want its failure", st.Winner)
					}
					f.wantUntouched(t, req, before)
					f.wantKinds(t, idempotency.KindLeaseLost)
				})
			})
		}
		t.Run("panics/"+winner.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				w, req := f.worker(t, rerun), request("k")
				var before item
				func() {
					defer func() {
						if r := recover(); r != "late" {
							t.Errorf("the panic became %v", r)
						}
					}()
					_, _ = w.do(localtest.Invocation(t, time.Second), req, func(context.Context) (string, error) {
						pass(4 * time.Second)
						_, _ = f.worker(t, rerun).do(localtest.Invocation(t, 3*time.Second), req, winner.h)
						before = f.wantStatus(t, req, winner.status)
						panic("late")
					})
				}()
				f.wantUntouched(t, req, before)
			})
		})
	}
}

// The winner's outcome has no body, or not one that this caller can read: the lease is lost all the same.
func TestLate_WinnersOutcomeCannotBeShown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		run  func(*worker, context.Context, idempotency.Request) error
		also error
	}{
		{"no body", result[any](make(chan int)), idempotency.ErrNoBody},
		{"other type", result(17), idempotency.ErrBadRecord},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				req := request("k")
				end := late(t, f.worker(t, rerun), req)
				if err := tt.run(f.worker(t, rerun), localtest.Invocation(t, time.Second), req); err != nil {
					t.Fatal(err)
				}
				res, err := end(returns("late"))
				wantErr(t, err, idempotency.ErrLeaseLost, tt.also)
				if res.Value != "" {
					t.Errorf("a lost answer was handed out: %q", res.Value)
				}
			})
		})
	}
}

// The winner still runs, or has ended without an outcome.
func TestLate_WinnerHasNoOutcome(t *testing.T) {
	t.Parallel()
	for _, tt := range lateEndings {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				req := request("k")
				end := late(t, f.worker(t, rerun), req)
				endWinner := f.worker(t, rerun).hold(localtest.Invocation(t, time.Minute), t, req)
				before := f.wantStatus(t, req, "INPROGRESS")
				f.quiet()

				res, err := end(tt.h)
				if tt.name == "completes" || tt.name == "fails" {
					wantErr(t, err, idempotency.ErrLeaseLost)
					if st, ok := errors.AsType[*idempotency.StateError](err); !ok || st.Attempt != 2 || st.RetryAfter == 0 {
						t.Errorf("state %+v, want the winner's attempt and a time to come again", st)
					}
				} else if err != tt.err { //nolint:errorlint // untouched: nothing replaces the handler's own (rule 10)
					t.Errorf("error %v, want the handler's own", err)
				}
				if res.Replayed || res.Value != "" {
					t.Errorf("result %+v, want none", res)
				}
				f.wantUntouched(t, req, before)
				f.wantKinds(t, idempotency.KindLeaseLost)
				res, err = endWinner(returns("winner"))
				wantAnswer(t, res, err, "winner", false)
			})
		})
	}
}

// A late attempt that nobody has replaced may still end its record: nobody else owns it.
func TestLate_StillOwner(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{4 * time.Second, 400 * 24 * time.Hour} {
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				end := f.worker(t).hold(localtest.Invocation(t, time.Second), t, request("k"))
				pass(after)
				res, err := end(returns("late"))
				wantAnswer(t, res, err, "late", false)
				f.wantStatus(t, request("k"), "COMPLETED")
			})
		})
	}
}

// H6, rule 4: the window is over and the key is bound to another request. The late one's caller gets nothing of it.
func TestLate_OtherRequestsOutcome(t *testing.T) {
	t.Parallel()
	for _, tt := range lateEndings {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				req := request("k")
				end := late(t, f.worker(t), req)
				pass(48 * time.Hour)
				secret := other(req)
				secret.Ref = "order of somebody else"
				f.worker(t).must(localtest.Invocation(t, time.Second), t, secret, returns("not yours"))
				before := f.wantStatus(t, req, "COMPLETED")

				res, err := end(tt.h)
				if tt.name == "completes" || tt.name == "fails" {
					wantErr(t, err, idempotency.ErrLeaseLost)
				}
				if tt.err != nil {
					wantErr(t, err, tt.err)
				}
				if res.Value != "" || res.Replayed {
					t.Errorf("another request's outcome was handed out: %+v", res)
				}
				if st, ok := errors.AsType[*idempotency.StateError](err); ok && (st.Ref != "" || st.Attempt != 0 || st.Winner != nil) {
					t.Errorf("another request's state was handed out: %+v", st)
				}
				f.wantUntouched(t, req, before)
			})
		})
	}
}

// Rule 4: the winner's window is over by now. What was recorded in it is handed out no more.
func TestLate_WinnersWindowIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req := newFixture(t), request("k")
		end := late(t, f.worker(t), req)
		short := req
		short.Retention = time.Second
		f.worker(t, rerun).must(localtest.Invocation(t, time.Second), t, short, returns("winner"))
		pass(time.Minute)
		before := f.record(t, req)
		res, err := end(returns("late"))
		wantErr(t, err, idempotency.ErrLeaseLost)
		if res.Replayed || res.Value != "" {
			t.Errorf("an expired outcome was handed out: %+v", res)
		}
		f.wantUntouched(t, req, before)
	})
}

// H11, rule 10: the release is applied and its reply lost, another worker acquires again before the retry. It is no
// lost lease.
func TestLate_OwnReleaseUnderANewOwner(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		h    handler
		kind idempotency.Kind
	}{
		{"release", fails(errPlain), idempotency.KindReleased},
		{"mark unknown", fails(idempotency.Unknown(errPlain)), idempotency.KindUnknown},
	} {
		for _, next := range []struct {
			name string
			h    handler
		}{{"runs", nil}, {"completes", returns("second")}} {
			t.Run(tt.name+"/"+next.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t)
					w, second, req := f.worker(t, rerun, withoutRetries), f.worker(t, rerun), request("k")
					w.after = nth("UpdateItem", 1, func() {
						if next.h == nil {
							second.hold(localtest.Invocation(t, time.Hour), t, req)
						} else {
							second.must(localtest.Invocation(t, time.Second), t, req, next.h)
						}
					})
					f.inject("UpdateItem", localtest.ReplyLost, 1)
					_, err := w.do(localtest.Invocation(t, 3*time.Second), req, tt.h)
					if err != errPlain { //nolint:errorlint // untouched
						t.Errorf("error %v, want the handler's own", err)
					}
					kinds := f.kinds()
					if slices.Contains(kinds, idempotency.KindLeaseLost) || len(kinds) == 0 || kinds[len(kinds)-1] != tt.kind {
						t.Errorf("events %v, want the last to be %q: an own write is no lost lease", kinds, tt.kind)
					}
				})
			})
		}
	}
}

// What I7 does not promise: the record remembers one attempt before its owner. Behind two, one's own release counts as a lost
// lease, and the caller gets the outcome that the last of them has recorded, or else the handler's own error.
func TestLate_OwnReleaseUnderTheThird(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		third  handler
		value  string
		errors []error
	}{
		{"which releases, too", fails(errPlain), "", []error{errPlain}},
		{"which completes", returns("third"), "third", []error{idempotency.ErrLeaseLost, errPlain}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				w, others, req := f.worker(t, withoutRetries), f.worker(t), request("k")
				w.after = nth("UpdateItem", 1, func() {
					_, _ = others.do(soon(t), req, fails(errPlain))
					_, _ = others.do(soon(t), req, tt.third)
				})
				f.inject("UpdateItem", localtest.ReplyLost, 1)
				res, err := w.do(localtest.Invocation(t, 3*time.Second), req, fails(errPlain))
				for _, want := range tt.errors {
					wantErr(t, err, want)
				}
				if st, ok := errors.AsType[*idempotency.StateError](err); ok != (tt.value != "") || res.Value != tt.value {
					t.Errorf("got %q, %v (state %v), want %q", res.Value, err, st, tt.value)
				}
				if kinds := f.kinds(); kinds[len(kinds)-1] != idempotency.KindLeaseLost {
					t.Errorf("events %v, want the last to be %q", kinds, idempotency.KindLeaseLost)
				}
				f.wantRuns(t, 3)
			})
		})
	}
}

// C02, H17, rule 22, I7: an ending that was applied and whose reply was lost is recognised as one's own, and what is
// recorded is what is returned.
func TestLate_OwnEndingFound(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		h      handler
		err    error
		status string
		kind   idempotency.Kind
	}{
		{"complete", returns("ok"), nil, "COMPLETED", idempotency.KindCompleted},
		{"fail", fails(idempotency.Terminal(errPlain)), errPlain, "FAILED", idempotency.KindFailed},
		{"release", fails(errPlain), errPlain, "RELEASED", idempotency.KindReleased},
		{"mark unknown", fails(idempotency.Unknown(errPlain)), errPlain, "UNKNOWN", idempotency.KindUnknown},
	} {
		for _, kind := range []localtest.FaultKind{localtest.ReplyLost, localtest.ServerErrorApplied, localtest.TruncatedReply, localtest.HangApplied} {
			for name, options := range map[string][]option{"SDK retries": nil, "no retries": {withoutRetries}} {
				t.Run(tt.name+"/"+kind.String()+"/"+name, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						f := newFixture(t)
						f.inject("UpdateItem", kind, 1)
						res, err := f.worker(t, options...).do(localtest.Invocation(t, 3*time.Second), request("k"), tt.h)
						if err != tt.err { //nolint:errorlint // untouched
							t.Errorf("error %v, want %v", err, tt.err)
						}
						it := f.wantStatus(t, request("k"), tt.status)
						if tt.err == nil && (res.Value != "ok" || res.Replayed || res.CompletedAt.UnixMilli() != it.number("completed")) {
							t.Errorf("got %+v, recorded is %v", res, it)
						}
						f.wantKinds(t, idempotency.KindAcquired, tt.kind)
					})
				})
			}
		}
	}
}

// C04, H25, rule 29: the record is deleted while the handler runs. No resurrection, and the caller is told.
func TestLate_RecordGone(t *testing.T) {
	t.Parallel()
	for _, h := range []handler{returns("ok"), fails(idempotency.Terminal(errPlain))} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				req := request("k")
				end := f.worker(t).hold(localtest.Invocation(t, 3*time.Second), t, req)
				f.remove(t, req)
				f.quiet()
				_, err := end(h)
				wantErr(t, err, idempotency.ErrNotRecorded)
				f.wantCalls(t, "UpdateItem", "GetItem")
				if it := f.record(t, req); it != nil {
					t.Errorf("the deleted record came back: %v", it)
				}
				f.wantKinds(t, idempotency.KindNotRecorded)
			})
		})
	}
}

// H25: the record is deleted, and the key is in use again, by the same request or another one.
func TestLate_RecordGoneAndReplaced(t *testing.T) {
	t.Parallel()
	for _, next := range []struct {
		name   string
		change func(idempotency.Request) idempotency.Request
		value  string
	}{
		{"same request", func(r idempotency.Request) idempotency.Request { return r }, "second"},
		{"other request", other, ""},
	} {
		t.Run(next.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				req := request("k")
				end := f.worker(t).hold(localtest.Invocation(t, 3*time.Second), t, req)
				f.remove(t, req)
				f.worker(t).must(localtest.Invocation(t, time.Second), t, next.change(req), returns("second"))
				before := f.wantStatus(t, req, "COMPLETED")
				res, err := end(returns("first"))
				wantErr(t, err, idempotency.ErrLeaseLost)
				if res.Value != next.value {
					t.Errorf("result %q, want %q", res.Value, next.value)
				}
				f.wantUntouched(t, req, before)
			})
		})
	}
}

// I3, rule 22: a record that has its outcome is ended by nobody a second time, not even under its own token: here a
// person has recorded the outcome while the handler was running. What is recorded is what everybody gets.
func TestLate_EndedByHand(t *testing.T) {
	t.Parallel()
	for _, tt := range lateEndings {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				req := request("k")
				end := f.worker(t).hold(localtest.Invocation(t, 3*time.Second), t, req)
				f.edit(t, req, item{"status": text("COMPLETED"), "completed": number(1), "data": text(`"by hand"`)})
				before := f.record(t, req)
				res, err := end(tt.h)
				f.wantUntouched(t, req, before)
				if tt.name == "releases" || tt.name == "marks unknown" {
					wantErr(t, err, idempotency.ErrLeaseLost, errPlain)
					err = nil
				}
				wantAnswer(t, res, err, "by hand", true)
			})
		})
	}
}
