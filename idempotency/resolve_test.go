package idempotency_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// resolutions are the three, with what the next request gets of them.
var resolutions = []struct {
	name   string
	as     idempotency.Resolution
	status string
	kind   idempotency.Kind
	told   func(*testing.T, idempotency.Result[string], error) // the next request
	runs   int                                                 // of its handler
}{
	{"completed", idempotency.Completed("by hand"), "COMPLETED", idempotency.KindCompleted, func(t *testing.T, res idempotency.Result[string], err error) {
		t.Helper()
		wantAnswer(t, res, err, "by hand", true)
	}, 0},
	{"failed", idempotency.Failed(&declined{Code: "stolen"}), "FAILED", idempotency.KindFailed, wantDeclined, 0},
	{"failed, marked", idempotency.Failed(idempotency.Terminal(&declined{Code: "stolen"})), "FAILED", idempotency.KindFailed, wantDeclined, 0},
	{"not done", idempotency.NotDone(), "RELEASED", idempotency.KindReleased, func(t *testing.T, res idempotency.Result[string], err error) {
		t.Helper()
		wantAnswer(t, res, err, "again", false)
	}, 1},
}

func wantDeclined(t *testing.T, _ idempotency.Result[string], err error) {
	t.Helper()
	if f, ok := errors.AsType[*idempotency.Failure](err); !ok || f.Type != "declined" || f.Message != "declined: stolen" || !json.Valid(f.Data) {
		t.Errorf("error %v, want the failure", err)
	}
}

// An unknown is settled as somebody has found out; its prior with it. What has been recorded is kept for the retention from
// then on, the fingerprint for as long, and the next request gets it as if the attempt had ended so.
func TestResolve_Settles(t *testing.T) {
	t.Parallel()
	for _, tt := range resolutions {
		for _, found := range []string{"unknown", "crashed", "unknown with a prior"} {
			t.Run(tt.name+"/"+found, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f, req, s, seen := newFixture(t), request("k"), &side{}, &witness{}
					w := f.worker(t, rerun, func(c *settings) { c.Retention, c.UnknownRetention = time.Hour, 3*day })
					req.Ref = "order 17"
					if found == "unknown with a prior" {
						_, _ = w.do(localtest.Invocation(t, time.Second), req, fails(idempotency.Unknown(errPlain)))
					}
					if found == "crashed" {
						owner := f.worker(t)
						owner.abandon(localtest.Invocation(t, time.Second), req, charging(s, func(context.Context) (string, error) { owner.die(); return "", nil }))
					} else {
						_, _ = w.do(localtest.Invocation(t, time.Second), req, charging(s, fails(idempotency.Unknown(errPlain))))
					}
					pass(time.Minute)
					before, rec := f.record(t, req), f.onlyUnknown(t)
					f.quiet()
					if err := w.runner.Resolve(t.Context(), rec, tt.as); err != nil {
						t.Fatal(err)
					}
					now := time.Now()
					f.wantCalls(t, "UpdateItem")
					f.wantKinds(t, tt.kind)
					if e := f.seen()[0]; e.ID != id(req) || e.Operation != req.Operation || e.Ref != "order 17" || e.WriteUnits == 0 || e.Err != nil {
						t.Errorf("event %+v", e)
					}
					it := f.wantStatus(t, req, tt.status)
					if it.has("prior_no") || it.has("prior_started") || it.has("prior_lease") {
						t.Errorf("the prior is not settled: %v", it)
					}
					if it.text("attempt") == rec.Token || it.text("attempt") == "" || it.number("attempt_no") != rec.Attempt+1 || it.text("prev") != rec.Token || it.text("prev_end") != before.text("status") {
						t.Errorf("rule 23: the record is %v", it)
					}
					if tt.runs > 0 {
						wantExpiry(t, it, now.Add(3*day))
						wantSteps(t, it, "charge")
					} else {
						want := now.Add(time.Hour)
						if rec.Expires.After(want) { // what the request was promised
							want = rec.Expires
						}
						wantExpiry(t, it, want)
						if it.has("steps") || it.number("completed") != now.UnixMilli() {
							t.Errorf("the outcome is %v", it)
						}
					}
					if seen := w.unknowns(t.Context(), t); len(seen) != 0 {
						t.Errorf("still found: %v", seen)
					}
					_, err := f.worker(t).do(localtest.Invocation(t, time.Second), other(req), returns("wrong"))
					wantErr(t, err, idempotency.ErrMismatch)

					f.quiet()
					res, err := f.worker(t).do(localtest.Invocation(t, time.Second), req, seen.then(func(ctx context.Context) (string, error) {
						if charge, err := charging(s, returns(""))(ctx); err != nil || charge != "ch_1" {
							t.Errorf("the step's %q, error %v", charge, err)
						}
						return "again", nil
					}))
					tt.told(t, res, err)
					f.wantRuns(t, tt.runs)
					s.wantEffects(t, 1)
					if tt.runs > 0 && seen.last().Prior != nil {
						t.Errorf("prior %+v, want none", seen.last().Prior)
					}
				})
			})
		}
	}
}

