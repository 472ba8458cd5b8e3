package idempotency_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// searched is a step that can be looked for on the other side, with what was done.
type searched struct {
	side
	asked int
	there string // what find finds; "": nothing
	fails error  // of find
}

func (s *searched) step(ctx context.Context, fn handler) (string, error) {
	return idempotency.StepOrFind(ctx, "charge", func(context.Context) (string, bool, error) {
		s.asked++
		return s.there, s.there != "", s.fails
	}, fn)
}

// handler is one of this step, which then goes on.
func (s *searched) handler(then handler) handler {
	return func(ctx context.Context) (string, error) {
		value, err := s.step(ctx, s.does("ch_1"))
		if err != nil {
			return "", err
		}
		if _, err := then(ctx); err != nil {
			return "", err
		}
		return value, nil
	}
}

// find is asked exactly where fn may have run without its record: not in the first attempt, nor where the step is recorded.
func TestStepOrFind_Asks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		before func(*testing.T, *fixture, idempotency.Request, *searched)
		asked  int
	}{
		{"first attempt", nothingBefore, 0},
		{"released before it", func(t *testing.T, f *fixture, req idempotency.Request, _ *searched) { f.make(t, "released", req) }, 1},
		{"unknown", func(t *testing.T, f *fixture, req idempotency.Request, _ *searched) { f.make(t, "unknown", req) }, 1},
		{"crashed", func(t *testing.T, f *fixture, req idempotency.Request, _ *searched) { f.make(t, "crashed", req) }, 1},
		{"unknown whose window is over", func(t *testing.T, f *fixture, req idempotency.Request, _ *searched) {
			f.make(t, "unknown", req)
			pass(2 * day)
		}, 1},
		{"outcome whose window is over", func(t *testing.T, f *fixture, req idempotency.Request, _ *searched) {
			f.make(t, "completed", req)
			pass(2 * day)
		}, 0},
		{"settled as not done", func(t *testing.T, f *fixture, req idempotency.Request, _ *searched) {
			f.make(t, "unknown", req)
			f.resolveOnly(t, idempotency.NotDone())
		}, 1},
		{"recorded, released", func(t *testing.T, f *fixture, req idempotency.Request, s *searched) {
			_, _ = f.worker(t).do(localtest.Invocation(t, time.Second), req, s.handler(fails(errPlain)))
		}, 0},
		{"recorded, unknown", func(t *testing.T, f *fixture, req idempotency.Request, s *searched) {
			_, _ = f.worker(t).do(localtest.Invocation(t, time.Second), req, s.handler(fails(idempotency.Unknown(errPlain))))
		}, 0},
	} {
		for found, there := range map[string]string{"found": "ch_0", "not found": ""} {
			t.Run(tt.name+"/"+found, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f, req, s := newFixture(t), request("k"), &searched{there: there}
					tt.before(t, f, req, s)
					want, effects := "ch_1", 1
					if there != "" && tt.asked > 0 {
						want, effects = there, 0
					}
					for _, end := range []handler{fails(errPlain), returns("")} { // what was found is recorded, too
						_, _ = f.worker(t, rerun).do(localtest.Invocation(t, time.Second), req, func(ctx context.Context) (string, error) {
							value, err := s.step(ctx, s.does("ch_1"))
							if err != nil || value != want {
								t.Errorf("%q, error %v; want %q", value, err, want)
							}
							wantSteps(t, f.record(t, req), "charge")
							return end(ctx)
						})
					}
					if s.asked != tt.asked {
						t.Errorf("find was asked %d times, want %d", s.asked, tt.asked)
					}
					s.wantEffects(t, effects)
				})
			})
		}
	}
}

func nothingBefore(*testing.T, *fixture, idempotency.Request, *searched) {}

// resolveOnly settles the one unknown that there is.
func (f *fixture) resolveOnly(t *testing.T, as idempotency.Resolution) {
	t.Helper()
	w := f.worker(t)
	if err := w.runner.Resolve(t.Context(), f.onlyUnknown(t), as); err != nil {
		t.Fatalf("Resolve: %v", err)
	}
}

// onlyUnknown is the one unknown that there is.
func (f *fixture) onlyUnknown(t *testing.T) idempotency.Record {
	t.Helper()
	var found []idempotency.Record
	for rec, err := range f.worker(t).runner.Unknowns(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, rec)
	}
	if len(found) != 1 {
		t.Fatalf("found %+v, want one", found)
	}
	return found[0]
}

