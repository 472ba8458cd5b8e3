package idempotency_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// An outcome that somebody has found out may be as long as a handler's, and is kept like one (H20).

func TestBodyResolve_Replays(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		value     func() string
		retention time.Duration // of the attempt's request
		items     int64
	}{
		"10 KB":               {func() string { return manyBytes()[:10<<10] }, 0, 1},
		"1 MB":                {func() string { return manyBytes()[:1<<20] }, 0, 3},
		"a longer protection": {func() string { return manyBytes()[:10<<10] }, 30 * day, 1}, // the record keeps its own end
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req := newFixture(t), request("k")
				req.Retention = tt.retention
				crashed(t, f, req)
				found := f.onlyUnknown(t)
				f.quiet()
				w := f.worker(t).looksAhead(t)
				if err := w.runner.Resolve(t.Context(), found, idempotency.Completed(tt.value())); err != nil {
					t.Fatal(err)
				}
				if err := f.lastErr(t, idempotency.KindCompleted); err != nil {
					t.Errorf("the event tells of %v", err)
				}
				f.wantBeside(t, id(req), tt.items)
				if it := f.record(t, req); it.number("expiration") < found.Expires.Unix() {
					t.Error("the record ends sooner than it did")
				}
				f.quiet()
				res, err := f.worker(t).do(soon(t), req, returns("again"))
				if err != nil || res.Value != tt.value() || !res.Replayed {
					t.Errorf("replayed %d bytes, %v", len(res.Value), err)
				}
				f.wantRuns(t, 0)
			})
		})
	}
}

// The items cannot be written: nothing is resolved, and whoever resolves is told to come again. Not done-without-body, as after
// a run: what somebody has found out can be said once more.
func TestBodyResolve_ItemsNotWritten(t *testing.T) {
	t.Parallel()
	for size := range sizes {
		for _, kind := range []localtest.FaultKind{localtest.AccessDenied, localtest.RequestLost, localtest.Hang, localtest.Throttled} {
			if size == "several" && kind != localtest.AccessDenied {
				continue
			}
			t.Run(fmt.Sprint(size, "/", kind), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f, req := newFixture(t), request("k")
					f.make(t, "unknown", req)
					found, before := f.onlyUnknown(t), f.record(t, req)
					f.quiet()
					write, _ := bodyCalls(size)
					f.inject(write, kind, forever)
					w := f.worker(t, withoutRetries, long(sizes[size]))
					began := time.Now()
					err := w.runner.Resolve(t.Context(), found, idempotency.Completed("by hand"))
					wantErr(t, err, idempotency.ErrUnavailable)
					wantErr(t, f.lastErr(t, idempotency.KindStoreFailure), idempotency.ErrUnavailable)
					if took := time.Since(began); took > 30*time.Second {
						t.Errorf("it took %s", took)
					}
					if calls := f.db.Calls("UpdateItem"); len(calls) > 0 {
						t.Errorf("the record was written: %+v", calls)
					}
					f.wantUntouched(t, req, before)
					if found := w.unknowns(t.Context(), t); len(found) != 1 {
						t.Errorf("unknown are %v", found)
					}
					f.db.ClearFaults()
					if err := w.runner.Resolve(t.Context(), found, idempotency.Completed("by hand")); err != nil {
						t.Errorf("the repetition: %v", err)
					}
					f.wantBeside(t, id(req), int64(1+sizes[size]/block))
					f.quiet()
					res, err := w.do(soon(t), req, returns("again"))
					wantAnswer(t, res, err, "by hand", true)
					f.wantRuns(t, 0)
				})
			})
		}
	}
}

// Rule 23: the record has changed since it was found. Its outcome stays, and the items of the resolution are nobody's.
func TestBodyResolve_TooLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req := newFixture(t), request("k")
		f.make(t, "unknown", req)
		found := f.onlyUnknown(t)
		f.worker(t, rerun, long(4<<10)).must(soon(t), t, req, returns("run again"))
		before, ran := f.record(t, req), f.wantBeside(t, id(req), 1).ids(id(req))
		w := f.worker(t, long(4<<10))
		wantErr(t, w.runner.Resolve(t.Context(), found, idempotency.Completed("by hand")), idempotency.ErrLeaseLost)
		f.wantUntouched(t, req, before)
		if items := f.bodyItems(t); len(items) != 2 || !slices.Contains(items, ran[0]) {
			t.Errorf("the items are %v", items)
		}
		res, err := w.do(soon(t), req, returns("again"))
		wantAnswer(t, res, err, "run again", true)
	})
}
