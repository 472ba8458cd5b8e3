package idempotency

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The formulas of the package comment, H2 and rule 3: the handler ends before the caller's context and before
// the lease, by the reserve; the lease covers the caller's deadline by the clock margin. Times are from now.
func TestPlan_Formulas(t *testing.T) {
	t.Parallel()
	const none = -1
	for _, row := range []struct {
		name           string
		lease, reserve time.Duration // of the Config
		left           time.Duration // to the context's deadline
		wantLease, end time.Duration
		wantReserve    time.Duration
		answer         time.Duration
	}{
		{"Lambda's default of 3 s", 0, 0, 3 * time.Second, 5 * time.Second, 3 * time.Second, 300 * time.Millisecond, 75 * time.Millisecond},
		{"15 minutes", 0, 0, 15 * time.Minute, 15*time.Minute + 2*time.Second, 15 * time.Minute, time.Second, 100 * time.Millisecond},
		{"a tenth", 0, 0, 9 * time.Second, 11 * time.Second, 9 * time.Second, 900 * time.Millisecond, 100 * time.Millisecond},
		{"at most 1 s", 0, 0, 11 * time.Second, 13 * time.Second, 11 * time.Second, time.Second, 100 * time.Millisecond},
		{"at least 50 ms", 0, 0, 400 * time.Millisecond, 2400 * time.Millisecond, 400 * time.Millisecond, 50 * time.Millisecond, 12500 * time.Microsecond},
		{"its own reserve", 0, 2 * time.Second, 30 * time.Second, 32 * time.Second, 30 * time.Second, 2 * time.Second, 100 * time.Millisecond},
		{"its own, below 50 ms", 0, time.Millisecond, time.Second, 3 * time.Second, time.Second, time.Millisecond, 250 * time.Microsecond},
		// C07: no deadline, and yet an end, for the lease and for the handler.
		{"no deadline", 0, 0, none, time.Minute, 58 * time.Second, time.Second, 0},
		{"no deadline, its own lease", 10 * time.Second, 0, none, 10 * time.Second, 8 * time.Second, 800 * time.Millisecond, 0},
		{"no deadline, its own reserve", 0, 5 * time.Second, none, time.Minute, 58 * time.Second, 5 * time.Second, 0},
		// C08: a lease beyond the deadline stays, and the deadline still counts.
		{"a longer lease", time.Minute, 0, 10 * time.Second, time.Minute, 10 * time.Second, time.Second, 100 * time.Millisecond},
		{"the shortest lease", 12 * time.Second, 0, 10 * time.Second, 12 * time.Second, 10 * time.Second, time.Second, 100 * time.Millisecond},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := unitRunner(t, Config{Lease: row.lease, Reserve: row.reserve})
				ctx := t.Context()
				if row.left != none {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, row.left)
					defer cancel()
				}
				d, err := r.plan(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if got := d.leaseEnd.Sub(d.start); got != row.wantLease {
					t.Errorf("the lease is %s, want %s", got, row.wantLease)
				}
				if got := d.hard.Sub(d.start); got != row.end-row.answer {
					t.Errorf("the hard deadline is +%s, want +%s", got, row.end-row.answer)
				}
				if got := row.end - d.handler.Sub(d.start); d.reserve != row.wantReserve || got != row.wantReserve {
					t.Errorf("the reserve is %s, the handler ends %s early, want %s", d.reserve, got, row.wantReserve)
				}
				if !d.start.Equal(time.Now()) {
					t.Errorf("the start is %s", d.start)
				}
				// Rule 3, whatever the formula: a handler is never alive at its lease's end by another's clock.
				if d.leaseEnd.Sub(d.handler) < clockMargin+d.reserve {
					t.Errorf("the handler ends only %s before its lease", d.leaseEnd.Sub(d.handler))
				}
			})
		})
	}
}

// C06: zero or negative time left starts nothing, and says so in a way that the caller can tell.
func TestPlan_TooLittleTime(t *testing.T) {
	t.Parallel()
	for _, left := range []time.Duration{-time.Hour, -time.Second, -1, 0, 1, 49 * time.Millisecond, 50 * time.Millisecond} {
		for _, lease := range []time.Duration{0, time.Minute} {
			synctest.Test(t, func(t *testing.T) {
				r := unitRunner(t, Config{Lease: lease})
				ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(left))
				defer cancel()
				_, err := r.plan(ctx)
				if !errors.Is(err, ErrNoTime) || !strings.Contains(err.Error(), "50ms") {
					t.Errorf("%s left, lease %s: %v", left, lease, err)
				}
				if left < 0 && !strings.Contains(err.Error(), "0s left") {
					t.Errorf("%s left: %v", left, err)
				}
			})
		}
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 51*time.Millisecond)
		defer cancel()
		if _, err := unitRunner(t, Config{}).plan(ctx); err != nil {
			t.Errorf("51 ms left: %v", err)
		}
	})
}

