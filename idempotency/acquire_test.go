package idempotency_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// found is a state in which a request can find the record of its key.
type found struct {
	name   string
	status string
	make   func(*testing.T, *fixture, idempotency.Request)
}

// founds are all of them, inside the window.
var founds = []found{
	{"in progress", "INPROGRESS", func(t *testing.T, f *fixture, req idempotency.Request) {
		t.Helper()
		f.worker(t).hold(localtest.Invocation(t, time.Hour), t, req)
	}},
	{"crashed", "INPROGRESS", crashed},
	{"unknown", "UNKNOWN", func(t *testing.T, f *fixture, req idempotency.Request) {
		t.Helper()
		_, _ = f.worker(t).do(localtest.Invocation(t, time.Second), req, fails(idempotency.Unknown(errPlain)))
	}},
	{"released", "RELEASED", func(t *testing.T, f *fixture, req idempotency.Request) {
		t.Helper()
		_, _ = f.worker(t).do(localtest.Invocation(t, time.Second), req, fails(errPlain))
	}},
	{"completed", "COMPLETED", func(t *testing.T, f *fixture, req idempotency.Request) {
		t.Helper()
		f.worker(t).must(localtest.Invocation(t, time.Second), t, req, returns("first"))
	}},
	{"failed", "FAILED", func(t *testing.T, f *fixture, req idempotency.Request) {
		t.Helper()
		_, _ = f.worker(t).do(localtest.Invocation(t, time.Second), req, fails(idempotency.Terminal(errPlain)))
	}},
}

// make brings about one of the founds by its name.
func (f *fixture) make(t *testing.T, name string, req idempotency.Request) {
	t.Helper()
	for _, found := range founds {
		if found.name == name {
			found.make(t, f, req)
			return
		}
	}
	t.Fatalf("no such state: %s", name)
}

// crashed leaves a record in progress whose lease has ended.
func crashed(t *testing.T, f *fixture, req idempotency.Request) {
	t.Helper()
	f.worker(t).crash(localtest.Invocation(t, time.Second), req)
	pass(4 * time.Second)
}

// C01, I7: the acquire is applied and its reply lost. The retry fails on our own record, and the handler runs once.
func TestAcquire_OwnWriteFound(t *testing.T) {
	t.Parallel()
	for _, kind := range []localtest.FaultKind{localtest.ReplyLost, localtest.ServerErrorApplied, localtest.TruncatedReply, localtest.HangApplied} {
		for name, options := range map[string][]option{"SDK retries": nil, "no retries": {withoutRetries}} {
			t.Run(kind.String()+"/"+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t)
					f.inject("PutItem", kind, 1)
					res, err := f.worker(t, options...).do(localtest.Invocation(t, 3*time.Second), request("k"), func(ctx context.Context) (string, error) {
						a := idempotency.AttemptFrom(ctx)
						if it := f.record(t, request("k")); a.Number != 1 || a.Token != it.text("attempt") || a.Prior != nil || a.Fence != it.number("window")*1024+1 {
							t.Errorf("attempt %+v does not own %v", a, it)
						}
						return "ok", nil
					})
					wantAnswer(t, res, err, "ok", false)
					f.wantRuns(t, 1)
				})
			})
		}
	}
}

// I7, rule 21: the put gets no answer, the look finds another attempt's record, and by the time of the next put that one is over
// and time to live has deleted it: the first put has come late and has claimed the key. It is this request's own, not somebody
// to be kept out by, or to wait for.
func TestAcquire_OwnEarlierClaimFound(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		make string
		wait time.Duration
	}{
		{"its outcome is over", "completed", 0},
		{"while it is waited for", "in progress", time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				req := request("k")
				req.Retention = 10 * time.Second
				f.make(t, tt.make, req)
				f.quiet()
				req.Wait = tt.wait

				w := f.worker(t, withoutRetries)
				w.db.Inject(localtest.Fault{Operation: "PutItem", Kind: localtest.AppliedLate, Times: 1, Delay: 12 * time.Second})
				w.after = nth("GetItem", 1, func() {
					f.remove(t, req)
					pass(13 * time.Second)
				})
				res, err := w.do(localtest.Invocation(t, time.Minute), req, func(ctx context.Context) (string, error) {
					if a, it := idempotency.AttemptFrom(ctx), f.record(t, req); a.Number != 1 || a.Token != it.text("attempt") || a.Prior != nil || a.Fence != it.number("window")*1024+1 {
						t.Errorf("attempt %+v does not own %v", a, it)
					}
					return "ok", nil
				})
				wantAnswer(t, res, err, "ok", false)
				f.wantStatus(t, req, "COMPLETED")
			})
		})
	}
}

