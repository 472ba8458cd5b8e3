package idempotency_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// A wrapper can tell a failure that is recorded from one that comes to another end, whoever has recorded it.
func TestDo_ClassOfAReplayedFailure(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]func(*idempotency.Failure) error{"as it is": nil, "rebuilt": func(*idempotency.Failure) error { return errPlain }} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req := newFixture(t), request("k")
				w := f.worker(t, func(s *settings) { s.Failure = failure })
				for i, want := range []bool{false, true, true} {
					req.ReadFirst = i == 2
					res, err := w.do(localtest.Invocation(t, time.Second), req, fails(idempotency.Terminal(errPlain)))
					if err == nil || res.Class != idempotency.Recorded || res.Replayed != want || res.Reruns {
						t.Errorf("request %d: %+v, %v; want a recorded failure", i, res, err)
					}
				}
				looked, err := idempotency.Lookup[string](localtest.Invocation(t, time.Second), w.runner, req)
				if err == nil || looked.Class != idempotency.Recorded || !looked.Replayed {
					t.Errorf("the look-up: %+v, %v", looked, err)
				}
			})
		})
	}
}

// I4, C03: so is the failure of the winner that a late attempt's caller gets.
func TestDo_ClassOfTheWinnersFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req := newFixture(t), request("k")
		late := f.worker(t).hold(localtest.Invocation(t, 3*time.Second), t, req)
		pass(time.Minute)
		_, _ = f.worker(t, rerun).do(localtest.Invocation(t, time.Second), req, fails(idempotency.Terminal(errPlain)))
		res, err := late(returns("late"))
		wantErr(t, err, idempotency.ErrLeaseLost)
		if res.Class != idempotency.Recorded || !res.Replayed {
			t.Errorf("got %+v, want the winner's recorded failure", res)
		}
	})
}

// A result has no class, recorded now or before.
func TestDo_ClassOfAReplayedResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		for range 2 {
			if res := f.worker(t).must(localtest.Invocation(t, time.Second), t, request("k"), returns("ok")); res.Class != 0 {
				t.Errorf("class %v", res.Class)
			}
		}
	})
}
