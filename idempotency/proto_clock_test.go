package idempotency_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// skews are those that the margin of 2 s allows.
var skews = []time.Duration{-1900 * time.Millisecond, 1900 * time.Millisecond}

// I6: clocks that differ by less than the margin: while the first handler may run, nobody else does.
func TestClock_LeaseWithinTheMargin(t *testing.T) {
	t.Parallel()
	for _, first := range append(skews, 0) {
		for _, second := range append(skews, 0) {
			if difference := (first - second).Abs(); difference >= 2*time.Second {
				continue
			}
			t.Run(fmt.Sprintf("%s and %s", first, second), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t)
					a, b := f.worker(t, rerun), f.worker(t, rerun)
					a.skew.Store(int64(first))
					b.skew.Store(int64(second))
					running, dead := make(chan struct{}), make(chan struct{})
					ctx := localtest.Invocation(t, 3*time.Second)
					var process sync.WaitGroup
					defer process.Wait()
					process.Go(func() {
						a.abandon(ctx, request("k"), func(context.Context) (string, error) {
							close(running)
							<-ctx.Done() // Lambda's own time-out, not the handler's
							close(dead)
							a.die()
							return "", nil
						})
					})
					<-running
					for {
						res, err := b.do(localtest.Invocation(t, time.Second), request("k"), func(ctx context.Context) (string, error) {
							select {
							case <-dead:
							default:
								t.Error("two handlers at once")
							}
							if idempotency.AttemptFrom(ctx).Prior == nil {
								t.Error("no prior")
							}
							return "second", nil
						})
						if err == nil {
							wantAnswer(t, res, err, "second", false)
							break
						}
						wantErr(t, err, idempotency.ErrInProgress)
						pass(50 * time.Millisecond)
					}
					f.wantRuns(t, 2)
				})
			})
		}
	}
}

// H12, rule 11: a clock that is ahead by less than the margin ends no window before its time, by none of the
// ways in which expiry is looked at.
func TestClock_RetentionWithinTheMargin(t *testing.T) {
	t.Parallel()
	for _, found := range founds[1:] {
		t.Run(found.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				req := request("k")
				found.make(t, f, req)
				end := time.Unix(f.record(t, req).number("expiration"), 0)
				pass(time.Until(end) - time.Millisecond)
				f.quiet()
				ahead := f.worker(t, rerun)
				ahead.skew.Store(int64(1999 * time.Millisecond))
				_, err := ahead.do(localtest.Invocation(t, time.Second), other(req), returns("blind"))
				wantErr(t, err, idempotency.ErrMismatch)
				_, err = idempotency.Lookup[string](localtest.Invocation(t, time.Second), ahead.runner, other(req))
				wantErr(t, err, idempotency.ErrMismatch)
				f.wantRuns(t, 0)
			})
		})
	}
}

// H12: under Refuse no lease clock, however wrong, makes an unknown run again, or changes the record.
func TestClock_RefuseWithAnyClock(t *testing.T) {
	t.Parallel()
	for _, skew := range []time.Duration{-time.Hour, time.Hour} {
		t.Run(skew.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				req := request("k")
				end := f.worker(t).hold(localtest.Invocation(t, 15*time.Minute), t, req)
				before := f.record(t, req)
				wrong := f.worker(t)
				wrong.skew.Store(int64(skew))
				_, err := wrong.do(localtest.Invocation(t, time.Second), req, returns("blind"))
				want := idempotency.ErrInProgress
				if skew > 0 {
					want = idempotency.ErrOutcomeUnknown
				}
				wantErr(t, err, want)
				f.wantUntouched(t, req, before)
				res, err := end(returns("first"))
				wantAnswer(t, res, err, "first", false)
			})
		})
	}
}

// Beyond the margin handlers may overlap under Rerun; what is recorded stays one outcome (I3, I4).
func TestClock_BeyondTheMargin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		req := request("k")
		end := f.worker(t, rerun).hold(localtest.Invocation(t, 15*time.Minute), t, req)
		wrong := f.worker(t, rerun)
		wrong.skew.Store(int64(time.Hour))
		res, err := wrong.do(localtest.Invocation(t, time.Second), req, returns("second"))
		wantAnswer(t, res, err, "second", false)
		res, err = end(returns("first"))
		wantErr(t, err, idempotency.ErrLeaseLost)
		if res.Value != "second" {
			t.Errorf("the late one's caller got %q", res.Value)
		}
		res, err = f.worker(t).do(localtest.Invocation(t, time.Second), req, returns("third"))
		wantAnswer(t, res, err, "second", true)
	})
}

// The context's timer runs by the process's clock: a Runner whose clock is off gives its handler the same time.
func TestClock_HandlersTime(t *testing.T) {
	t.Parallel()
	for _, skew := range append(skews, time.Hour, -time.Hour) {
		t.Run(skew.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				w := f.worker(t)
				w.skew.Store(int64(skew))
				ctx := localtest.Invocation(t, 5*time.Second)
				w.must(ctx, t, request("k"), func(handling context.Context) (string, error) {
					outer, _ := ctx.Deadline()
					inner, _ := handling.Deadline()
					if kept := outer.Sub(inner); kept != 500*time.Millisecond {
						t.Errorf("%s are kept back of 5 s, want a tenth", kept)
					}
					return "ok", nil
				})
			})
		})
	}
}
