package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// caching remembers so many outcomes, for so long (0: their window).
func caching(n int, maxAge time.Duration) option {
	return func(s *settings) { s.Cache, s.CacheMaxAge = n, maxAge }
}

// asks says how many calls a request makes, and what it is told.
func (w *worker) asks(tb testing.TB, req idempotency.Request) (calls int, res idempotency.Result[string], err error) {
	tb.Helper()
	before := len(w.db.Calls(""))
	res, err = w.do(localtest.Invocation(tb, 3*time.Second), req, returns("another run"))
	return len(w.db.Calls("")) - before, res, err
}

// wantCached says that the request is answered by the memory alone.
func (w *worker) wantCached(tb testing.TB, req idempotency.Request, value string) {
	tb.Helper()
	calls, res, err := w.asks(tb, req)
	wantAnswer(tb, res, err, value, true)
	if calls != 0 {
		tb.Errorf("%d calls, want none", calls)
	}
}

// wantAsked says that the request is answered by the table, with what is recorded.
func (w *worker) wantAsked(tb testing.TB, req idempotency.Request, value string) {
	tb.Helper()
	calls, res, err := w.asks(tb, req)
	wantAnswer(tb, res, err, value, true)
	if calls == 0 {
		tb.Error("the table was not asked")
	}
}

// Whatever an outcome is and however it is stored, a worker that has recorded it, replayed it or looked it up gives the same
// answer again without a call, and tells the observer so. That is all that a single shot does, too: its handler does not run.
func TestCache_NoCall(t *testing.T) {
	t.Parallel()
	for name, tt := range storing {
		if len(tt.value) > 64<<10 {
			continue // is not remembered
		}
		for primed, prime := range map[string]func(*testing.T, *worker, idempotency.Request){
			"by the run": func(*testing.T, *worker, idempotency.Request) {},
			"by a replay": func(t *testing.T, w *worker, req idempotency.Request) {
				t.Helper()
				_, _, _ = w.asks(t, req)
			},
			"by a lookup": func(t *testing.T, w *worker, req idempotency.Request) {
				t.Helper()
				_, _ = idempotency.Lookup[string](localtest.Invocation(t, time.Second), w.runner, req)
			},
		} {
			t.Run(name+"/"+primed, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f, rebuilt := newFixture(t), 0
					req := rebuilding(request("k"), &rebuilt)
					req.Tx = tt.tx
					w := f.worker(t, caching(10, 0), codec(newSealer(t, "k")))
					_, _ = w.do(localtest.Invocation(t, 3*time.Second), req, tt.h)
					want, failed := idempotency.Lookup[string](localtest.Invocation(t, time.Second), f.worker(t, codec(newSealer(t, "k"))).runner, req)
					if primed != "by the run" {
						w = f.worker(t, caching(10, 0), codec(newSealer(t, "k")))
					}
					prime(t, w, req)
					f.quiet()
					for range 2 {
						calls, res, err := w.asks(t, req)
						if calls != 0 || res != want || fmt.Sprint(err) != fmt.Sprint(failed) {
							t.Errorf("%d calls, got %+v, %v; want %+v, %v", calls, res, err, want, failed)
						}
					}
					f.wantRuns(t, 0)
					f.wantKinds(t, idempotency.KindCached, idempotency.KindCached)
					if e := f.seen()[0]; e.Err != nil || e.Attempt != 1 || e.ID != id(req) || e.ReadUnits+e.WriteUnits != 0 {
						t.Errorf("event %+v", e)
					}
				})
			})
		}
	}
}

// What is not the end of a key is never remembered: each request asks the table.
func TestCache_OnlyOutcomes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		make func(*testing.T, *fixture, idempotency.Request)
		want error
	}{
		"in progress": {founds[0].make, idempotency.ErrInProgress},
		"crashed":     {crashed, idempotency.ErrOutcomeUnknown},
		"unknown":     {founds[2].make, idempotency.ErrOutcomeUnknown},
		"bad": {func(t *testing.T, f *fixture, req idempotency.Request) {
			t.Helper()
			f.make(t, "completed", req)
			f.edit(t, req, item{"schema": number(99)})
		}, idempotency.ErrBadRecord},
		"no body": {func(t *testing.T, f *fixture, req idempotency.Request) {
			t.Helper()
			f.make(t, "completed", req)
			f.edit(t, req, item{"encoding": text("none"), "data": nil})
		}, idempotency.ErrNoBody},
		"another's": {func(t *testing.T, f *fixture, req idempotency.Request) {
			t.Helper()
			f.make(t, "completed", other(req))
		}, idempotency.ErrMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req := newFixture(t), request("k")
				tt.make(t, f, req)
				w := f.worker(t, caching(10, 0))
				for range 3 {
					calls, _, err := w.asks(t, req)
					wantErr(t, err, tt.want)
					if calls == 0 {
						t.Error("the table was not asked")
					}
				}
			})
		})
	}
}

