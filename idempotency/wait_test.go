package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// waitFor is a request that waits.
func waitFor(d time.Duration) idempotency.Request {
	req := request("k")
	req.Wait = d
	return req
}

// NoWait is no wait, where the Runner's other requests do.
func TestWait_NoWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		w := f.worker(t, func(s *settings) { s.Wait = time.Minute })
		end := w.hold(localtest.Invocation(t, time.Hour), t, request("k"))
		began := time.Now()
		_, err := w.do(localtest.Invocation(t, time.Hour), waitFor(idempotency.NoWait), returns("second"))
		wantErr(t, err, idempotency.ErrInProgress)
		if waited := time.Since(began); waited != 0 {
			t.Errorf("waited for %v", waited)
		}
		_, _ = end(returns("first"))
	})
}

// C14, C24, rule 26: what a waiter gets of how the first attempt ends.
func TestWait_FirstEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		h      handler
		policy option
		value  string
		err    error
		reran  bool
		kinds  []idempotency.Kind
	}{
		{
			"result", returns("first"), nil, "first", nil, false,
			[]idempotency.Kind{idempotency.KindWaited, idempotency.KindReplayed},
		},
		{
			"failure", fails(idempotency.Terminal(errPlain)), nil, "", &idempotency.Failure{}, false,
			[]idempotency.Kind{idempotency.KindWaited, idempotency.KindReplayed},
		},
		{
			"release", fails(errPlain), nil, "second", nil, true,
			[]idempotency.Kind{idempotency.KindWaited, idempotency.KindAcquired, idempotency.KindCompleted},
		},
		{
			"unknown refused", fails(idempotency.Unknown(errPlain)), nil, "", idempotency.ErrOutcomeUnknown, false,
			[]idempotency.Kind{idempotency.KindWaited, idempotency.KindUnknown},
		},
		{
			"unknown rerun", fails(idempotency.Unknown(errPlain)), rerun, "second", nil, true,
			[]idempotency.Kind{idempotency.KindWaited, idempotency.KindTakenOver, idempotency.KindCompleted},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				end := f.worker(t).hold(localtest.Invocation(t, time.Minute), t, request("k"))
				var res idempotency.Result[string]
				var err error
				var wg sync.WaitGroup
				var mine []idempotency.Kind
				options := []option{func(s *settings) {
					s.Observe = func(_ context.Context, e idempotency.Event) { mine = append(mine, e.Kind) }
				}}
				if tt.policy != nil {
					options = append(options, tt.policy)
				}
				w := f.worker(t, options...)
				wg.Go(func() {
					res, err = w.do(localtest.Invocation(t, 20*time.Second), waitFor(10*time.Second), returns("second"))
				})
				pass(3 * time.Second)
				ended := time.Now()
				_, _ = end(tt.h)
				wg.Wait()
				if late := time.Since(ended); late > 1100*time.Millisecond {
					t.Errorf("the waiter noticed %s later, polls are at most a second apart", late)
				}
				var failure *idempotency.Failure
				switch {
				case errors.As(tt.err, &failure):
					if _, ok := errors.AsType[*idempotency.Failure](err); !ok {
						t.Errorf("error %v, want the failure", err)
					}
				case tt.err != nil:
					wantErr(t, err, tt.err)
				default:
					wantAnswer(t, res, err, tt.value, !tt.reran)
				}
				f.wantRuns(t, map[bool]int{false: 1, true: 2}[tt.reran])
				if !slices.Equal(mine, tt.kinds) {
					t.Errorf("events %v, want %v", mine, tt.kinds)
				}
			})
		})
	}
}

