package idempotency_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// H18, rule 23: the holder is alive, by the table's word at the moment of the write: nothing is written, and it goes on.
func TestResolve_HolderIsAlive(t *testing.T) {
	t.Parallel()
	for _, tt := range resolutions {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req := newFixture(t), request("k")
				end := f.worker(t).hold(localtest.Invocation(t, time.Minute), t, req)
				before := f.record(t, req)
				w := f.worker(t)
				err := w.runner.Resolve(t.Context(), idempotency.Record{ID: id(req), Operation: req.Operation, Token: before.text("attempt")}, tt.as)
				wantErr(t, err, idempotency.ErrInProgress)
				if st, ok := errors.AsType[*idempotency.StateError](err); !ok || st.Attempt != 1 || st.LeaseEnd.IsZero() || st.RetryAfter == 0 {
					t.Errorf("state %+v", st)
				}
				f.wantUntouched(t, req, before)
				res, err := end(returns("ok"))
				wantAnswer(t, res, err, "ok", false)
			})
		})
	}
}

// H18: a resolver whose clock is far ahead settles a lease that has not ended: that is what clocks decide. One that is
// behind waits.
func TestResolve_ClockBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req := newFixture(t), request("k")
		crashed(t, f, req)
		rec, before := f.onlyUnknown(t), f.record(t, req)
		w := f.worker(t)
		w.skew.Store(int64(-time.Minute))
		wantErr(t, w.runner.Resolve(t.Context(), rec, idempotency.NotDone()), idempotency.ErrInProgress)
		f.wantUntouched(t, req, before)
	})
}

// H17, H18, I4: the late owner comes back after its attempt was settled. It changes nothing, and is told what was resolved.
func TestResolve_LateOwner(t *testing.T) {
	t.Parallel()
	for _, tt := range resolutions {
		for _, ending := range lateEndings {
			t.Run(tt.name+"/"+ending.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f, req := newFixture(t), request("k")
					end := late(t, f.worker(t), req)
					f.resolveOnly(t, tt.as)
					before := f.wantStatus(t, req, tt.status)
					f.quiet()
					res, err := end(ending.h)
					f.wantUntouched(t, req, before)
					f.wantKinds(t, idempotency.KindLeaseLost)
					if tt.runs > 0 && (ending.name == "releases" || ending.name == "marks unknown") {
						if err != errPlain { //nolint:errorlint // untouched: nothing replaces the handler's own (rule 10)
							t.Errorf("error %v, want the handler's own", err)
						}
						return
					}
					wantErr(t, err, idempotency.ErrLeaseLost)
					if ending.err != nil {
						wantErr(t, err, ending.err)
					}
					st, ok := errors.AsType[*idempotency.StateError](err)
					if !ok || st.Attempt != 2 {
						t.Fatalf("state %+v, want the resolution's", st)
					}
					if res.Replayed != (tt.runs == 0) {
						t.Errorf("got %+v", res)
					}
					switch tt.status {
					case "COMPLETED":
						if res.Value != "by hand" || st.Winner != nil {
							t.Errorf("got %+v, winner %v", res, st.Winner)
						}
					case "FAILED":
						wantDeclined(t, res, st.Winner)
					}
				})
			})
		}
		t.Run(tt.name+"/panics", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req := newFixture(t), request("k")
				var before item
				func() {
					defer func() { _ = recover() }()
					_, _ = f.worker(t).do(localtest.Invocation(t, time.Second), req, func(context.Context) (string, error) {
						pass(4 * time.Second)
						f.resolveOnly(t, tt.as)
						before = f.wantStatus(t, req, tt.status)
						panic("late")
					})
				}()
				f.wantUntouched(t, req, before)
			})
		})
		t.Run(tt.name+"/records a step", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req, s := newFixture(t), request("k"), &side{}
				late := newLateStep(t, f.worker(t), req, s)
				f.resolveOnly(t, tt.as)
				before := f.wantStatus(t, req, tt.status)
				close(late.finish)
				err := <-late.stepped
				wantErr(t, err, idempotency.ErrLeaseLost)
				f.wantUntouched(t, req, before)
				res, err := late.end(fails(err))
				wantErr(t, err, idempotency.ErrLeaseLost)
				if res.Replayed != (tt.runs == 0) {
					t.Errorf("got %+v", res)
				}
				f.wantUntouched(t, req, before)
			})
		})
	}
}

