package idempotency_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

const day = 24 * time.Hour

// within says that an expiry (in seconds) lies at a time, rounded up.
func wantExpiry(t *testing.T, it item, want time.Time) {
	t.Helper()
	if got := it.number("expiration"); got < want.Unix() || got > want.Unix()+1 || time.Unix(got, 0).Before(want) {
		t.Errorf("the window ends at %v, want %v", time.Unix(got, 0).UTC(), want.UTC())
	}
}

// Rule 7, H13: when the window ends, by status: an outcome's retention counts from completion; without an outcome it
// counts from the lease's end or from the moment of the mark, and is the longer one. Seconds are rounded up.
func TestWindow_Ends(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		set                 func(*settings)
		retention           time.Duration // of the request
		finished, untelling time.Duration
	}{
		"defaults":                 {func(*settings) {}, 0, day, day},
		"short":                    {func(s *settings) { s.Retention = time.Second }, 0, time.Second, day},
		"long":                     {func(s *settings) { s.Retention = 14 * day }, 0, 14 * day, 14 * day},
		"long request":             {func(*settings) {}, 14 * day, 14 * day, 14 * day},
		"short request":            {func(*settings) {}, time.Minute, time.Minute, day},
		"unknowns kept longer":     {func(s *settings) { s.UnknownRetention = 30 * day }, 0, day, 30 * day},
		"unknowns never shorter":   {func(s *settings) { s.UnknownRetention, s.Retention = time.Minute, time.Hour }, 0, time.Hour, time.Hour},
		"unknowns asked for short": {func(s *settings) { s.UnknownRetention, s.Retention = time.Minute, time.Second }, 0, time.Second, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				w := f.worker(t, tt.set)
				ask := func(k string, h handler) item {
					pass(300 * time.Millisecond) // off the whole second
					req := request(k)
					req.Retention = tt.retention
					_, _ = w.do(localtest.Invocation(t, 3*time.Second), req, h)
					return f.record(t, req)
				}
				ask("running", func(context.Context) (string, error) {
					it := f.record(t, request("running"))
					wantExpiry(t, it, time.UnixMilli(it.number("in_progress_expiration")).Add(tt.untelling))
					return "", nil
				})
				it := ask("completed", returns("ok"))
				wantExpiry(t, it, time.Now().Add(tt.finished))
				it = ask("failed", fails(idempotency.Terminal(errPlain)))
				wantExpiry(t, it, time.Now().Add(tt.finished))
				it = ask("released", fails(errPlain))
				wantExpiry(t, it, time.Now().Add(tt.untelling))
				it = ask("unknown", fails(idempotency.Unknown(errPlain)))
				wantExpiry(t, it, time.Now().Add(tt.untelling))
			})
		})
	}
}

// C05: retention shorter than the handler's run: a duplicate at any moment of it does not run.
func TestWindow_ShorterThanTheRun(t *testing.T) {
	t.Parallel()
	for _, retention := range []time.Duration{time.Second, 5 * time.Second} {
		t.Run(retention.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				set := func(s *settings) { s.Retention, s.UnknownRetention = retention, retention }
				end := f.worker(t, set).hold(localtest.Invocation(t, 15*time.Minute), t, request("k"))
				for range 9 {
					pass(90 * time.Second)
					_, err := f.worker(t, set, rerun).do(localtest.Invocation(t, time.Second), request("k"), returns("twice"))
					wantErr(t, err, idempotency.ErrInProgress)
				}
				res, err := end(returns("first"))
				wantAnswer(t, res, err, "first", false)
				res, err = f.worker(t, set).do(localtest.Invocation(t, time.Second), request("k"), returns("twice"))
				wantAnswer(t, res, err, "first", true)
				f.wantRuns(t, 1)
			})
		})
	}
}

// H8: a crash at the last moment of a long run stays unknown for the whole unknown retention.
func TestWindow_UnknownIsProtected(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*testing.T, *fixture){
		"crash": func(t *testing.T, f *fixture) {
			t.Helper()
			w := f.worker(t, func(s *settings) { s.Retention = 5 * time.Second })
			w.abandon(localtest.Invocation(t, 15*time.Minute), request("k"), func(context.Context) (string, error) {
				pass(14*time.Minute + 58*time.Second)
				w.die()
				return "", nil
			})
		},
		"mark": func(t *testing.T, f *fixture) {
			t.Helper()
			w := f.worker(t, func(s *settings) { s.Retention = 5 * time.Second })
			_, _ = w.do(localtest.Invocation(t, 15*time.Minute), request("k"), func(ctx context.Context) (string, error) {
				<-ctx.Done()
				return "", ctx.Err()
			})
		},
		// Rule 1, rule 7: so does a release by an attempt that has a prior.
		"release with a prior": func(t *testing.T, f *fixture) {
			t.Helper()
			crashed(t, f, request("k"))
			pass(23 * time.Hour)
			_, _ = f.worker(t, rerun).do(localtest.Invocation(t, 3*time.Second), request("k"), fails(errPlain))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				leave(t, f)
				f.db.EnableTTL(t, f.table, "expiration")
				f.quiet()
				for range 23 {
					pass(time.Hour)
					f.db.Sweep(0)
					_, err := f.worker(t).do(localtest.Invocation(t, 3*time.Second), request("k"), returns("blind"))
					wantErr(t, err, idempotency.ErrOutcomeUnknown)
				}
				f.wantRuns(t, 0)
			})
		})
	}
}

