package idempotency_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// witness keeps every attempt whose handler ran.
type witness struct{ attempts []idempotency.Attempt }

func (w *witness) then(h handler) handler {
	return func(ctx context.Context) (string, error) {
		w.attempts = append(w.attempts, *idempotency.AttemptFrom(ctx))
		return h(ctx)
	}
}

func (w *witness) last() idempotency.Attempt { return w.attempts[len(w.attempts)-1] }

// H1, H14, rule 1, rule 19: what an attempt is told over a life of releases, crashes, take-overs and windows. The
// fence grows all along; a prior, once there, stays until there is an outcome.
func TestAttempt_Life(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		req, seen := request("k"), &witness{}
		var keys []string
		step := func(h handler, number int64, prior *idempotency.Prior) time.Time {
			t.Helper()
			start := time.Now()
			w := f.worker(t, rerun)
			w.abandon(localtest.Invocation(t, time.Second), req, seen.then(func(ctx context.Context) (string, error) {
				a := idempotency.AttemptFrom(ctx)
				keys = append(keys, a.DownstreamKey("card")+a.DownstreamUUID("card"))
				if h == nil {
					w.die()
				}
				return h(ctx)
			}))
			a := seen.last()
			if a.Number != number || !reflect.DeepEqual(a.Prior, prior) {
				t.Errorf("attempt %d with prior %+v, want %d with %+v", a.Number, a.Prior, number, prior)
			}
			pass(5 * time.Second)
			return start
		}
		prior := func(number int64, started, last time.Time) *idempotency.Prior {
			return &idempotency.Prior{Number: number, Started: milli(started), LeaseEnd: milli(last.Add(3 * time.Second))}
		}
		step(fails(errPlain), 1, nil)
		second := step(nil, 2, nil) // crashes
		third := step(fails(errPlain), 3, prior(2, second, second))
		if it := f.record(t, req); it.text("status") != "UNKNOWN" || it.number("prior_no") != 2 {
			t.Errorf("the release erased the unknown: %v", it)
		}
		fourth := step(fails(idempotency.Unknown(errPlain)), 4, prior(3, second, third))
		step(returns("done"), 5, prior(4, second, fourth))
		it := f.wantStatus(t, req, "COMPLETED")
		if it.has("prior_no") || it.has("prior_started") || it.has("prior_lease") || it.has("steps") {
			t.Errorf("the outcome keeps the prior: %v", it)
		}
		pass(2 * day)
		step(fails(errPlain), 1, nil) // a new window
		step(returns("done"), 2, nil)
		for i := range seen.attempts[1:] {
			if a, b := seen.attempts[i], seen.attempts[i+1]; a.Fence >= b.Fence {
				t.Errorf("the fence went from %d (attempt %d) to %d (attempt %d)", a.Fence, a.Number, b.Fence, b.Number)
			}
			if keys[i] != keys[i+1] || len(keys[i]) != 32+36 {
				t.Errorf("downstream keys %q, then %q", keys[i], keys[i+1])
			}
		}
	})
}

// milli is a time as it is stored.
func milli(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// H14: the fence also grows when TTL has deleted the old window's record, and after a deletion by hand.
func TestAttempt_FenceAfterDeletion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		req, seen := request("k"), &witness{}
		for range 3 {
			_, _ = f.worker(t).do(localtest.Invocation(t, time.Second), req, seen.then(fails(errPlain)))
		}
		pass(time.Millisecond)
		f.remove(t, req)
		f.worker(t).must(localtest.Invocation(t, time.Second), t, req, seen.then(returns("ok")))
		if a, b := seen.attempts[2], seen.attempts[3]; a.Number != 3 || b.Number != 1 || a.Fence >= b.Fence {
			t.Errorf("fence %d of attempt %d, then %d of attempt %d", a.Fence, a.Number, b.Fence, b.Number)
		}
	})
}