// What a caller can ask for wrongly is refused before the table is asked.
func TestResolve_Refused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	w, rec, done := f.worker(t), idempotency.Record{ID: "charge#1", Token: "t"}, idempotency.NotDone()
	f.quiet()
	for _, tt := range []struct {
		field string
		err   error
	}{
		{"Runner", (*idempotency.Runner)(nil).Resolve(t.Context(), rec, done)},
		{"Runner", (&idempotency.Runner{}).Resolve(t.Context(), rec, done)},
		{"Record.ID", w.runner.Resolve(t.Context(), idempotency.Record{Token: "t"}, done)},
		{"Record.Token", w.runner.Resolve(t.Context(), idempotency.Record{ID: "charge#1"}, done)},
		{"Resolution", w.runner.Resolve(t.Context(), rec, idempotency.Resolution{})},
		{"Failed's err", w.runner.Resolve(t.Context(), rec, idempotency.Failed(nil))},
		{"Failed's err", w.runner.Resolve(t.Context(), rec, idempotency.Failed(idempotency.Terminal(nil)))},
	} {
		if e, ok := errors.AsType[*idempotency.FieldError](tt.err); !ok || e.Field != tt.field {
			t.Errorf("error %v, want a FieldError of %s", tt.err, tt.field)
		}
	}
	f.wantCalls(t)
}

// A value that cannot be recorded is refused, and the unknown stays one.
func TestResolve_ValueCannotBeRecorded(t *testing.T) {
	t.Parallel()
	for name, as := range map[string]idempotency.Resolution{
		"unencodable": idempotency.Completed(make(chan int)),
		"too large":   idempotency.Completed(strings.Repeat("x", 8<<20)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req := newFixture(t), request("k")
				f.make(t, "unknown", req)
				before, rec := f.record(t, req), f.onlyUnknown(t)
				f.quiet()
				err := f.worker(t).runner.Resolve(t.Context(), rec, as)
				if _, unencodable := errors.AsType[*json.UnsupportedTypeError](err); err == nil || !strings.HasPrefix(err.Error(), "idempotency: ") || unencodable != (name == "unencodable") {
					t.Errorf("error %v", err)
				}
				f.wantCalls(t)
				f.wantUntouched(t, req, before)
			})
		})
	}
}

// The largest value fits.
func TestResolve_LargestValue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req := newFixture(t), request("k")
		f.make(t, "unknown", req)
		value := strings.Repeat("x", 392<<10-2)
		f.resolveOnly(t, idempotency.Completed(value))
		res, err := f.worker(t).do(localtest.Invocation(t, time.Second), req, returns("again"))
		if err != nil || res.Value != value || !res.Replayed {
			t.Errorf("%d bytes, error %v", len(res.Value), err)
		}
	})
}

// Completed's value is what the handler would have returned: one that does not fit its type is told so, and nothing runs.
func TestResolve_ValueOfAnotherType(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req := newFixture(t), request("k")
		f.make(t, "unknown", req)
		f.resolveOnly(t, idempotency.Completed(17))
		f.quiet()
		_, err := f.worker(t).do(localtest.Invocation(t, time.Second), req, returns("again"))
		wantErr(t, err, idempotency.ErrBadRecord)
		f.wantRuns(t, 0)
	})
}

// Rule 27: an unknown under the old secret is settled where it is, while secrets rotate.
func TestResolve_SecretsRotate(t *testing.T) {
	t.Parallel()
	for name, deployment := range deployments {
		for _, tt := range resolutions {
			t.Run(name+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f, req := newFixture(t), request("k")
					_, _ = f.worker(t, secrets(oldSecret)).do(localtest.Invocation(t, time.Second), req, fails(idempotency.Unknown(errPlain)))
					w := f.worker(t, deployment)
					rec := f.onlyUnknown(t)
					if err := w.runner.Resolve(t.Context(), rec, tt.as); err != nil {
						t.Fatal(err)
					}
					if it := f.at(t, under(oldSecret, req)); it.text("status") != tt.status {
						t.Errorf("the record is %v", it)
					}
					f.quiet()
					res, err := w.do(localtest.Invocation(t, time.Second), req, returns("again"))
					tt.told(t, res, err)
					f.wantRuns(t, tt.runs)
				})
			})
		}
	}
}