// Rule 21: an own token counts only with INPROGRESS; with another status, the record is decided by that.
func TestAcquire_OwnTokenWithAnotherStatus(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change item
		value  string
		err    error
	}{
		{"released", item{"status": text("RELEASED")}, "ran", nil},
		{"unknown", item{"status": text("UNKNOWN")}, "", idempotency.ErrOutcomeUnknown},
		{"completed", item{"status": text("COMPLETED"), "completed": number(1), "data": text(`"by hand"`)}, "by hand", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				w, req := f.worker(t, withoutRetries), request("k")
				f.inject("PutItem", localtest.ReplyLost, 1)
				w.after = nth("PutItem", 1, func() { f.edit(t, req, tt.change) })
				res, err := w.do(localtest.Invocation(t, 3*time.Second), req, returns("ran"))
				if tt.err != nil {
					wantErr(t, err, tt.err)
				} else if err != nil || res.Value != tt.value {
					t.Errorf("got %q, %v; want %q", res.Value, err, tt.value)
				}
			})
		})
	}
}

// C06: with no time left, or too little, nothing is started and nothing written.
func TestAcquire_NoTime(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]time.Duration{"none": 0, "past": -time.Second, "less than the reserve": 40 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				_, err := f.worker(t).do(localtest.Invocation(t, left), request("k"), returns("ok"))
				wantErr(t, err, idempotency.ErrNoTime)
				if st, ok := errors.AsType[*idempotency.StateError](err); !ok || st.RetryAfter == 0 {
					t.Errorf("%v has no time to come again", err)
				}
				f.wantCalls(t)
			})
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t)
			ctx, cancel := context.WithCancelCause(localtest.Invocation(t, time.Second))
			cancel(errPlain)
			_, err := f.worker(t).do(ctx, request("k"), returns("ok"))
			wantErr(t, err, idempotency.ErrNoTime, errPlain)
			f.wantCalls(t)
		})
	})
}

// C07: a context without deadline gets the documented lease, and the handler's context ends before it.
func TestAcquire_NoDeadline(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		options []option
		lease   time.Duration
	}{
		"default": {nil, idempotency.DefaultLease},
		"set":     {[]option{func(s *settings) { s.Lease = 10 * time.Second }}, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				w, req, start := f.worker(t, tt.options...), request("k"), time.Now()
				w.abandon(context.Background(), req, func(ctx context.Context) (string, error) {
					deadline, ok := ctx.Deadline()
					if left := time.Until(deadline); !ok || left >= tt.lease-2*time.Second || left < tt.lease-4*time.Second {
						t.Errorf("the handler has %s of a lease of %s", left, tt.lease)
					}
					w.die()
					return "", nil
				})
				if it := f.record(t, req); it.number("in_progress_expiration") != start.Add(tt.lease).UnixMilli() {
					t.Errorf("the lease is %d ms", it.number("in_progress_expiration")-start.UnixMilli())
				}
				twin := f.worker(t, rerun)
				pass(tt.lease - time.Since(start)) // to its last moment
				_, err := twin.do(context.Background(), req, returns("twin"))
				wantErr(t, err, idempotency.ErrInProgress)
				pass(time.Millisecond)
				res, err := twin.do(context.Background(), req, returns("twin"))
				wantAnswer(t, res, err, "twin", false)
			})
		})
	}
}