// What a handler does to its Attempt does not change who owns the record, nor what is remembered.
func TestAttempt_HandlersCopy(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*idempotency.Attempt){
		"token":       func(a *idempotency.Attempt) { a.Token = "mine" },
		"prior":       func(a *idempotency.Attempt) { a.Prior = nil },
		"prior's own": func(a *idempotency.Attempt) { *a.Prior = idempotency.Prior{Number: 99} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				crashed(t, f, request("k"))
				_, _ = f.worker(t, rerun).do(localtest.Invocation(t, 3*time.Second), request("k"), func(ctx context.Context) (string, error) {
					change(idempotency.AttemptFrom(ctx))
					return "", errPlain
				})
				if it := f.wantStatus(t, request("k"), "UNKNOWN"); it.number("prior_no") != 1 {
					t.Errorf("prior attempt %d, want 1", it.number("prior_no"))
				}
			})
		})
	}
}

// H1: the policy changes to Refuse after a release over an unknown: what is unknown is still refused.
func TestAttempt_PriorAndRefuse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		req := request("k")
		crashed(t, f, req)
		_, err := f.worker(t, rerun).do(localtest.Invocation(t, time.Second), req, fails(errPlain))
		wantErr(t, err, errPlain)
		_, err = f.worker(t).do(localtest.Invocation(t, time.Second), req, returns("blind"))
		wantErr(t, err, idempotency.ErrOutcomeUnknown)
		// A request's own policy goes before the Runner's.
		req.OnUnknown = idempotency.Rerun
		res, err := f.worker(t).do(localtest.Invocation(t, time.Second), req, returns("third"))
		wantAnswer(t, res, err, "third", false)
	})
}

// C11, I2: two workers find the same unknown, or the same released record, at once: one becomes the owner, and the
// other's write changes nothing.
func TestAttempt_TwoClaims(t *testing.T) {
	t.Parallel()
	for _, claim := range claims {
		t.Run(claim.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				req := request("k")
				claim.make(t, f, req)
				f.quiet()
				first, second := f.worker(t, rerun), f.worker(t, rerun)
				var end func(handler) (idempotency.Result[string], error)
				var before item
				meet := nth(claim.operation, 1, func() {
					end = second.hold(localtest.Invocation(t, time.Minute), t, req)
					before = f.record(t, req)
				})
				first.before = func(operation string) error { meet(operation); return nil }
				_, err := first.do(localtest.Invocation(t, 3*time.Second), req, returns("loser"))
				wantErr(t, err, idempotency.ErrInProgress)
				f.wantUntouched(t, req, before)
				res, err := end(returns("winner"))
				wantAnswer(t, res, err, "winner", false)
				f.wantRuns(t, 1)
			})
		})
	}
}

// The token seen pins the window: between a look and the claim that follows from it, the key is bound to another
// request. The claim fails, and its request is told of the mismatch (I1).
func TestAttempt_ClaimOverAnotherWindow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		found string
		h     handler
	}{{"released", fails(errPlain)}, {"unknown", fails(idempotency.Unknown(errPlain))}} {
		t.Run(tt.found, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				req := request("k")
				f.make(t, tt.found, req)
				first := f.worker(t, rerun)
				var before item
				meet := nth("UpdateItem", 1, func() {
					f.remove(t, req) // as the window's end would
					_, _ = f.worker(t).do(localtest.Invocation(t, time.Second), other(req), tt.h)
					before = f.record(t, req)
				})
				first.before = func(operation string) error { meet(operation); return nil }
				f.quiet()
				_, err := first.do(localtest.Invocation(t, 3*time.Second), req, returns("wrong"))
				wantErr(t, err, idempotency.ErrMismatch)
				f.wantUntouched(t, req, before)
				f.wantRuns(t, 1)
			})
		})
	}
}