// C13, C14, C50: a wait is bounded: by its length, by the context, by cancellation; and it leaves no trace.
func TestWait_GivesUp(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		wait      time.Duration
		timeout   time.Duration
		cancel    time.Duration
		min, max  time.Duration
		cancelled bool
	}{
		{"its length", 2 * time.Second, 20 * time.Second, 0, 2 * time.Second, 2 * time.Second, false},
		{"the context", time.Hour, 3 * time.Second, 0, 2500 * time.Millisecond, 3 * time.Second, false},
		{"cancelled", time.Hour, 20 * time.Second, 1500 * time.Millisecond, 1500 * time.Millisecond, 1500 * time.Millisecond, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				f.worker(t).hold(localtest.Invocation(t, time.Hour), t, request("k"))
				before := f.record(t, request("k"))
				f.quiet()
				ctx, cancel := context.WithCancelCause(localtest.Invocation(t, tt.timeout))
				if tt.cancel != 0 {
					time.AfterFunc(tt.cancel, func() { cancel(errPlain) })
				}
				start := time.Now()
				_, err := f.worker(t).do(ctx, waitFor(tt.wait), returns("second"))
				took := time.Since(start)
				wantErr(t, err, idempotency.ErrInProgress)
				if tt.cancelled {
					wantErr(t, err, errPlain)
				}
				if took < tt.min || took > tt.max {
					t.Errorf("it took %s, want %s to %s", took, tt.min, tt.max)
				}
				f.wantUntouched(t, request("k"), before)
				f.wantRuns(t, 0)
				f.wantKinds(t, idempotency.KindWaited, idempotency.KindInProgress)
				if n := len(f.db.Calls("PutItem")) + len(f.db.Calls("UpdateItem")); n != 1 {
					t.Errorf("%d writes, want the first claim only", n)
				}
				cancel(nil)
			})
		})
	}
}

// C14, C20: polls back off with jitter: the mean pause grows to half a second.
func TestWait_Backoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.worker(t).hold(localtest.Invocation(t, time.Hour), t, request("k"))
		f.quiet()
		w := f.worker(t)
		var polls []time.Time
		w.before = func(operation string) error {
			if operation == "GetItem" {
				polls = append(polls, time.Now())
			}
			return nil
		}
		_, err := w.do(localtest.Invocation(t, time.Hour), waitFor(2*time.Minute), returns("second"))
		wantErr(t, err, idempotency.ErrInProgress)
		// 120 s at half a second on average, and some more while the pause grows.
		if n := len(polls); n < 180 || n > 320 {
			t.Errorf("%d polls in 2 minutes, want about 245", n)
		}
		var pauses []time.Duration
		for i := range polls[1:] {
			pauses = append(pauses, polls[i+1].Sub(polls[i]))
		}
		slices.Sort(pauses)
		if longest := pauses[len(pauses)-1]; longest > time.Second+time.Millisecond {
			t.Errorf("a pause of %s, want at most a second", longest)
		}
		if shortest := pauses[0]; shortest > 100*time.Millisecond {
			t.Errorf("the shortest of %d pauses is %s: no full jitter", len(pauses), shortest)
		}
	})
}