// C08, I6: a set lease longer than the Lambda time-out holds: after the time-out, and until it ends, nobody runs.
// C09: then the policy decides.
func TestAcquire_LeaseLongerThanTheTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		lease := func(s *settings) { s.Lease = time.Minute }
		req := request("k")
		f.worker(t, lease).crash(localtest.Invocation(t, 3*time.Second), req)
		for range 6 {
			pass(9 * time.Second)
			_, err := f.worker(t, lease, rerun).do(localtest.Invocation(t, 3*time.Second), req, returns("twice"))
			wantErr(t, err, idempotency.ErrInProgress)
		}
		pass(7 * time.Second)
		_, err := f.worker(t).do(localtest.Invocation(t, 3*time.Second), req, returns("twice"))
		wantErr(t, err, idempotency.ErrOutcomeUnknown)
		res, err := f.worker(t, rerun).do(localtest.Invocation(t, 3*time.Second), req, func(ctx context.Context) (string, error) {
			if p := idempotency.AttemptFrom(ctx).Prior; p == nil || p.Number != 1 {
				t.Errorf("prior %+v, want attempt 1", p)
			}
			return "second", nil
		})
		wantAnswer(t, res, err, "second", false)
	})
}

// Rule 3: a lease that the handler could outlive is refused, before anything is asked.
func TestAcquire_LeaseShorterThanTheTimeout(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		lease   time.Duration
		refused bool
	}{"too short": {4999 * time.Millisecond, true}, "just enough": {5 * time.Second, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				w := f.worker(t, func(s *settings) { s.Lease = tt.lease })
				_, err := w.do(localtest.Invocation(t, 3*time.Second), request("k"), returns("ok"))
				field, ok := errors.AsType[*idempotency.FieldError](err)
				if ok != tt.refused || ok && field.Field != "Config.Lease" {
					t.Errorf("error %v, want a refusal of the lease: %t", err, tt.refused)
				}
				if tt.refused {
					f.wantCalls(t)
				}
			})
		})
	}
}

// C12, C13, C24, I1: another request's input is a mismatch in every state, under every policy, waiting or not; it
// learns nothing, and changes nothing.
func TestAcquire_Mismatch(t *testing.T) {
	t.Parallel()
	for _, found := range founds {
		for name, set := range map[string]option{"refuse": func(*settings) {}, "rerun": rerun, "wait": func(s *settings) { s.Wait = time.Second }} {
			t.Run(found.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t)
					req := request("k")
					req.Ref = "secret order"
					found.make(t, f, req)
					before := f.wantStatus(t, req, found.status)
					f.quiet()

					wrong := other(req)
					wrong.Ref = "mine"
					res, err := f.worker(t, set).do(localtest.Invocation(t, 3*time.Second), wrong, returns("wrong"))
					wantErr(t, err, idempotency.ErrMismatch)
					if res.Value != "" || res.Replayed {
						t.Errorf("it got %+v", res)
					}
					st, ok := errors.AsType[*idempotency.StateError](err)
					if !ok || st.Ref != "mine" || st.Attempt != 0 || !st.LeaseEnd.IsZero() || st.RetryAfter != 0 {
						t.Errorf("it learned %+v", st)
					}
					f.wantRuns(t, 0)
					f.wantCalls(t, "PutItem")
					f.wantKinds(t, idempotency.KindMismatch)
					f.wantUntouched(t, req, before)

					_, err = idempotency.Lookup[string](localtest.Invocation(t, time.Second), f.worker(t).runner, wrong)
					wantErr(t, err, idempotency.ErrMismatch)
				})
			})
		}
	}
}

// C24: the same where the endpoint does not send the item along with the failed condition.
func TestAcquire_EndpointWithoutTheItem(t *testing.T) {
	t.Parallel()
	for _, found := range founds {
		t.Run(found.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				req := request("k")
				found.make(t, f, req)
				before := f.record(t, req)
				f.quiet()
				w := f.worker(t)
				w.Client = older{w.Client}
				_, err := w.do(localtest.Invocation(t, time.Second), other(req), returns("wrong"))
				wantErr(t, err, idempotency.ErrMismatch)
				f.wantUntouched(t, req, before)
				if found.status == "COMPLETED" {
					res, err := w.do(localtest.Invocation(t, time.Second), req, returns("twice"))
					wantAnswer(t, res, err, "first", true)
				}
				f.wantRuns(t, 0)
			})
		})
	}
}

// older is an endpoint that does not know ReturnValuesOnConditionCheckFailure.
type older struct{ idempotency.Client }

func (o older) PutItem(ctx context.Context, in *dynamodb.PutItemInput, fn ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	plain := *in
	plain.ReturnValuesOnConditionCheckFailure = ""
	return o.Client.PutItem(ctx, &plain, fn...)
}

func (o older) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, fn ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	plain := *in
	plain.ReturnValuesOnConditionCheckFailure = ""
	return o.Client.UpdateItem(ctx, &plain, fn...)
}

