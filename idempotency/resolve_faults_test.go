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

// I7: whatever becomes of one call, the resolution is made once and said to be.
func TestResolve_OwnWriteFound(t *testing.T) {
	t.Parallel()
	for _, tt := range resolutions {
		for _, kind := range faultKinds {
			for name, options := range map[string][]option{"SDK retries": nil, "no retries": {withoutRetries}} {
				t.Run(tt.name+"/"+kind.String()+"/"+name, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						f, req := newFixture(t), request("k")
						crashed(t, f, req)
						rec := f.onlyUnknown(t)
						f.quiet()
						f.inject("UpdateItem", kind, 1)
						if err := f.worker(t, options...).runner.Resolve(t.Context(), rec, tt.as); err != nil {
							t.Errorf("error %v", err)
						}
						f.wantKinds(t, tt.kind)
						it := f.wantStatus(t, req, tt.status)
						pass(time.Second)
						f.db.Flush() // a copy that comes late
						f.wantUntouched(t, req, it)
					})
				})
			}
		}
	}
}

// I7, rule 10: the reply is lost, and before anybody looks the next request has run. Its record tells who was there before.
func TestResolve_OwnWriteSuperseded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req := newFixture(t), request("k")
		crashed(t, f, req)
		rec := f.onlyUnknown(t)
		f.quiet()
		w := f.worker(t, withoutRetries)
		f.inject("UpdateItem", localtest.ReplyLost, 1)
		w.before = func(op string) error {
			if op == "GetItem" {
				f.worker(t).must(soon(t), t, req, returns("again"))
			}
			return nil
		}
		if err := w.runner.Resolve(t.Context(), rec, idempotency.NotDone()); err != nil {
			t.Errorf("error %v", err)
		}
		f.wantRuns(t, 1)
		f.wantStatus(t, req, "COMPLETED")
	})
}

// No answer for good: that is said, and can be repeated. If it was made all the same, the repetition tells that the record
// has changed.
func TestResolve_NoAnswer(t *testing.T) {
	t.Parallel()
	for _, applied := range []bool{false, true} {
		for _, tt := range resolutions {
			name := tt.name + "/lost"
			if applied {
				name = tt.name + "/applied"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f, req := newFixture(t), request("k")
					crashed(t, f, req)
					rec := f.onlyUnknown(t)
					f.quiet()
					kind := localtest.RequestLost
					if applied {
						kind = localtest.ReplyLost
					}
					f.inject("UpdateItem", kind, forever)
					f.inject("GetItem", localtest.RequestLost, forever)
					w := f.worker(t)
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					defer cancel()
					err := w.runner.Resolve(ctx, rec, tt.as)
					wantErr(t, err, idempotency.ErrNotRecorded)
					if st, ok := errors.AsType[*idempotency.StateError](err); !ok || st.ID != rec.ID || st.RetryAfter != 0 {
						t.Errorf("error %v", err)
					}
					f.wantKinds(t, idempotency.KindNotRecorded)
					f.db.ClearFaults()
					err = w.runner.Resolve(t.Context(), rec, tt.as)
					if applied {
						wantErr(t, err, idempotency.ErrLeaseLost)
					} else if err != nil {
						t.Errorf("the repetition: %v", err)
					}
					f.quiet()
					res, err := w.do(localtest.Invocation(t, time.Second), req, returns("again"))
					tt.told(t, res, err)
				})
			})
		}
	}
}

// A table that refuses has not been written to.
func TestResolve_Denied(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req := newFixture(t), request("k")
		crashed(t, f, req)
		rec, before := f.onlyUnknown(t), f.record(t, req)
		f.quiet()
		f.inject("UpdateItem", localtest.AccessDenied, forever)
		err := f.worker(t).runner.Resolve(t.Context(), rec, idempotency.NotDone())
		wantErr(t, err, idempotency.ErrUnavailable)
		if errors.Is(err, idempotency.ErrNotRecorded) {
			t.Errorf("error %v", err)
		}
		f.wantKinds(t, idempotency.KindStoreFailure)
		f.wantUntouched(t, req, before)
	})
}
