package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// sides are two requests: one whose record has the smaller id under the new secret, one where it has the larger. What
// holds must hold for both, since of two records that tell as much the smaller id counts.
func sides() map[string]idempotency.Request {
	found := map[string]idempotency.Request{}
	for i := 0; len(found) < 2; i++ {
		req := request(fmt.Sprint("k", i))
		side := "larger"
		if under(newSecret, req).text("id") < under(oldSecret, req).text("id") {
			side = "smaller"
		}
		found[side] = req
	}
	return found
}

// keyed is a handler that tells its downstream key.
func keyed(to *string, h handler) handler {
	return func(ctx context.Context) (string, error) {
		*to = idempotency.AttemptFrom(ctx).DownstreamKey("card")
		return h(ctx)
	}
}

// beforePut lets another worker act between this one's look at the records and the put of its own.
func beforePut(w *worker, act func()) {
	at := nth("PutItem", 1, act)
	w.before = func(operation string) error { at(operation); return nil }
}

// I1, rule 27: another worker acquires, runs and releases under the other id, all between this one's look and its put.
// The release keeps the binding: another request is refused, and the same one goes on with the same downstream key.
func TestRotation_ReleasedRecordBindsTheKey(t *testing.T) {
	t.Parallel()
	for side, req := range sides() {
		for name, mine := range map[string]idempotency.Request{"same request": req, "other request": other(req)} {
			t.Run(side+"/"+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t)
					var first, second string
					w := f.worker(t, deployments["switched"])
					beforePut(w, func() {
						_, err := f.worker(t, deployments["prepared"]).do(localtest.Invocation(t, time.Second), req, keyed(&first, fails(errPlain)))
						wantErr(t, err, errPlain)
					})
					res, err := w.do(localtest.Invocation(t, 3*time.Second), mine, keyed(&second, returns("mine")))
					if name == "other request" {
						wantErr(t, err, idempotency.ErrMismatch)
						f.wantRuns(t, 1)
						res, err = f.worker(t, deployments["switched"]).do(localtest.Invocation(t, 3*time.Second), req, keyed(&second, returns("mine")))
					}
					wantAnswer(t, res, err, "mine", false)
					f.wantRuns(t, 2)
					if first == "" || first != second {
						t.Errorf("downstream keys %q and %q of one key", first, second)
					}
				})
			})
		}
	}
}

// beside lets w's request meet a record that a worker of the other deployment makes between w's look and w's put. It
// returns the end of the other one, whose handler still runs, and what w's request got.
func beside(t *testing.T, f *fixture, w *worker, theirs, mine idempotency.Request) (end func(handler) (idempotency.Result[string], error), err error) {
	t.Helper()
	beforePut(w, func() {
		end = f.worker(t, deployments["prepared"]).hold(localtest.Invocation(t, 10*time.Second), t, theirs)
	})
	_, err = w.do(localtest.Invocation(t, 3*time.Second), mine, returns("ran beside"))
	return end, err
}

// I1, rule 27: the record of an attempt that gave way has never run, and so binds nothing: neither the request nor the
// downstream key. And what a mismatching request hears of the other's is nothing (C12).
func TestRotation_GivenBackRecordBindsNothing(t *testing.T) {
	t.Parallel()
	for side, req := range sides() {
		for name, mine := range map[string]idempotency.Request{"same request": req, "other request": other(req)} {
			t.Run(side+"/"+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t)
					theirs := req
					theirs.Ref = "order of somebody else"
					mine.Ref = "mine"
					end, err := beside(t, f, f.worker(t, deployments["switched"]), theirs, mine)
					st, ok := errors.AsType[*idempotency.StateError](err)
					if !ok {
						t.Fatalf("error %v, want a refusal", err)
					}
					if name == "same request" {
						wantErr(t, err, idempotency.ErrInProgress)
					} else if wantErr(t, err, idempotency.ErrMismatch); st.Ref != "mine" || st.Attempt != 0 || !st.LeaseEnd.IsZero() || strings.Contains(err.Error(), theirs.Ref) {
						t.Errorf("another request's state was handed out: %+v", st)
					}
					var first, second string
					_, err = end(keyed(&first, fails(errPlain)))
					wantErr(t, err, errPlain)
					_, err = f.worker(t, deployments["switched"]).do(localtest.Invocation(t, 3*time.Second), other(req), returns("wrong"))
					wantErr(t, err, idempotency.ErrMismatch)
					res, err := f.worker(t, deployments["switched"]).do(localtest.Invocation(t, 3*time.Second), req, keyed(&second, returns("again")))
					wantAnswer(t, res, err, "again", false)
					f.wantRuns(t, 2)
					if first == "" || first != second {
						t.Errorf("downstream keys %q and %q of one key", first, second)
					}
				})
			})
		}
	}
}