func (o older) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, fn ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	out, err := o.Client.TransactWriteItems(ctx, in, fn...)
	if cancelled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		for i := range cancelled.CancellationReasons {
			cancelled.CancellationReasons[i].Item = nil
		}
	}
	return out, err
}

// C13, C19: whoever is refused changes nothing, and gets no SDK error.
func TestAcquire_RefusedChangesNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		found found
		err   error
		kind  idempotency.Kind
		retry bool
	}{
		{founds[0], idempotency.ErrInProgress, idempotency.KindInProgress, true},
		{founds[1], idempotency.ErrOutcomeUnknown, idempotency.KindUnknown, false},
		{founds[2], idempotency.ErrOutcomeUnknown, idempotency.KindUnknown, false},
	} {
		t.Run(tt.found.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				req := request("k")
				req.Ref = "order 17"
				tt.found.make(t, f, req)
				before := f.record(t, req)
				f.quiet()
				w := f.worker(t)
				_, err := w.do(localtest.Invocation(t, time.Second), req, returns("twice"))
				wantErr(t, err, tt.err)
				f.wantCalls(t, "PutItem")
				f.wantKinds(t, tt.kind)
				f.wantUntouched(t, req, before)
				st, ok := errors.AsType[*idempotency.StateError](err)
				if !ok || st.Ref != "order 17" || st.Attempt != 1 || st.LeaseEnd.UnixMilli() != before.number("in_progress_expiration") || st.ID != before.text("id") {
					t.Errorf("state %+v of %v", st, before)
				}
				if tt.retry && (st.RetryAfter < time.Second || st.RetryAfter > 2*time.Second) || !tt.retry && st.RetryAfter != 0 {
					t.Errorf("retry after %s", st.RetryAfter)
				}
				if api, ok := errors.AsType[smithy.APIError](err); ok {
					t.Errorf("the SDK's %v came through", api)
				}
			})
		})
	}
}

// C15, I8: the table cannot be asked. The handler does not run, and the cause can be reached.
func TestAcquire_Unavailable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		kind  localtest.FaultKind
		table string
		code  string // of the API error; "": there is none
		calls int    // 0: several
	}{
		{"throttled", localtest.Throttled, "", "ThrottlingException", 0},
		{"server error", localtest.ServerError, "", "InternalServerError", 0},
		{"no permission", localtest.AccessDenied, "", "AccessDeniedException", 2},
		{"no such table", 0, "elsewhere", "ResourceNotFoundException", 2},
		{"no connection", localtest.RequestLost, "", "", 0},
		{"no answer", localtest.Hang, "", "", 0},
		{"held by a transaction", localtest.Conflict, "", "TransactionConflictException", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				if tt.kind != 0 {
					f.inject("PutItem", tt.kind, forever)
					f.inject("GetItem", tt.kind, forever)
					f.inject("UpdateItem", tt.kind, forever)
				}
				ctx := localtest.Invocation(t, 15*time.Second)
				deadline, _ := ctx.Deadline()
				// The SDK itself drops the cause when the context ends its pause before a retry.
				_, err := f.worker(t, withoutRetries, func(s *settings) {
					if tt.table != "" {
						s.Table = tt.table
					}
				}).do(ctx, request("k"), returns("ok"))
				wantErr(t, err, idempotency.ErrUnavailable)
				if api, ok := errors.AsType[smithy.APIError](err); ok != (tt.code != "") || ok && api.ErrorCode() != tt.code {
					t.Errorf("the cause of %v is %v, want %s", err, api, tt.code)
				}
				f.wantRuns(t, 0)
				if n := len(f.db.Calls("")); tt.calls != 0 && n != tt.calls {
					t.Errorf("%d calls, want %d: the claim, which no repetition changes, and its give-back", n, tt.calls)
				}
				if late := time.Since(deadline); late > 0 {
					t.Errorf("it took %s longer than the context", late)
				}
				kinds := f.kinds()
				if len(kinds) == 0 || kinds[len(kinds)-1] != idempotency.KindStoreFailure {
					t.Errorf("events %v, want a store failure at the end", kinds)
				}
			})
		})
	}
}