// An attempt that has ended without an outcome of its own is forgotten: after a release the next request runs, and what
// another process makes of an unknown is seen at once.
func TestCache_NotOfOwnRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		w, operator := f.worker(t, caching(10, 0)), f.worker(t)
		_, err := w.do(localtest.Invocation(t, time.Second), request("released"), fails(errPlain))
		wantErr(t, err, errPlain)
		res, err := w.do(localtest.Invocation(t, time.Second), request("released"), returns("second"))
		wantAnswer(t, res, err, "second", false)

		_, err = w.do(localtest.Invocation(t, time.Second), request("unknown"), fails(idempotency.Unknown(errPlain)))
		wantErr(t, err, errPlain)
		_, _, err = w.asks(t, request("unknown"))
		wantErr(t, err, idempotency.ErrOutcomeUnknown)
		rec, err := operator.runner.Record(t.Context(), id(request("unknown")))
		if err := errors.Join(err, operator.runner.Resolve(t.Context(), rec, idempotency.Completed("found out"))); err != nil {
			t.Fatal(err)
		}
		w.wantAsked(t, request("unknown"), "found out")
		w.wantCached(t, request("unknown"), "found out")
	})
}

// An outcome whose record could not be written is not remembered: the caller has heard that it may not have happened.
func TestCache_NotWhatIsNotRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req := newFixture(t), request("k")
		w := f.worker(t, withoutRetries, caching(10, 0))
		f.inject("UpdateItem", localtest.RequestLost, forever)
		_, err := w.do(localtest.Invocation(t, time.Second), req, returns("paid"))
		wantErr(t, err, idempotency.ErrNotRecorded)
		f.db.ClearFaults()
		calls, res, err := w.asks(t, req)
		wantErr(t, err, idempotency.ErrInProgress)
		if calls == 0 || res.Value != "" {
			t.Errorf("%d calls, got %+v", calls, res)
		}
	})
}

// Work that is done without an answer to be stored leaves nothing to be remembered: the retry hears it from the table.
func TestCache_NotWithoutABody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req := newFixture(t), request("k")
		away := errors.New("the key service is away")
		w := f.worker(t, caching(10, 0), codec(&wrapping{seal: func(context.Context, string, []byte) ([]byte, error) { return nil, away }}))
		w.must(localtest.Invocation(t, time.Second), t, req, returns("paid"))
		for range 2 {
			calls, _, err := w.asks(t, req)
			wantErr(t, err, idempotency.ErrNoBody)
			if calls == 0 {
				t.Error("the table was not asked")
			}
		}
		f.wantRuns(t, 1)
	})
}

// C24: a mismatch is found by the memory as by the table, which tells it; and a mismatching request leaves nothing in the
// memory for others.
func TestCache_Mismatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req := newFixture(t), request("k")
		w, cold := f.worker(t, caching(10, 0)), f.worker(t, caching(10, 0))
		w.must(localtest.Invocation(t, time.Second), t, req, returns("paid"))
		var told []string
		for _, w := range []*worker{w, cold, f.worker(t)} {
			f.quiet()
			_, res, err := w.asks(t, other(req))
			wantErr(t, err, idempotency.ErrMismatch)
			if res != (idempotency.Result[string]{}) {
				t.Errorf("the other request got %+v", res)
			}
			f.wantKinds(t, idempotency.KindMismatch)
			told = append(told, fmt.Sprint(err))
		}
		if told[0] != told[2] || told[1] != told[2] {
			t.Errorf("told %v", told)
		}
		f.wantRuns(t, 0)
		cold.wantAsked(t, req, "paid")
		w.wantCached(t, req, "paid")
		cold.wantCached(t, req, "paid")
		any := req
		any.Input = idempotency.AnyInput
		w.wantCached(t, any, "paid")
	})
}

// C24: a request without a fingerprint that runs in a record which is bound to one does not take the binding away: what it
// leaves in the memory is that record's.
func TestCache_KeepsTheBinding(t *testing.T) {
	t.Parallel()
	for _, mode := range []idempotency.TxMode{0, idempotency.Claimed, idempotency.SingleShot} {
		for name, end := range map[string]error{"released": errPlain, "taken over": idempotency.Unknown(errPlain)} {
			t.Run(fmt.Sprintf("%s/mode %d", name, mode), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f, bound := newFixture(t), request("k")
					_, err := f.worker(t).do(localtest.Invocation(t, time.Second), bound, fails(end))
					wantErr(t, err, errPlain)
					loose := bound
					loose.Input, loose.Tx = idempotency.AnyInput, mode
					w := f.worker(t, rerun, caching(10, 0))
					w.must(localtest.Invocation(t, time.Second), t, loose, returns("paid"))
					w.wantCached(t, bound, "paid")
					f.quiet()
					_, res, err := w.asks(t, other(bound))
					if !errors.Is(err, idempotency.ErrMismatch) || res.Value != "" {
						t.Errorf("the other request got %+v, %v", res, err)
					}
					f.wantRuns(t, 0)
				})
			})
		}
	}
}

// Rule 27: while secrets rotate a key may have another record, and the table is asked.
func TestCache_NotWhileSecretsRotate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req := newFixture(t), request("k")
		w := f.worker(t, secrets(newSecret, oldSecret), caching(10, 0))
		w.must(localtest.Invocation(t, time.Second), t, req, returns("paid"))
		w.wantAsked(t, req, "paid")
		w.wantAsked(t, req, "paid")
		after := f.worker(t, secrets(newSecret), caching(10, 0))
		after.wantAsked(t, req, "paid")
		after.wantCached(t, req, "paid")
	})
}
