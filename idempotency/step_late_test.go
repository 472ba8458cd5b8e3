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

// lateStep runs a handler whose step is under way when the lease has ended. The step ends when told, with its error on
// stepped, and then the handler as it is given; ended has what its caller gets.
type lateStep struct {
	finish  chan struct{}
	stepped chan error
	end     func(handler) (idempotency.Result[string], error)
	ctx     context.Context //nolint:containedctx // a handler's, which the test needs after that has overrun it
}

func newLateStep(t *testing.T, w *worker, req idempotency.Request, s *side) *lateStep {
	t.Helper()
	l := &lateStep{finish: make(chan struct{}), stepped: make(chan error, 1)}
	begun := make(chan struct{})
	end := w.hold(localtest.Invocation(t, time.Second), t, req)
	type answer struct {
		res idempotency.Result[string]
		err error
	}
	then, answers := make(chan handler, 1), make(chan answer, 1)
	go func() {
		res, err := end(func(ctx context.Context) (string, error) {
			l.ctx = context.WithoutCancel(ctx)
			_, err := idempotency.Step(ctx, "charge", func(context.Context) (string, error) {
				close(begun)
				<-l.finish
				s.Add(1)
				return "late ch", nil
			})
			l.stepped <- err
			return (<-then)(ctx)
		})
		answers <- answer{res, err}
	}()
	<-begun
	l.end = func(h handler) (idempotency.Result[string], error) {
		then <- h
		a := <-answers
		return a.res, a.err
	}
	pass(4 * time.Second)
	return l
}

// H7, rule 5: a late owner records its step between the look and the take-over of the next attempt, which gets it and
// runs nothing.
func TestStep_RecordedAtTheLastMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req, s, seen := newFixture(t), request("k"), &side{}, &witness{}
		late := newLateStep(t, f.worker(t), req, s)
		taker := f.worker(t, rerun)
		meet := nth("UpdateItem", 1, func() {
			close(late.finish)
			if err := <-late.stepped; err != nil {
				t.Errorf("the late step: %v", err)
			}
		})
		taker.before = func(operation string) error { meet(operation); return nil }
		res, err := taker.do(localtest.Invocation(t, 3*time.Second), req, seen.then(charging(s, returns(""))))
		wantAnswer(t, res, err, "late ch", false)
		s.wantEffects(t, 1)
		if p := seen.last().Prior; p == nil || len(p.Steps) != 1 {
			t.Errorf("prior %+v, want the step", p)
		}
		res, err = late.end(returns("late"))
		wantErr(t, err, idempotency.ErrLeaseLost)
		if res.Value != "late ch" || !res.Replayed {
			t.Errorf("got %+v, want the winner's outcome", res)
		}
	})
}

// Rule 6: a step of an attempt that has lost its lease is told so; no later one begins, not even one that is recorded, and
// the table is not asked again for them. Nothing of the winner changes, and its outcome is the caller's answer.
func TestStep_LeaseLost(t *testing.T) {
	t.Parallel()
	winners := map[string]handler{"completed": returns("winner"), "still runs": nil, "marked unknown": fails(idempotency.Unknown(errPlain))}
	ends := map[string]func(error) handler{
		"hands on":       func(err error) handler { return fails(err) },
		"hides":          func(error) handler { return returns("late") },
		"says otherwise": func(error) handler { return fails(errPlain) },
	}
	for winner, wins := range winners {
		for name, h := range ends {
			t.Run(winner+"/"+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f, req, s := newFixture(t), request("k"), &side{}
					late := newLateStep(t, f.worker(t), req, s)
					if wins == nil {
						f.worker(t, rerun).hold(localtest.Invocation(t, time.Minute), t, req)
					} else {
						_, _ = f.worker(t, rerun).do(localtest.Invocation(t, time.Second), req, wins)
					}
					before := f.record(t, req)
					f.quiet()
					close(late.finish)
					stepErr := <-late.stepped
					wantErr(t, stepErr, idempotency.ErrLeaseLost)
					if st, ok := errors.AsType[*idempotency.StateError](stepErr); !ok || st.Attempt != 2 {
						t.Errorf("state %+v, want the winner's attempt", st)
					}
					if class := idempotency.ClassOf(f.worker(t).runner, stepErr); class != idempotency.Ambiguous {
						t.Errorf("the step's error means %v", class)
					}
					f.wantCalls(t, "UpdateItem")
					for _, step := range []string{"mail", "charge"} {
						if _, err := idempotency.Step(late.ctx, step, s.does("")); !errors.Is(err, idempotency.ErrLeaseLost) {
							t.Errorf("a later step: %v", err)
						}
					}
					s.wantEffects(t, 1)
					f.wantCalls(t, "UpdateItem")

					res, err := late.end(h(stepErr))
					f.wantUntouched(t, req, before)
					f.wantKinds(t, idempotency.KindLeaseLost)
					switch {
					case name != "says otherwise" || winner == "completed":
						wantErr(t, err, idempotency.ErrLeaseLost)
					case err != errPlain: //nolint:errorlint // untouched: nothing replaces the handler's own (rule 10)
						t.Errorf("error %v, want the handler's own", err)
					}
					if winner == "completed" && (res.Value != "winner" || !res.Replayed) || winner != "completed" && res.Value != "" {
						t.Errorf("got %+v", res)
					}
				})
			})
		}
	}
}