// C53: a throttled acquire of a finished record replays by one read.
func TestAcquire_ThrottledReplay(t *testing.T) {
	t.Parallel()
	for _, found := range founds[4:] {
		t.Run(found.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				req := request("k")
				found.make(t, f, req)
				f.quiet()
				f.inject("PutItem", localtest.Throttled, forever)
				res, err := f.worker(t, withoutRetries).do(localtest.Invocation(t, 3*time.Second), req, returns("twice"))
				f.wantCalls(t, "PutItem", "GetItem")
				f.wantRuns(t, 0)
				if !res.Replayed {
					t.Errorf("got %+v, %v; want a replay", res, err)
				}
				_, err = f.worker(t, withoutRetries).do(localtest.Invocation(t, 3*time.Second), other(req), returns("wrong"))
				wantErr(t, err, idempotency.ErrMismatch)
			})
		})
	}
}

// claims are the three writes by which an attempt becomes the owner.
var claims = []struct {
	name      string
	make      func(*testing.T, *fixture, idempotency.Request)
	operation string
	status    string // of a record that was given back
	kind      idempotency.Kind
}{
	{"acquire", func(*testing.T, *fixture, idempotency.Request) {}, "PutItem", "RELEASED", idempotency.KindReleased},
	{"re-acquire", founds[3].make, "UpdateItem", "RELEASED", idempotency.KindReleased},
	{"take over", crashed, "UpdateItem", "UNKNOWN", idempotency.KindUnknown},
	{"take over a mark", founds[2].make, "UpdateItem", "UNKNOWN", idempotency.KindUnknown},
}

// H2, rule 2: the process is frozen, or the context ends, between the acquire's reply and the handler. It does not
// run, and the key is given back.
func TestAcquire_Frozen(t *testing.T) {
	t.Parallel()
	for _, claim := range claims {
		for _, freeze := range []string{"frozen", "cancelled"} {
			t.Run(claim.name+"/"+freeze, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t)
					req := request("k")
					claim.make(t, f, req)
					f.quiet()
					w := f.worker(t, rerun)
					ctx, cancel := context.WithCancel(localtest.Invocation(t, 3*time.Second))
					w.after = nth(claim.operation, 1, func() {
						if freeze == "cancelled" {
							cancel()
						} else {
							w.skew.Store(int64(2800 * time.Millisecond)) // less than the reserve is left
						}
					})
					_, err := w.do(ctx, req, returns("ran"))
					wantErr(t, err, idempotency.ErrNoTime)
					f.wantRuns(t, 0)
					f.wantStatus(t, req, claim.status)
					if kinds := f.kinds(); !slices.Equal(kinds, []idempotency.Kind{claim.kind, idempotency.KindNoTime}) {
						t.Errorf("events %v, want %q and the refusal: no handler has run", kinds, claim.kind)
					}
					wantNext(t, f, req, claim.status)
				})
			})
		}
	}
}

// wantNext says that the next request runs at once, and that one after an unknown hears of the first attempt.
func wantNext(t *testing.T, f *fixture, req idempotency.Request, status string) {
	t.Helper()
	f.quiet()
	policy := func(*settings) {} // under Refuse, what was not run must not be blocked
	if status == "UNKNOWN" {
		_, err := f.worker(t).do(localtest.Invocation(t, 3*time.Second), req, returns("blind"))
		wantErr(t, err, idempotency.ErrOutcomeUnknown)
		policy = rerun
	}
	res, err := f.worker(t, policy).do(localtest.Invocation(t, 3*time.Second), req, func(ctx context.Context) (string, error) {
		if p := idempotency.AttemptFrom(ctx).Prior; (p != nil) != (status == "UNKNOWN") {
			t.Errorf("prior %+v after %s", p, status)
		}
		return "next", nil
	})
	wantAnswer(t, res, err, "next", false)
	f.wantRuns(t, 1)
}