// Rule 3: a lease that the handler could outlive is refused, not shortened in silence.
func TestPlan_LeaseShorterThanTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := unitRunner(t, Config{Lease: 12 * time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second+time.Nanosecond)
		defer cancel()
		_, err := r.plan(ctx)
		wantField(t, err, "Config.Lease", "12s", "must cover the context's deadline")
	})
}

// A deadline in the far future is bounded, and overflows nothing.
func TestPlan_FarDeadline(t *testing.T) {
	t.Parallel()
	r := unitRunner(t, Config{})
	for _, deadline := range []time.Time{
		time.Date(2400, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC),
		time.Unix(1<<55, 0),
	} {
		ctx, cancel := context.WithDeadline(t.Context(), deadline)
		defer cancel()
		d, err := r.plan(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if lease := d.leaseEnd.Sub(d.start); lease != 24*time.Hour+clockMargin {
			t.Errorf("deadline %s: the lease is %s", deadline, lease)
		}
		c := claim{leaseEnd: d.leaseEnd, retention: maxRetention}
		if rec := (&record{expires: upToSecond(c.leaseEnd.Add(c.retention))}); rec.expired(d.start) || rec.expired(d.leaseEnd) {
			t.Errorf("deadline %s: the window is over from the start", deadline)
		}
	}
}

// The lease is by the Runner's clock, which may be ahead or behind; contexts run by the process's.
func TestPlan_RunnersClock(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{-time.Hour, 0, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			r := unitRunner(t, Config{Now: func() time.Time { return time.Now().Add(ahead) }})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			d, err := r.plan(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if got := time.Until(d.leaseEnd); got != 12*time.Second+ahead {
				t.Errorf("%s ahead: the lease ends in %s", ahead, got)
			}
			handling, cancel := r.handling(ctx, d)
			defer cancel()
			for name, bounded := range map[string]context.Context{"acquiring": r.acquiring(ctx, d), "handling": handling} {
				if deadline, _ := bounded.Deadline(); time.Until(deadline) != 9*time.Second {
					t.Errorf("%s ahead: %s ends in %s", ahead, name, time.Until(deadline))
				}
			}
			ending := r.ending(ctx, d)
			if deadline, _ := ending.Deadline(); time.Until(deadline) != 9900*time.Millisecond {
				t.Errorf("%s ahead: ending ends in %s", ahead, time.Until(deadline))
			}
		})
	}
}

// The clock's monotonic part stands still while a sandbox is frozen; no time that is computed has one.
func TestWallNow_HasNoMonotonicPart(t *testing.T) {
	t.Parallel()
	r := unitRunner(t, Config{})
	d, err := r.plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []time.Time{r.wallNow(), d.start, d.handler, d.hard, d.leaseEnd} {
		if at != at.Round(0) {
			t.Errorf("%s has a monotonic part", at)
		}
	}
}

// The handler's context ends with a cause that says why, and is the end of a deadline.
func TestHandling_CauseSaysWhy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := unitRunner(t, Config{})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		d, err := r.plan(ctx)
		if err != nil {
			t.Fatal(err)
		}
		handling, cancel2 := r.handling(ctx, d)
		defer cancel2()
		<-handling.Done()
		if ctx.Err() != nil || time.Since(d.start) != 9*time.Second {
			t.Errorf("it ended after %s; the caller's: %v", time.Since(d.start), ctx.Err())
		}
		cause := context.Cause(handling)
		if !errors.Is(handling.Err(), context.DeadlineExceeded) || !errors.Is(cause, context.DeadlineExceeded) || !strings.Contains(cause.Error(), "1s are kept") {
			t.Errorf("error %v, cause %v", handling.Err(), cause)
		}
		// A handler that gives this cause back has ended without telling (I5).
		if class := (&Config{}).classify(cause); class != Ambiguous {
			t.Errorf("its class is %d", class)
		}
	})
}

// C16: the context of an ending write outlives the caller's, has its values, and is bounded all the same.
func TestEnding_IsDetachedAndBounded(t *testing.T) {
	t.Parallel()
	type valueKey struct{}
	synctest.Test(t, func(t *testing.T) {
		r := unitRunner(t, Config{})
		parent, cancelParent := context.WithTimeout(context.WithValue(t.Context(), valueKey{}, "trace"), 10*time.Second)
		defer cancelParent()
		d, err := r.plan(parent)
		if err != nil {
			t.Fatal(err)
		}
		cancelParent()
		ending := r.ending(parent, d)
		if ending.Err() != nil || ending.Value(valueKey{}) != "trace" {
			t.Errorf("error %v, value %v", ending.Err(), ending.Value(valueKey{}))
		}
		if deadline, ok := ending.Deadline(); !ok || !deadline.Equal(d.hard) {
			t.Errorf("deadline is %s, want %s", deadline, d.hard)
		}
		// A handler that has overrun still has its reserve.
		<-time.After(time.Minute) // of the virtual clock
		late := r.ending(parent, d)
		if deadline, ok := late.Deadline(); !ok || time.Until(deadline) != d.reserve {
			t.Errorf("after an overrun the deadline is in %s, want %s", time.Until(deadline), d.reserve)
		}
	})
}