// The step's error in the same run leaves open whether it happened: the next try looks first, and so does the next attempt.
func TestStepOrFind_AsksAfterAnError(t *testing.T) {
	t.Parallel()
	for _, ended := range []string{"error", "panic"} {
		t.Run(ended, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req, s := newFixture(t), request("k"), &searched{}
				res, err := f.worker(t).do(localtest.Invocation(t, time.Second), req, func(ctx context.Context) (string, error) {
					for i := range 3 {
						func() {
							defer func() { _ = recover() }()
							_, err := s.step(ctx, func(context.Context) (string, error) {
								if s.Add(1); ended == "panic" {
									panic("lost")
								}
								return "", errPlain
							})
							if err != errPlain { //nolint:errorlint // untouched
								t.Errorf("error %v", err)
							}
						}()
						if s.asked != i {
							t.Errorf("after try %d, find was asked %d times", i, s.asked)
						}
					}
					s.there = "ch_0"
					return s.step(ctx, s.does("twice"))
				})
				wantAnswer(t, res, err, "ch_0", false)
				s.wantEffects(t, 3)
				if s.asked != 3 {
					t.Errorf("find was asked %d times", s.asked)
				}
			})
		})
	}
}

// The look-up fails: nothing is run, its error is the step's, and the next try looks again.
func TestStepOrFind_FindFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req, s := newFixture(t), request("k"), &searched{fails: errPlain, there: "ignored"}
		crashed(t, f, req)
		res, err := f.worker(t, rerun).do(localtest.Invocation(t, time.Second), req, func(ctx context.Context) (string, error) {
			if _, err := s.step(ctx, s.does("twice")); err != errPlain { //nolint:errorlint // untouched
				t.Errorf("error %v, want find's own", err)
			}
			wantSteps(t, f.record(t, req))
			s.fails, s.there = nil, "ch_0"
			return s.step(ctx, s.does("twice"))
		})
		wantAnswer(t, res, err, "ch_0", false)
		s.wantEffects(t, 0)
		if s.asked != 2 {
			t.Errorf("find was asked %d times", s.asked)
		}
	})
}

// What was found cannot be recorded: it has happened, and is unknown all the same.
func TestStepOrFind_FoundIsNotRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req, s := newFixture(t), request("k"), &searched{there: "ch_0"}
		crashed(t, f, req)
		f.injectStep(localtest.RequestLost, forever)
		w := f.worker(t, rerun)
		_, err := w.do(localtest.Invocation(t, 3*time.Second), req, func(ctx context.Context) (string, error) {
			_, err := s.step(ctx, s.does("twice"))
			wantUnrecorded(t, w, err)
			return "", err
		})
		wantErr(t, err, idempotency.ErrNotRecorded)
		s.wantEffects(t, 0)
	})
}

// A test of a bare handler can look at both ways: WithAttempt says what the attempt is.
func TestStep_BareHandler(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]idempotency.Attempt{
		"first": {Token: "t", Number: 1}, "second": {Token: "t", Number: 2}, "after an unknown": {Token: "t", Number: 1, Prior: &idempotency.Prior{Number: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &searched{}
			ctx := idempotency.WithAttempt(t.Context(), a)
			value, err := s.handler(func(ctx context.Context) (string, error) {
				idempotency.TxFrom(ctx).Put("payments", payment{"p1", 60}).If("attribute_not_exists(id)")
				return idempotency.Step(ctx, "mail", s.does("sent"))
			})(ctx)
			if err != nil || value != "ch_1" {
				t.Errorf("%q, error %v", value, err)
			}
			s.wantEffects(t, 2)
			if asked := s.asked == 1; asked != (name != "first") {
				t.Errorf("find was asked %d times", s.asked)
			}
			actions, err := idempotency.TxFrom(ctx).Actions()
			if err != nil || len(actions) != 1 || actions[0].Put == nil || *actions[0].Put.TableName != "payments" || item(actions[0].Put.Item).text("id") != "p1" {
				t.Errorf("staged %+v, error %v", actions, err)
			}
			if _, err := s.step(ctx, s.does("again")); err == nil {
				t.Error("the name could be used twice")
			}
			if _, err := idempotency.Step(ctx, "chan", func(context.Context) (any, error) { return make(chan int), nil }); !errors.Is(err, idempotency.ErrNotRecorded) {
				t.Errorf("a result without JSON: %v", err)
			}
		})
	}
}

// What a bare handler's run leaves is not in the next one's: each context is a run of its own.
func TestStep_BareHandlersApart(t *testing.T) {
	t.Parallel()
	s := &side{}
	var values []string
	for range 2 {
		value, err := charging(s, returns(""))(idempotency.WithAttempt(t.Context(), idempotency.Attempt{Token: "t"}))
		if err != nil {
			t.Error(err)
		}
		values = append(values, value)
	}
	if !slices.Equal(values, []string{"ch_1", "ch_1"}) {
		t.Errorf("got %q", values)
	}
	s.wantEffects(t, 2)
}