// H10, rule 9: the claim gets no answer to the end. The handler does not run, the key is not blocked by an attempt
// that never was, and an unknown is not erased.
func TestAcquire_NoAnswer(t *testing.T) {
	t.Parallel()
	for _, claim := range claims {
		for _, kind := range []localtest.FaultKind{localtest.ReplyLost, localtest.ServerErrorApplied, localtest.TruncatedReply, localtest.HangApplied} {
			t.Run(claim.name+"/"+kind.String(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t)
					req := request("k")
					claim.make(t, f, req)
					f.quiet()
					f.db.Inject(localtest.Fault{
						Operation: claim.operation, Kind: kind, Times: forever,
						Match: func(c localtest.Call) bool { return c.Update == "" || strings.Contains(c.Update, "attempt_no") },
					})
					f.inject("GetItem", localtest.RequestLost, forever)
					_, err := f.worker(t, rerun).do(localtest.Invocation(t, 15*time.Second), req, returns("ran"))
					wantErr(t, err, idempotency.ErrUnavailable)
					f.wantRuns(t, 0)
					f.db.ClearFaults()
					f.wantStatus(t, req, claim.status)
					wantNext(t, f, req, claim.status)
				})
			})
		}
	}
}

// H10: the orphan. The acquire itself lands after the clean-up; it blocks the key, safely.
func TestAcquire_AppliedAfterTheCleanUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		w, req := f.worker(t), request("k")
		f.db.Inject(localtest.Fault{Operation: "PutItem", Kind: localtest.AppliedLate, Times: forever})
		_, err := w.do(localtest.Invocation(t, 3*time.Second), req, returns("ok"))
		wantErr(t, err, idempotency.ErrUnavailable)
		f.db.ClearFaults()
		f.db.Flush()
		f.wantStatus(t, req, "INPROGRESS")
		_, err = w.do(localtest.Invocation(t, 3*time.Second), req, returns("ok"))
		wantErr(t, err, idempotency.ErrInProgress)
		pass(6 * time.Second)
		_, err = w.do(localtest.Invocation(t, 3*time.Second), req, returns("ok"))
		wantErr(t, err, idempotency.ErrOutcomeUnknown)
		f.wantRuns(t, 0)
	})
}

// H21, rule 18: an item that is held by a transaction, or by a replication, is tried again, at every write.
func TestAcquire_Conflicts(t *testing.T) {
	t.Parallel()
	for _, kind := range []localtest.FaultKind{localtest.Conflict, localtest.ReplicatedConflict} {
		for _, tt := range []struct {
			name string
			h    handler
		}{{"result", returns("ok")}, {"error", fails(errPlain)}, {"unknown", fails(idempotency.Unknown(errPlain))}, {"terminal", fails(idempotency.Terminal(errPlain))}} {
			t.Run(kind.String()+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t)
					f.inject("PutItem", kind, 5)
					f.inject("UpdateItem", kind, 5)
					_, err := f.worker(t).do(localtest.Invocation(t, 30*time.Second), request("k"), tt.h)
					if err != nil && err != errPlain { //nolint:errorlint // untouched
						t.Errorf("the conflict came through: %v", err)
					}
					f.wantRuns(t, 1)
					if it := f.record(t, request("k")); it.text("status") == "INPROGRESS" {
						t.Error("the attempt did not end its record")
					}
					if len(f.kinds()) != 2 {
						t.Errorf("events %v", f.kinds())
					}
				})
			})
		}
		t.Run(kind.String()+"/to the end", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				f.inject("UpdateItem", kind, forever)
				_, err := f.worker(t).do(localtest.Invocation(t, 3*time.Second), request("k"), returns("ok"))
				wantErr(t, err, idempotency.ErrNotRecorded)
			})
		})
	}
}