// Rule 8, rule 11, C51: past its window a record counts as none, whether TTL has deleted it or not: for any input,
// and the event says so. An unknown that is forgotten so is still told to the handler.
func TestWindow_Over(t *testing.T) {
	t.Parallel()
	for _, found := range founds[1:] {
		for _, ttl := range []string{"late", "in time"} {
			t.Run(found.name+"/ttl "+ttl, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t)
					req := request("k")
					start := time.Now()
					found.make(t, f, req)
					before := f.record(t, req)
					pass(25 * time.Hour)
					kind := idempotency.KindExpired
					if ttl == "in time" {
						f.db.EnableTTL(t, f.table, "expiration")
						if n := f.db.Sweep(0); n != 1 {
							t.Errorf("TTL deleted %d items, want 1", n)
						}
						kind = idempotency.KindAcquired
					}
					f.quiet()
					res, err := f.worker(t).do(localtest.Invocation(t, 3*time.Second), other(req), func(ctx context.Context) (string, error) {
						a := idempotency.AttemptFrom(ctx)
						if a.Number != 1 {
							t.Errorf("attempt %d of a new window", a.Number)
						}
						lost := ttl == "late" && (found.status == "INPROGRESS" || found.status == "UNKNOWN")
						if (a.Prior != nil) != lost {
							t.Errorf("prior %+v, want one: %t", a.Prior, lost)
						} else if lost && (a.Prior.Number != 1 || !a.Prior.Started.Equal(start) || a.Prior.LeaseEnd.UnixMilli() != before.number("in_progress_expiration")) {
							t.Errorf("prior %+v of %v", a.Prior, before)
						}
						return "anew", nil
					})
					wantAnswer(t, res, err, "anew", false)
					f.wantKinds(t, kind, idempotency.KindCompleted)
				})
			})
		}
	}
}

// Rule 8: the forgotten unknown is stored by the attempt's next write: its release leaves an unknown.
func TestWindow_ForgottenUnknownIsStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		req := request("k")
		start := time.Now()
		crashed(t, f, req)
		pass(30 * time.Hour)
		if res, _ := f.worker(t).do(localtest.Invocation(t, 3*time.Second), req, fails(errPlain)); res.Reruns {
			t.Error("its caller is told that the next request runs")
		}
		it := f.wantStatus(t, req, "UNKNOWN")
		if it.number("prior_no") != 1 || it.number("prior_started") != start.UnixMilli() || !it.has("prior_lease") {
			t.Errorf("the prior is not stored: %v", it)
		}
		_, err := f.worker(t).do(localtest.Invocation(t, 3*time.Second), req, returns("blind"))
		wantErr(t, err, idempotency.ErrOutcomeUnknown)
	})
}

// What is over and cannot be read binds nobody, and takes nothing from the attempt that has replaced it.
func TestWindow_OverAndNotUnderstood(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]item{
		"newer schema": {"schema": number(2)}, "no token": {"attempt": nil}, "no data": {"data": nil}, "newer fingerprint": {"validation": text("v9:abcdef")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req := newFixture(t), request("k")
				f.worker(t).must(localtest.Invocation(t, time.Second), t, req, returns("first"))
				f.edit(t, req, change)
				pass(25 * time.Hour)
				res, err := f.worker(t).do(localtest.Invocation(t, time.Second), req, returns("second"))
				wantAnswer(t, res, err, "second", false)
				f.wantStatus(t, req, "COMPLETED")
			})
		})
	}
}

// I6: neither the window's end nor TTL takes a live lease, however short the retention.
func TestWindow_LiveLease(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]item{"as it is": {}, "window over": {"expiration": number(1)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				set := func(s *settings) { s.Retention, s.UnknownRetention = time.Second, time.Second }
				req := request("k")
				f.db.EnableTTL(t, f.table, "expiration")
				end := f.worker(t, set).hold(localtest.Invocation(t, 15*time.Minute), t, req)
				if len(change) > 0 {
					f.edit(t, req, change)
				}
				for range 14 {
					pass(time.Minute)
					if len(change) == 0 && f.db.Sweep(0) != 0 {
						t.Error("TTL deleted a live lease")
					}
					_, err := f.worker(t, set, rerun).do(localtest.Invocation(t, time.Second), req, returns("twice"))
					wantErr(t, err, idempotency.ErrInProgress)
					_, err = f.worker(t, set, rerun).do(localtest.Invocation(t, time.Second), other(req), returns("wrong"))
					wantErr(t, err, idempotency.ErrMismatch)
				}
				res, err := end(returns("first"))
				wantAnswer(t, res, err, "first", false)
				f.wantRuns(t, 1)
			})
		})
	}
}

// H13: a lease that an outcome has left behind by an older release says nothing.
func TestWindow_OldLeaseOfAnOutcome(t *testing.T) {
	t.Parallel()
	for _, found := range founds[2:] {
		t.Run(found.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				req := request("k")
				found.make(t, f, req)
				f.edit(t, req, item{"expiration": number(1), "in_progress_expiration": number(time.Now().Add(time.Hour).UnixMilli())})
				res, err := f.worker(t).do(localtest.Invocation(t, time.Second), req, returns("anew"))
				wantAnswer(t, res, err, "anew", false)
			})
		})
	}
}

// Rule 11: the window holds for a clock margin of 2 s past its end, to the second.
func TestWindow_Margin(t *testing.T) {
	t.Parallel()
	for _, found := range founds[2:] {
		t.Run(found.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				req := request("k")
				found.make(t, f, req)
				end := time.Unix(f.record(t, req).number("expiration"), 0)
				pass(time.Until(end) + 2999*time.Millisecond)
				_, err := f.worker(t).do(localtest.Invocation(t, time.Second), other(req), returns("anew"))
				wantErr(t, err, idempotency.ErrMismatch)
				pass(time.Millisecond)
				res, err := f.worker(t).do(localtest.Invocation(t, time.Second), other(req), returns("anew"))
				wantAnswer(t, res, err, "anew", false)
			})
		})
	}
}
