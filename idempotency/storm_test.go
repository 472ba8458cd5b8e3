package idempotency_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// C20, C19: a thousand duplicates at once, in real time: one run, one call each, and nobody gets anything but the
// answer or "in progress".
func TestStorm_OneKey(t *testing.T) {
	t.Parallel()
	const n = 1000
	f := newFixture(t)
	w, req := f.worker(t), request("k")
	var answered, refused atomic.Int32
	var storm sync.WaitGroup
	for range n {
		storm.Go(func() {
			res, err := w.do(localtest.Invocation(t, time.Minute), req, func(context.Context) (string, error) {
				for refused.Load() == 0 { // until a twin has met it
					<-time.After(time.Millisecond)
				}
				return "ok", nil
			})
			switch {
			case err == nil && res.Value == "ok":
				answered.Add(1)
			default:
				wantErr(t, err, idempotency.ErrInProgress)
				refused.Add(1)
			}
		})
	}
	storm.Wait()
	f.wantRuns(t, 1)
	if answered.Load()+refused.Load() != n {
		t.Errorf("%d answered, %d refused of %d", answered.Load(), refused.Load(), n)
	}
	if calls := len(f.db.Calls("")); calls != n+1 {
		t.Errorf("%d calls for %d requests and one completion", calls, n)
	}
	res, err := w.do(localtest.Invocation(t, time.Minute), req, returns("again"))
	wantAnswer(t, res, err, "ok", true)
}

// C14, C20: all of them wait, and all get the answer. They poll by reads only, and the backoff bounds how many.
func TestStorm_Waiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		const n, runs = 300, 5 * time.Second
		w := f.worker(t, func(s *settings) { s.Wait = 20 * time.Second })
		var storm sync.WaitGroup
		for range n {
			storm.Go(func() {
				res, err := w.do(localtest.Invocation(t, 30*time.Second), request("k"), func(context.Context) (string, error) {
					pass(runs)
					return "ok", nil
				})
				if err != nil || res.Value != "ok" {
					t.Errorf("got %q, %v", res.Value, err)
				}
			})
		}
		storm.Wait()
		f.wantRuns(t, 1)
		if writes := len(f.db.Calls("PutItem")) + len(f.db.Calls("UpdateItem")); writes != n+1 {
			t.Errorf("%d writes for %d requests and one completion", writes, n)
		}
		// 5 s: about 5 while the pause grows, then 2 a second.
		if polls := len(f.db.Calls("GetItem")); polls < 6*n || polls > 20*n {
			t.Errorf("%d polls a waiter", polls/n)
		}
	})
}

// C14: the first attempt releases the key under a crowd of waiters. One at a time runs, and the crowd is no herd:
// most of it is answered without a write.
func TestStorm_Released(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		const n, failing = 100, 3
		w := f.worker(t, func(s *settings) { s.Wait = 50 * time.Second })
		var storm sync.WaitGroup
		var running, failed atomic.Int32
		for range n {
			storm.Go(func() {
				_, _ = w.do(localtest.Invocation(t, time.Minute), request("k"), func(context.Context) (string, error) {
					if running.Add(1) > 1 {
						t.Error("two handlers at once")
					}
					defer running.Add(-1)
					pass(2 * time.Second)
					if failed.Add(1) <= failing {
						return "", errPlain
					}
					return "ok", nil
				})
			})
		}
		storm.Wait()
		f.wantRuns(t, failing+1)
		f.wantStatus(t, request("k"), "COMPLETED")
		if writes := len(f.db.Calls("PutItem")) + len(f.db.Calls("UpdateItem")); writes > 2*n {
			t.Errorf("%d writes for %d requests", writes, n)
		}
	})
}

// C20: distinct keys on one Runner do not get into each other's way.
func TestStorm_DistinctKeys(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := f.worker(t)
	var storm sync.WaitGroup
	for i := range 50 {
		storm.Go(func() {
			want := fmt.Sprint("answer ", i)
			for again := range 3 {
				res, err := w.do(localtest.Invocation(t, time.Minute), request(fmt.Sprint("k", i)), func(ctx context.Context) (string, error) {
					if idempotency.AttemptFrom(ctx).Number != 1 {
						t.Error("not the first attempt")
					}
					return want, nil
				})
				wantAnswer(t, res, err, want, again > 0)
			}
		})
	}
	storm.Wait()
	f.wantRuns(t, 50)
}

// C21: operations that call each other, at once, on one Runner.
func TestStorm_Nested(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w := f.worker(t)
	var storm sync.WaitGroup
	for i := range 20 {
		storm.Go(func() {
			outer, inner := request(fmt.Sprint("k", i)), request(fmt.Sprint("k", i))
			inner.Operation = "notify"
			res, err := w.do(localtest.Invocation(t, time.Minute), outer, func(ctx context.Context) (string, error) {
				var group sync.WaitGroup
				for part := range 3 {
					group.Go(func() {
						mine := inner
						mine.Key = fmt.Sprint(inner.Key, "/", part)
						res, err := w.do(ctx, mine, returns(fmt.Sprint(part)))
						wantAnswer(t, res, err, fmt.Sprint(part), false)
					})
				}
				group.Wait()
				return "all", nil
			})
			wantAnswer(t, res, err, "all", false)
			f.wantStatus(t, outer, "COMPLETED")
		})
	}
	storm.Wait()
	f.wantRuns(t, 20*4)
}