// I3, rule 27: a worker loses its table between its put and its look at the other id; what it leaves looks like an
// unknown. The outcome that is recorded beside it is found all the same.
func TestRotation_OutcomeBesideAnOrphan(t *testing.T) {
	t.Parallel()
	for side, req := range sides() {
		for status, ending := range map[string]handler{"COMPLETED": returns("paid"), "FAILED": fails(idempotency.Terminal(errPlain))} {
			t.Run(side+"/"+status, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t)
					w := f.worker(t, deployments["switched"], withoutRetries)
					w.after = nth("PutItem", 1, func() { w.cut.Store(true) })
					end, err := beside(t, f, w, req, req)
					wantErr(t, err, idempotency.ErrUnavailable)
					_, _ = end(ending)
					pass(time.Minute)
					if it := f.at(t, under(newSecret, req)); it.text("status") != "INPROGRESS" {
						t.Fatalf("the orphan is %v", it)
					}
					ask := func(name string, res idempotency.Result[string], err error) {
						t.Helper()
						if status == "COMPLETED" {
							wantAnswer(t, res, err, "paid", true)
						} else if failure, ok := errors.AsType[*idempotency.Failure](err); !ok || failure.Message != errPlain.Error() {
							t.Errorf("%s: %v, want the recorded failure", name, err)
						}
					}
					for deployment, secrets := range deployments {
						for policy, option := range map[string]option{"refuse": func(*settings) {}, "rerun": rerun} {
							again := f.worker(t, secrets, option)
							res, err := again.do(localtest.Invocation(t, 3*time.Second), req, returns("again"))
							ask(deployment+"/"+policy, res, err)
							res, err = idempotency.Lookup[string](localtest.Invocation(t, 3*time.Second), again.runner, req)
							ask(deployment+"/"+policy+"/lookup", res, err)
						}
					}
					f.wantRuns(t, 1)
				})
			})
		}
	}
}

// The same while a worker has already decided to take the orphan over, and the outcome is recorded before it looks
// at the other id: the outcome is its answer.
func TestRotation_TakeOverFindsAnOutcome(t *testing.T) {
	t.Parallel()
	for side, req := range sides() {
		t.Run(side, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				crashing := f.worker(t, secrets(newSecret))
				crashing.crash(localtest.Invocation(t, time.Second), req)
				pass(time.Minute)
				w := f.worker(t, rerun, deployments["switched"])
				at := nth("UpdateItem", 1, func() { // the take-over
					f.worker(t, secrets(oldSecret)).must(localtest.Invocation(t, time.Second), t, req, returns("paid"))
				})
				w.before = func(operation string) error { at(operation); return nil }
				f.quiet()
				res, err := w.do(localtest.Invocation(t, 3*time.Second), req, returns("again"))
				wantAnswer(t, res, err, "paid", true)
				f.wantRuns(t, 1)
			})
		})
	}
}