// H6, rule 4: the key's window is over and it is another request's. That one's state is none of the late step's business.
func TestStep_LostToAnotherRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req, s := newFixture(t), request("k"), &side{}
		late := newLateStep(t, f.worker(t), req, s)
		pass(2 * day)
		theirs := other(req)
		theirs.Ref = "order of somebody else"
		f.worker(t).must(localtest.Invocation(t, time.Second), t, theirs, returns("not yours"))
		before := f.record(t, req)
		close(late.finish)
		err := <-late.stepped
		wantErr(t, err, idempotency.ErrLeaseLost)
		if st, ok := errors.AsType[*idempotency.StateError](err); !ok || st.Attempt != 0 || st.Ref != "" {
			t.Errorf("state %+v tells of another request", st)
		}
		res, err := late.end(fails(err))
		wantErr(t, err, idempotency.ErrLeaseLost)
		if res.Value != "" {
			t.Errorf("got %+v", res)
		}
		f.wantUntouched(t, req, before)
	})
}

// A late attempt that nobody has replaced is still the owner: its step is recorded.
func TestStep_LateAndStillOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req, s := newFixture(t), request("k"), &side{}
		late := newLateStep(t, f.worker(t), req, s)
		close(late.finish)
		if err := <-late.stepped; err != nil {
			t.Error(err)
		}
		_, err := late.end(fails(errPlain))
		wantErr(t, err, errPlain)
		wantSteps(t, f.wantStatus(t, req, "RELEASED"), "charge")
	})
}

// H1, rule 1: an attempt that has taken an unknown over is released: what it leaves is an unknown, with its steps and the
// first attempt's.
func TestStep_ReleaseAfterTakeOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req, s := newFixture(t), request("k"), &side{}
		w := f.worker(t)
		w.abandon(localtest.Invocation(t, time.Second), req, charging(s, func(context.Context) (string, error) { w.die(); return "", nil }))
		pass(4 * time.Second)
		_, err := f.worker(t, rerun).do(localtest.Invocation(t, time.Second), req, charging(s, func(ctx context.Context) (string, error) {
			if _, err := idempotency.Step(ctx, "mail", s.does("sent")); err != nil {
				return "", err
			}
			return "", errPlain
		}))
		wantErr(t, err, errPlain)
		it := f.wantStatus(t, req, "UNKNOWN")
		wantSteps(t, it, "charge", "mail")
		if it.number("prior_no") != 1 || it.number("attempt_no") != 2 {
			t.Errorf("the record is %v", it)
		}
		_, err = f.worker(t).do(localtest.Invocation(t, time.Second), req, charging(s, returns("")))
		wantErr(t, err, idempotency.ErrOutcomeUnknown)
		s.wantEffects(t, 2)
	})
}