// I3: between a look and the claim that follows from it, a person has recorded the outcome under the same token. The
// claim looks at the status, too.
func TestAttempt_ClaimOverAnOutcome(t *testing.T) {
	t.Parallel()
	for _, found := range []string{"released", "unknown", "crashed"} {
		t.Run(found, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req := newFixture(t), request("k")
				f.make(t, found, req)
				w := f.worker(t, rerun)
				resolved := nth("UpdateItem", 1, func() {
					f.edit(t, req, item{"status": text("COMPLETED"), "completed": number(1), "data": text(`"by hand"`)})
				})
				w.before = func(operation string) error { resolved(operation); return nil }
				f.quiet()
				res, err := w.do(localtest.Invocation(t, 3*time.Second), req, returns("again"))
				wantAnswer(t, res, err, "by hand", true)
				f.wantRuns(t, 0)
			})
		})
	}
}

// H7, rule 5: the late owner adds to its record after another worker has seen it. The take-over keeps that.
func TestAttempt_TakeOverKeepsTheRecord(t *testing.T) {
	t.Parallel()
	for _, found := range []string{"crashed", "unknown", "released"} {
		t.Run(found, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				req := request("k")
				req.Ref = "order 17"
				f.make(t, found, req)
				before := f.record(t, req)
				w := f.worker(t, rerun)
				added := nth("UpdateItem", 1, func() {
					f.edit(t, req, item{"steps": steps("charge"), "later": text("attribute of a newer release")})
				})
				w.before = func(operation string) error { added(operation); return nil }
				w.must(localtest.Invocation(t, 3*time.Second), t, req, func(ctx context.Context) (string, error) {
					it := f.record(t, req)
					for _, name := range []string{"id", "validation", "ref", "window", "schema", "form"} {
						if !reflect.DeepEqual(it[name], before[name]) {
							t.Errorf("%s was changed", name)
						}
					}
					if !it.has("steps") || !it.has("later") {
						t.Errorf("what was added is gone: %v", it)
					}
					if it.text("prev") != before.text("attempt") || it.text("prev_end") != before.text("status") {
						t.Errorf("prev %q %q", it.text("prev"), it.text("prev_end"))
					}
					if p := idempotency.AttemptFrom(ctx).Prior; found != "released" && (p == nil || !reflect.DeepEqual(p.Steps, []string{"charge"})) {
						t.Errorf("prior %+v, want the step", p)
					}
					return "ok", nil
				})
			})
		})
	}
}

// A late owner that ends its record just before the take-over wins: its outcome stands.
func TestAttempt_OwnerEndsBeforeTheTakeOver(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		h    handler
		err  error
		runs int
	}{
		{"completes", returns("first"), nil, 1},
		{"fails", fails(idempotency.Terminal(errPlain)), &idempotency.Failure{}, 1},
		{"releases", fails(errPlain), nil, 2},
		{"marks unknown", fails(idempotency.Unknown(errPlain)), nil, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				req := request("k")
				end := late(t, f.worker(t), req)
				w := f.worker(t, rerun)
				meet := nth("UpdateItem", 1, func() { _, _ = end(tt.h) })
				w.before = func(operation string) error { meet(operation); return nil }
				res, err := w.do(localtest.Invocation(t, 3*time.Second), req, returns("second"))
				switch {
				case tt.err != nil:
					if _, ok := errors.AsType[*idempotency.Failure](err); !ok {
						t.Errorf("error %v, want the owner's failure", err)
					}
				case tt.runs == 1:
					wantAnswer(t, res, err, "first", true)
				default:
					wantAnswer(t, res, err, "second", false)
				}
				f.wantRuns(t, tt.runs)
			})
		})
	}
}

// I6: the lease is looked at by the table: one that was prolonged after it was seen is not taken.
func TestAttempt_LeaseIsEvaluatedByTheTable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		req := request("k")
		crashed(t, f, req)
		w := f.worker(t, rerun)
		prolonged := nth("UpdateItem", 1, func() {
			f.edit(t, req, item{"in_progress_expiration": number(time.Now().Add(time.Minute).UnixMilli())})
		})
		w.before = func(operation string) error { prolonged(operation); return nil }
		f.quiet()
		_, err := w.do(localtest.Invocation(t, 3*time.Second), req, returns("twice"))
		wantErr(t, err, idempotency.ErrInProgress)
		f.wantRuns(t, 0)
	})
}