// What has become of the record since it was found: the resolution is refused, and nothing of the record changes.
func TestResolve_RecordHasChanged(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*testing.T, *fixture, idempotency.Request)
		want   error
	}{
		"completed":         {byRerun(returns("ok")), idempotency.ErrLeaseLost},
		"failed":            {byRerun(fails(idempotency.Terminal(errPlain))), idempotency.ErrLeaseLost},
		"unknown once more": {byRerun(fails(idempotency.Unknown(errPlain))), idempotency.ErrLeaseLost},
		"released": {func(t *testing.T, f *fixture, req idempotency.Request) {
			f.edit(t, req, item{"status": text("RELEASED")})
		}, idempotency.ErrLeaseLost},
		"taken over and alive": {func(t *testing.T, f *fixture, req idempotency.Request) {
			f.worker(t, rerun).hold(localtest.Invocation(t, time.Minute), t, req)
		}, idempotency.ErrInProgress},
		"gone": {func(t *testing.T, f *fixture, req idempotency.Request) { f.remove(t, req) }, idempotency.ErrNotFound},
		"damaged": {func(t *testing.T, f *fixture, req idempotency.Request) {
			f.edit(t, req, item{"attempt": number(1)})
		}, idempotency.ErrBadRecord},
		"of the next window": {func(t *testing.T, f *fixture, req idempotency.Request) {
			pass(2 * day)
			f.make(t, "unknown", req)
		}, idempotency.ErrLeaseLost},
	} {
		for _, as := range resolutions {
			t.Run(name+"/"+as.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f, req := newFixture(t), request("k")
					crashed(t, f, req)
					rec := f.onlyUnknown(t)
					tt.change(t, f, req)
					before := f.record(t, req)
					err := f.worker(t).runner.Resolve(t.Context(), rec, as.as)
					wantErr(t, err, tt.want)
					if st, ok := errors.AsType[*idempotency.StateError](err); !ok || st.ID != rec.ID {
						t.Errorf("error %v", err)
					}
					f.wantUntouched(t, req, before)
				})
			})
		}
	}
}

func byRerun(h handler) func(*testing.T, *fixture, idempotency.Request) {
	return func(t *testing.T, f *fixture, req idempotency.Request) {
		t.Helper()
		_, _ = f.worker(t, rerun).do(localtest.Invocation(t, time.Second), req, h)
	}
}

// I2: two resolvers at once, and a resolver and a request under Rerun: one wins, and the other changes nothing.
func TestResolve_TwoAtOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range resolutions {
		for _, first := range []string{"resolver", "request"} {
			t.Run(tt.name+"/"+first, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f, req := newFixture(t), request("k")
					crashed(t, f, req)
					rec, w := f.onlyUnknown(t), f.worker(t)
					var before item
					meet := nth("UpdateItem", 1, func() {
						if first == "resolver" {
							if err := f.worker(t).runner.Resolve(t.Context(), rec, tt.as); err != nil {
								t.Error(err)
							}
						} else {
							f.worker(t, rerun).must(localtest.Invocation(t, time.Second), t, req, returns("again"))
						}
						before = f.record(t, req)
					})
					w.before = func(operation string) error { meet(operation); return nil }
					wantErr(t, w.runner.Resolve(t.Context(), rec, idempotency.Completed("second")), idempotency.ErrLeaseLost)
					f.wantUntouched(t, req, before)
				})
			})
		}
	}
}