// H13, C36, rule 11, rule 27: what is not understood is never overwritten, not even when its window is over, and
// nothing runs beside it.
func TestAcquire_NotUnderstood(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change item
	}{
		{"status of a newer release", item{"status": text("PAUSED")}},
		{"no status", item{"status": nil}},
		{"status of another type", item{"status": number(1)}},
		{"newer schema", item{"schema": number(2)}}, // C49
		{"no schema", item{"schema": nil}},
		{"no token", item{"attempt": nil}},
		{"attempt number of another type", item{"attempt_no": text("one")}},
		{"fraction of a number", item{"attempt_no": &types.AttributeValueMemberN{Value: "1.5"}}},
		{"no expiry", item{"expiration": nil}},
		{"fingerprint of a newer version", item{"validation": text("v9:abcdef")}},
		{"fingerprint of another type", item{"validation": number(1)}},
		{"unknown encoding", item{"encoding": text("zstd")}},
		{"no data", item{"data": nil}},
		{"data of another type", item{"data": number(7)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				req := request("k")
				f.worker(t).must(localtest.Invocation(t, time.Second), t, req, returns("first"))
				f.edit(t, req, tt.change)
				before := f.record(t, req)
				f.quiet()
				for _, options := range [][]option{nil, {rerun}, {func(s *settings) { s.Wait = time.Second }}} {
					res, err := f.worker(t, options...).do(localtest.Invocation(t, time.Second), req, returns("twice"))
					wantErr(t, err, idempotency.ErrBadRecord)
					if n := len(f.db.Calls("UpdateItem")); n > 0 {
						t.Errorf("%d writes follow on the refused one", n)
					}
					if errors.Is(err, idempotency.ErrUnavailable) || res.Value != "" {
						t.Errorf("got %q and %v, which asks for a retry", res.Value, err)
					}
					if st, ok := errors.AsType[*idempotency.StateError](err); !ok || st.ID == "" {
						t.Errorf("%v does not name the record", err)
					}
				}
				_, err := idempotency.Lookup[string](localtest.Invocation(t, time.Second), f.worker(t).runner, req)
				wantErr(t, err, idempotency.ErrBadRecord)
				f.wantRuns(t, 0)
				f.wantUntouched(t, req, before)
			})
		})
	}
}

// H13: the same over an item whose window is over, and an item that is no record at all.
func TestAcquire_NotUnderstoodAndExpired(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change item
	}{
		{"status of a newer release", item{"status": text("PAUSED")}},
		{"no status", item{"status": nil}},
		{"no expiry", item{"expiration": nil}},
		{"only a key", item{"status": nil, "attempt": nil, "expiration": nil, "schema": nil, "data": nil, "completed": nil, "validation": nil}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				req := request("k")
				f.worker(t).must(localtest.Invocation(t, time.Second), t, req, returns("first"))
				f.edit(t, req, tt.change)
				before := f.record(t, req)
				f.quiet()
				pass(30 * 24 * time.Hour)
				_, err := f.worker(t, rerun).do(localtest.Invocation(t, time.Second), req, returns("twice"))
				wantErr(t, err, idempotency.ErrBadRecord)
				f.wantRuns(t, 0)
				f.wantUntouched(t, req, before)
			})
		})
	}
}

// H16, rule 21: no two writes that could make an owner share a token, over attempts, rounds and workers.
func TestAcquire_FreshTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		tokens := map[string]bool{}
		w, req := f.worker(t, rerun), request("k")
		w.sent = func(in any) {
			var token string
			switch in := in.(type) {
			case *dynamodb.PutItemInput:
				token = item(in.Item).text("attempt")
			case *dynamodb.UpdateItemInput:
				if !strings.Contains(*in.UpdateExpression, "attempt_no") {
					return
				}
				token = item(in.ExpressionAttributeValues).text(":mine")
			default:
				return
			}
			if len(token) < 26 || tokens[token] {
				t.Errorf("token %q is short or was used before", token)
			}
			tokens[token] = true
		}
		ctx := localtest.Invocation(t, time.Hour)
		owners := map[string]bool{}
		own := func(end error) handler {
			return func(ctx context.Context) (string, error) {
				token := idempotency.AttemptFrom(ctx).Token
				if owners[token] || !tokens[token] {
					t.Errorf("token %q owned before", token)
				}
				owners[token] = true
				return "", end
			}
		}
		_, _ = w.do(ctx, req, own(errPlain))                      // acquire
		_, _ = w.do(ctx, req, own(idempotency.Unknown(errPlain))) // acquire, re-acquire
		_, _ = w.do(ctx, req, own(nil))                           // acquire, take over
		_, _ = w.do(ctx, req, own(nil))                           // acquire, replayed
		_, _ = w.do(ctx, request("l"), own(nil))
		// One context and one request id, as in a retry of an asynchronous invocation; a waiter's rounds.
		end := f.worker(t).hold(localtest.Invocation(t, time.Hour), t, request("m"))
		waiting := request("m")
		waiting.Wait = time.Minute
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = w.do(ctx, waiting, own(nil))
		}()
		pass(time.Second)
		_, _ = end(fails(errPlain))
		<-done
		if len(owners) != 5 || len(tokens) != 9 {
			t.Errorf("%d owners, %d tokens; want 5, 9", len(owners), len(tokens))
		}
	})
}