// H23, rule 26: what a poll finds may be another record than the one that was waited for.
func TestWait_RecordChanges(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func(*testing.T, *fixture, idempotency.Request)
		value  string
		err    error
	}{
		{"gone", func(t *testing.T, f *fixture, req idempotency.Request) {
			t.Helper()
			f.remove(t, req)
		}, "second", nil},
		{"expired", func(t *testing.T, f *fixture, req idempotency.Request) {
			t.Helper()
			f.edit(t, req, item{"status": text("COMPLETED"), "expiration": number(1), "completed": number(1), "data": text(`"stale"`), "validation": text("v1:other")})
		}, "second", nil},
		// C24, H6, rule 4: the key is bound to another request now.
		{"another request, finished", func(t *testing.T, f *fixture, req idempotency.Request) {
			t.Helper()
			f.remove(t, req)
			f.worker(t).must(localtest.Invocation(t, time.Second), t, other(req), returns("not yours"))
		}, "", idempotency.ErrMismatch},
		{"another request, running", func(t *testing.T, f *fixture, req idempotency.Request) {
			t.Helper()
			f.remove(t, req)
			f.worker(t).hold(localtest.Invocation(t, time.Hour), t, other(req))
		}, "", idempotency.ErrMismatch},
		{"not understood", func(t *testing.T, f *fixture, req idempotency.Request) {
			t.Helper()
			f.edit(t, req, item{"schema": number(2)})
		}, "", idempotency.ErrBadRecord},
		{"fingerprint not understood", func(t *testing.T, f *fixture, req idempotency.Request) {
			t.Helper()
			f.edit(t, req, item{"validation": text("v9:x")})
		}, "", idempotency.ErrBadRecord},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				f.worker(t).hold(localtest.Invocation(t, time.Hour), t, request("k"))
				var res idempotency.Result[string]
				var err error
				var wg sync.WaitGroup
				w := f.worker(t)
				start := time.Now()
				wg.Go(func() {
					res, err = w.do(localtest.Invocation(t, time.Minute), waitFor(20*time.Second), returns("second"))
				})
				pass(2 * time.Second)
				tt.change(t, f, request("k"))
				wg.Wait()
				if tt.err != nil {
					wantErr(t, err, tt.err)
					if errors.Is(err, idempotency.ErrUnavailable) {
						t.Errorf("%v asks for a retry", err)
					}
				} else {
					wantAnswer(t, res, err, tt.value, false)
				}
				if took := time.Since(start); took > 4*time.Second {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// C11, C14: the first attempt crashes while others wait: exactly one of them takes over, the rest get its answer.
func TestWait_FirstCrashes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.worker(t).crash(localtest.Invocation(t, time.Second), request("k"))
		f.quiet()
		var wg sync.WaitGroup
		for range 8 {
			w := f.worker(t, rerun)
			wg.Go(func() {
				res, err := w.do(localtest.Invocation(t, time.Minute), waitFor(30*time.Second), func(ctx context.Context) (string, error) {
					pass(2 * time.Second)
					if a := idempotency.AttemptFrom(ctx); a.Number != 2 || a.Prior == nil {
						t.Errorf("attempt %+v", a)
					}
					return "second", nil
				})
				if err != nil || res.Value != "second" {
					t.Errorf("got %q, %v", res.Value, err)
				}
			})
		}
		wg.Wait()
		f.wantRuns(t, 1)
	})
}

// Faults of polls: one without an answer changes nothing, one that is refused ends the wait.
func TestWait_PollFails(t *testing.T) {
	t.Parallel()
	for _, kind := range append(slices.Clone(faultKinds), localtest.AccessDenied) {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				end := f.worker(t).hold(localtest.Invocation(t, time.Hour), t, request("k"))
				f.inject("GetItem", kind, 3)
				var wg sync.WaitGroup
				w := f.worker(t)
				wg.Go(func() {
					res, err := w.do(localtest.Invocation(t, 2*time.Minute), waitFor(time.Minute), returns("second"))
					if kind == localtest.AccessDenied {
						wantErr(t, err, idempotency.ErrUnavailable)
					} else {
						wantAnswer(t, res, err, "first", true)
					}
				})
				pass(20 * time.Second)
				_, _ = end(returns("first"))
				wg.Wait()
				f.wantRuns(t, 1)
			})
		})
	}
}

// Rule 26: a record that flaps, always released when it is looked at and always taken when it is claimed, does not
// hold a request for ever.
func TestWait_RoundsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		w, req := f.worker(t), waitFor(time.Hour)
		f.worker(t).must(localtest.Invocation(t, time.Second), t, req, returns("first"))
		f.edit(t, req, item{"status": text("RELEASED"), "in_progress_expiration": number(1)})
		f.quiet()
		flaps := 0
		w.before = func(operation string) error {
			if operation == "UpdateItem" {
				flaps++
				f.edit(t, req, item{"attempt": text(fmt.Sprint("flap ", flaps))})
			}
			return nil
		}
		_, err := w.do(localtest.Invocation(t, 3*time.Hour), req, returns("second"))
		wantErr(t, err, idempotency.ErrInProgress)
		f.wantRuns(t, 0)
		if flaps < 3 || flaps > 20 {
			t.Errorf("%d rounds", flaps)
		}
	})
}
