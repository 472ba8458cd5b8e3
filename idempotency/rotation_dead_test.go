package idempotency_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// I1, rule 27: another request's worker puts its record under the other id after the key was bound, and dies before it
// looks again. The older binding counts, while that record's lease is alive and when it has become unknown.
func TestRotation_DeadWorkerBindsNothing(t *testing.T) {
	t.Parallel()
	for side, req := range sides() {
		for name, later := range map[string]time.Duration{"at once": 0, "after the lease": time.Minute} {
			t.Run(side+"/"+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t)
					var first, second string
					dying := f.worker(t, deployments["switched"], withoutRetries)
					bound := nth("GetItem", 2, func() { // between its look and its put
						_, err := f.worker(t, deployments["prepared"]).do(localtest.Invocation(t, time.Second), req, keyed(&first, fails(errPlain)))
						wantErr(t, err, errPlain)
						pass(10 * time.Millisecond)
					})
					dying.after = func(operation string) {
						bound(operation)
						if operation == "PutItem" {
							dying.cut.Store(true)
						}
					}
					_, err := dying.do(localtest.Invocation(t, 15*time.Second), other(req), returns("other"))
					wantErr(t, err, idempotency.ErrUnavailable)

					pass(later)
					w := f.worker(t, deployments["switched"])
					_, err = w.do(localtest.Invocation(t, time.Second), other(req), returns("other"))
					wantErr(t, err, idempotency.ErrMismatch)
					res, err := w.do(localtest.Invocation(t, time.Second), req, keyed(&second, returns("ran")))
					wantAnswer(t, res, err, "ran", false)
					if first != second {
						t.Errorf("downstream keys %s, then %s", first, second)
					}
				})
			})
		}
	}
}

// Rule 2: an observer that takes long is between the acquire and the handler, too. The key is given back.
func TestAcquire_SlowObserver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		w := f.worker(t, func(s *settings) {
			s.Observe = func(_ context.Context, e idempotency.Event) {
				if e.Kind == idempotency.KindAcquired {
					pass(2800 * time.Millisecond)
				}
			}
		})
		_, err := w.do(localtest.Invocation(t, 3*time.Second), request("k"), returns("ran"))
		wantErr(t, err, idempotency.ErrNoTime)
		f.wantRuns(t, 0)
		f.wantStatus(t, request("k"), "RELEASED")
	})
}

// I9, rule 22: a right that is missing for one call, of the completion, costs neither the outcome nor its body.
func TestRun_OnePassingRefusal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.inject("UpdateItem", localtest.AccessDenied, 1)
		res, err := f.worker(t).do(localtest.Invocation(t, 3*time.Second), request("k"), returns("paid"))
		wantAnswer(t, res, err, "paid", false)
		res, err = f.worker(t).do(localtest.Invocation(t, 3*time.Second), request("k"), returns("again"))
		wantAnswer(t, res, err, "paid", true)
	})
}