// C14, rule 26, rule 27: a twin that meets the other's record after its own put waits like any other, and gets the answer.
func TestRotation_TwinWaits(t *testing.T) {
	t.Parallel()
	for side, req := range sides() {
		t.Run(side, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				waiter := f.worker(t, deployments["switched"])
				var wg sync.WaitGroup
				beforePut(waiter, func() {
					end := f.worker(t, deployments["prepared"]).hold(localtest.Invocation(t, 10*time.Second), t, req)
					wg.Go(func() {
						pass(2 * time.Second)
						if _, err := end(returns("paid")); err != nil {
							t.Errorf("the owner got %v", err)
						}
					})
				})
				waiting := req
				waiting.Wait = 10 * time.Second
				res, err := waiter.do(localtest.Invocation(t, 15*time.Second), waiting, returns("again"))
				wantAnswer(t, res, err, "paid", true)
				wg.Wait()
				f.wantRuns(t, 1)
			})
		})
	}
}

// Two records of one key, as a deployment without the rotation leaves them. All workers settle on the same one,
// whatever the order of their secrets: on that which tells most, and of two alike on the smaller id.
func TestRotation_WhichRecordCounts(t *testing.T) {
	t.Parallel()
	ranks := []string{"completed", "in progress", "unknown", "released"} // what tells more first
	for side, req := range sides() {
		for stronger, first := range ranks {
			for _, second := range ranks[stronger:] {
				for name, ids := range map[string][2][]byte{"old": {oldSecret, newSecret}, "new": {newSecret, oldSecret}} {
					t.Run(side+"/"+first+" under the "+name+", "+second, func(t *testing.T) {
						t.Parallel()
						synctest.Test(t, func(t *testing.T) {
							f := newFixture(t)
							want := under(ids[0], req).text("id")
							if first == second {
								want = min(want, under(ids[1], req).text("id"))
							}
							f.bring(t, first, ids[0], req)
							f.bring(t, second, ids[1], req)
							for name, deployment := range deployments {
								res, err := idempotency.Lookup[string](localtest.Invocation(t, time.Second), f.worker(t, deployment).runner, req)
								if first == "completed" {
									wantAnswer(t, res, err, want, true)
								} else if st, ok := errors.AsType[*idempotency.StateError](err); !ok || st.ID != want {
									t.Errorf("%s: %v, want the record %s", name, err, want)
								}
							}
						})
					})
				}
			}
		}
	}
}

// bring makes a record of one of the states under the secret. A result that it records is the record's id.
func (f *fixture) bring(t *testing.T, state string, secret []byte, req idempotency.Request) {
	t.Helper()
	w, ctx := f.worker(t, secrets(secret)), localtest.Invocation(t, time.Second)
	switch state {
	case "completed":
		w.must(ctx, t, req, returns(under(secret, req).text("id")))
	case "in progress":
		w.hold(localtest.Invocation(t, time.Hour), t, req)
	case "unknown":
		_, _ = w.do(ctx, req, fails(idempotency.Unknown(errPlain)))
	case "released":
		_, _ = w.do(ctx, req, fails(errPlain))
	}
}

// C55, H24, rule 27: an empty secret beside others stands for the ids that a table without secrets has, in both steps of the
// way to a first secret.
func TestRotation_FromNoSecret(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		secrets option
		writes  []byte
	}{
		"prepared": {secrets(nil, newSecret), nil},
		"switched": {secrets(newSecret, []byte{}), newSecret},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				f.worker(t).must(localtest.Invocation(t, time.Second), t, request("k"), returns("first"))
				w := f.worker(t, tt.secrets)
				res, err := w.do(localtest.Invocation(t, time.Second), request("k"), returns("second"))
				wantAnswer(t, res, err, "first", true)
				w.must(localtest.Invocation(t, time.Second), t, request("l"), returns("new"))
				if it := f.at(t, under(tt.writes, request("l"))); it.text("status") != "COMPLETED" {
					t.Errorf("the new key's record is %v", it)
				}
				f.wantRuns(t, 2)
			})
		})
	}
}
