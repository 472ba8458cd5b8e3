package idempotency_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// Lookup tells what became of a key in every state, by one read, and changes nothing.
func TestLookup_EveryState(t *testing.T) {
	t.Parallel()
	want := map[string]error{
		"in progress": idempotency.ErrInProgress, "crashed": idempotency.ErrOutcomeUnknown, "unknown": idempotency.ErrOutcomeUnknown,
		"released": idempotency.ErrNotFound, "completed": nil,
	}
	for _, found := range founds {
		t.Run(found.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				req := request("k")
				req.Ref = "order 17"
				found.make(t, f, req)
				before := f.record(t, req)
				f.quiet()
				for name, input := range map[string]any{"with input": req.Input, "without": nil} {
					asked := req
					asked.Input, asked.Ref = input, ""
					res, err := idempotency.Lookup[string](localtest.Invocation(t, time.Second), f.worker(t).runner, asked)
					f.wantCalls(t, "GetItem")
					f.quiet()
					switch found.name {
					case "completed":
						wantAnswer(t, res, err, "first", true)
						if res.CompletedAt.UnixMilli() != before.number("completed") {
							t.Errorf("%s: completed at %v", name, res.CompletedAt)
						}
					case "failed":
						if failure, ok := errors.AsType[*idempotency.Failure](err); !ok || failure.Message != errPlain.Error() || !res.Replayed {
							t.Errorf("%s: got %+v, %v", name, res, err)
						}
					default:
						wantErr(t, err, want[found.name])
						if st, ok := errors.AsType[*idempotency.StateError](err); !ok || st.Attempt != 1 || st.Ref != "order 17" || (st.RetryAfter != 0) != (found.name == "in progress") {
							t.Errorf("%s: state %+v", name, st)
						}
					}
				}
				f.wantUntouched(t, req, before)
				f.wantRuns(t, 0)

				_, err := idempotency.Lookup[string](localtest.Invocation(t, time.Second), f.worker(t).runner, other(req))
				wantErr(t, err, idempotency.ErrMismatch)
			})
		})
	}
}

// H19, rule 24: expiry comes before the fingerprint, and a live lease before expiry.
func TestLookup_Expired(t *testing.T) {
	t.Parallel()
	for _, found := range founds {
		t.Run(found.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				req := request("k")
				found.make(t, f, req)
				f.edit(t, req, item{"expiration": number(1)})
				want := idempotency.ErrNotFound
				if found.name == "in progress" {
					want = idempotency.ErrInProgress
				}
				_, err := idempotency.Lookup[string](localtest.Invocation(t, time.Second), f.worker(t).runner, req)
				wantErr(t, err, want)
				if found.name != "in progress" {
					_, err = idempotency.Lookup[string](localtest.Invocation(t, time.Second), f.worker(t).runner, other(req))
					wantErr(t, err, want)
				}
			})
		})
	}
}

func TestLookup_NoRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		_, err := idempotency.Lookup[string](localtest.Invocation(t, time.Second), f.worker(t).runner, request("k"))
		wantErr(t, err, idempotency.ErrNotFound)
		if f.record(t, request("k")) != nil {
			t.Error("looking made a record")
		}
	})
}

func TestLookup_Unavailable(t *testing.T) {
	t.Parallel()
	for _, kind := range []localtest.FaultKind{localtest.AccessDenied, localtest.Throttled, localtest.Hang} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				f.inject("GetItem", kind, forever)
				_, err := idempotency.Lookup[string](localtest.Invocation(t, 3*time.Second), f.worker(t).runner, request("k"))
				wantErr(t, err, idempotency.ErrUnavailable)
				f.wantKinds(t, idempotency.KindStoreFailure)
			})
		})
	}
}

// Every call has a limit, with much time left and without a deadline too.
func TestLookup_NoCallHangsForever(t *testing.T) {
	t.Parallel()
	for name, deadline := range map[string]time.Duration{"no deadline": 0, "long deadline": 15 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, ctx := newFixture(t), t.Context()
				if deadline != 0 {
					ctx = localtest.Invocation(t, deadline)
				}
				f.inject("GetItem", localtest.Hang, 1)
				start := time.Now()
				_, err := idempotency.Lookup[string](ctx, f.worker(t).runner, request("k"))
				wantErr(t, err, idempotency.ErrUnavailable)
				if took := time.Since(start); took > 11*time.Second {
					t.Errorf("looking took %s", took)
				}
				f.inject("PutItem", localtest.Hang, 1)
				start = time.Now()
				res, err := f.worker(t).do(ctx, request("k"), returns("ok"))
				wantAnswer(t, res, err, "ok", false)
				if took := time.Since(start); took > 11*time.Second {
					t.Errorf("acquiring took %s", took)
				}
			})
		})
	}
}
