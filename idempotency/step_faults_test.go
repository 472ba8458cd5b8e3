package idempotency_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// stepWrite says of a call that it records a step.
func stepWrite(c localtest.Call) bool { return strings.Contains(c.Update, "#steps.") }

// injectStep makes the writes of steps go wrong, and no others.
func (f *fixture) injectStep(kind localtest.FaultKind, times int) {
	f.db.Inject(localtest.Fault{Operation: "UpdateItem", Match: stepWrite, Kind: kind, Times: times, Delay: lateBy(kind)})
}

// C02, I7: whatever becomes of one call, the step is recorded once, and its run goes on. So it does where the reply is
// lost for good and only the record tells.
func TestStep_OwnWriteFound(t *testing.T) {
	t.Parallel()
	for _, kind := range append(slices.Clone(faultKinds), localtest.Conflict, localtest.ReplicatedConflict, localtest.Unavailable) {
		for name, options := range map[string][]option{"SDK retries": nil, "no retries": {withoutRetries}} {
			for _, times := range []int{1, forever} {
				if times == forever && !slices.Contains([]localtest.FaultKind{localtest.ReplyLost, localtest.TruncatedReply, localtest.HangApplied, localtest.ServerErrorApplied}, kind) {
					continue
				}
				t.Run(fmt.Sprintf("%v/%s/%d times", kind, name, times), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						f, req, s := newFixture(t), request("k"), &side{}
						f.injectStep(kind, times)
						_, err := f.worker(t, options...).do(localtest.Invocation(t, 10*time.Second), req, charging(s, fails(errPlain)))
						wantErr(t, err, errPlain)
						wantSteps(t, f.wantStatus(t, req, "RELEASED"), "charge")
						res, err := f.worker(t).do(localtest.Invocation(t, time.Second), req, charging(s, returns("")))
						wantAnswer(t, res, err, "ch_1", false)
						s.wantEffects(t, 1)
					})
				})
			}
		}
	}
}

// I9: a step that has run and cannot be recorded leaves the outcome unknown, also if the handler wraps the error. Nothing
// follows it but what the policy says; the next run does not find the step.
func TestStep_NotRecorded(t *testing.T) {
	t.Parallel()
	for _, kind := range []localtest.FaultKind{
		localtest.RequestLost, localtest.Hang, localtest.Throttled, localtest.ServerError, localtest.AccessDenied, localtest.Conflict,
	} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req, s := newFixture(t), request("k"), &side{}
				w := f.worker(t)
				f.injectStep(kind, forever)
				_, err := w.do(localtest.Invocation(t, 3*time.Second), req, func(ctx context.Context) (string, error) {
					_, err := idempotency.Step(ctx, "charge", s.does("ch_1"))
					wantUnrecorded(t, w, err)
					_, again := idempotency.Step(context.WithoutCancel(ctx), "charge", s.does("ch_1"))
					if again == nil {
						t.Error("the name could be used again")
					}
					return "", fmt.Errorf("pay: %w", err)
				})
				wantErr(t, err, idempotency.ErrNotRecorded)
				if !strings.HasPrefix(err.Error(), "pay: ") {
					t.Errorf("error %v, want the handler's", err)
				}
				s.wantEffects(t, 1)
				wantSteps(t, f.wantStatus(t, req, "UNKNOWN"))
				f.db.ClearFaults()
				_, err = w.do(localtest.Invocation(t, 3*time.Second), req, charging(s, returns("")))
				wantErr(t, err, idempotency.ErrOutcomeUnknown)
				s.wantEffects(t, 1)
			})
		})
	}
}

// The write arrives after everybody has given up on it: it changes nothing under a token that has ended.
func TestStep_WriteArrivesAfterTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req, s := newFixture(t), request("k"), &side{}
		f.db.Inject(localtest.Fault{Operation: "UpdateItem", Match: stepWrite, Kind: localtest.AppliedLate, Times: forever, Delay: time.Hour})
		_, err := f.worker(t).do(localtest.Invocation(t, 3*time.Second), req, charging(s, returns("")))
		wantErr(t, err, idempotency.ErrNotRecorded)
		before := f.wantStatus(t, req, "UNKNOWN")
		if f.db.Flush() == 0 {
			t.Error("nothing was under way")
		}
		f.wantUntouched(t, req, before)
	})
}

// The record is deleted, or is not such that a step fits in, while the step runs. Its effect has happened.
func TestStep_RecordChangedByHand(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*testing.T, *fixture, idempotency.Request){
		"gone":             func(t *testing.T, f *fixture, req idempotency.Request) { f.remove(t, req) },
		"without steps":    func(t *testing.T, f *fixture, req idempotency.Request) { f.edit(t, req, item{"steps": nil}) },
		"steps are a text": func(t *testing.T, f *fixture, req idempotency.Request) { f.edit(t, req, item{"steps": text("none")}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req := newFixture(t), request("k")
				w := f.worker(t)
				_, err := w.do(localtest.Invocation(t, 3*time.Second), req, func(ctx context.Context) (string, error) {
					_, err := idempotency.Step(ctx, "charge", func(context.Context) (string, error) {
						change(t, f, req)
						return "ch_1", nil
					})
					wantUnrecorded(t, w, err)
					return "", err
				})
				wantErr(t, err, idempotency.ErrNotRecorded)
				if it := f.record(t, req); name == "gone" && it != nil {
					t.Errorf("the deleted record came back: %v", it)
				} else if name != "gone" && it.text("status") != "UNKNOWN" {
					t.Errorf("the record is %v", it)
				}
			})
		})
	}
}

// A step does not begin once the handler's time is over: there is none left to record it.
func TestStep_TimeIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req, s := newFixture(t), request("k"), &side{}
		_, err := f.worker(t).do(localtest.Invocation(t, time.Second), req, func(ctx context.Context) (string, error) {
			<-ctx.Done()
			f.quiet()
			_, err := idempotency.Step(ctx, "charge", s.does("ch_1"))
			wantErr(t, err, context.DeadlineExceeded)
			if !strings.Contains(err.Error(), "has not begun") || !strings.Contains(err.Error(), "kept to record its outcome") {
				t.Errorf("error %v, want one that says why", err)
			}
			f.wantCalls(t)
			return "", idempotency.Safe(err)
		})
		wantErr(t, err, context.DeadlineExceeded)
		s.wantEffects(t, 0)
		f.wantStatus(t, req, "RELEASED")
	})
}

// One that has begun is recorded all the same, whoever has hung up: its effect has happened (C16).
func TestStep_EndsAfterItsContext(t *testing.T) {
	t.Parallel()
	for _, over := range []string{"handler's", "caller's", "step's own"} {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req := newFixture(t), request("k")
				ctx, hangUp := context.WithCancel(localtest.Invocation(t, 3*time.Second))
				defer hangUp()
				_, err := f.worker(t).do(ctx, req, func(ctx context.Context) (string, error) {
					own, cancel := context.WithCancel(ctx)
					defer cancel()
					value, err := idempotency.Step(own, "charge", func(ctx context.Context) (string, error) {
						switch over {
						case "caller's":
							hangUp()
						case "step's own":
							cancel()
						}
						<-ctx.Done()
						return "ch_1", nil
					})
					if err != nil || value != "ch_1" {
						t.Errorf("%q, error %v", value, err)
					}
					return "", errPlain
				})
				wantErr(t, err, errPlain)
				wantSteps(t, f.wantStatus(t, req, "RELEASED"), "charge")
			})
		})
	}
}
