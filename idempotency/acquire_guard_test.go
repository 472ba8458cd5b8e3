package idempotency_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// H10, rule 9: inside one call of the SDK the claim is applied and its reply lost, and its repetition is refused. The last word
// is a refusal, and the key is given back all the same.
func TestAcquire_LostReplyThenRefused(t *testing.T) {
	t.Parallel()
	for _, claim := range claims {
		for _, first := range []localtest.FaultKind{localtest.ReplyLost, localtest.ServerErrorApplied} {
			t.Run(claim.name+"/"+first.String(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t)
					req := request("k")
					claim.make(t, f, req)
					f.quiet()
					f.db.Inject(localtest.Fault{Operation: claim.operation, Kind: first})
					f.db.Inject(localtest.Fault{Operation: claim.operation, Kind: localtest.AccessDenied, Nth: 2})
					_, err := f.worker(t, rerun).do(localtest.Invocation(t, 15*time.Second), req, returns("ran"))
					wantErr(t, err, idempotency.ErrUnavailable)
					f.wantRuns(t, 0)
					f.db.ClearFaults()
					f.wantStatus(t, req, claim.status)
					wantNext(t, f, req, claim.status)
				})
			})
		}
	}
}

// The observer panics as it is told that the key was acquired. The panic goes on, and the key is not blocked: the
// handler has not run.
func TestAcquire_ObserverPanics(t *testing.T) {
	t.Parallel()
	for _, claim := range claims {
		t.Run(claim.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				req := request("k")
				claim.make(t, f, req)
				f.quiet()
				w := f.worker(t, rerun, func(s *settings) {
					s.Observe = func(_ context.Context, e idempotency.Event) {
						if e.Kind == idempotency.KindAcquired || e.Kind == idempotency.KindTakenOver {
							panic("metrics")
						}
					}
				})
				func() {
					defer func() {
						if p := recover(); p != "metrics" {
							t.Errorf("the panic became %v", p)
						}
					}()
					_, _ = w.do(localtest.Invocation(t, 3*time.Second), req, returns("ran"))
				}()
				f.wantRuns(t, 0)
				f.wantStatus(t, req, claim.status)
				wantNext(t, f, req, claim.status)
			})
		})
	}
}

// H21, rule 18: the item is held without end. A caller with much time is told soon, and nothing runs.
func TestAcquire_HeldWithoutEnd(t *testing.T) {
	t.Parallel()
	for _, claim := range claims {
		for _, kind := range []localtest.FaultKind{localtest.Conflict, localtest.ReplicatedConflict} {
			t.Run(claim.name+"/"+kind.String(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t)
					req := request("k")
					claim.make(t, f, req)
					f.quiet()
					began := time.Now()
					f.inject(claim.operation, kind, forever)
					_, err := f.worker(t, rerun).do(localtest.Invocation(t, 15*time.Minute), req, returns("ran"))
					wantErr(t, err, idempotency.ErrUnavailable)
					f.wantRuns(t, 0)
					// Half a minute for the claim, and for an UpdateItem the same for giving it back.
					if took := time.Since(began); took > time.Minute || claim.operation == "PutItem" && took > 30*time.Second {
						t.Errorf("took %s", took)
					}
				})
			})
		}
	}
}

// A deadline that is far away makes no lease that blocks the key for good: a crash costs a day, not the century.
func TestAcquire_LeaseOfAFarDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		ctx, cancel := context.WithDeadline(t.Context(), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC))
		defer cancel()
		w, req := f.worker(t), request("k")
		began := time.Now()
		w.abandon(ctx, req, func(ctx context.Context) (string, error) {
			if deadline, ok := ctx.Deadline(); !ok || deadline.Sub(began) > 24*time.Hour {
				t.Errorf("the handler's context ends after %s", deadline.Sub(began))
			}
			w.die()
			return "", nil
		})
		pass(24*time.Hour + time.Second)
		_, err := f.worker(t, rerun).do(localtest.Invocation(t, time.Second), req, returns("early"))
		wantErr(t, err, idempotency.ErrInProgress)
		pass(time.Minute)
		res, err := f.worker(t, rerun).do(localtest.Invocation(t, time.Second), req, returns("again"))
		wantAnswer(t, res, err, "again", false)
	})
}

// C14: without a deadline of its own, a waiter waits as long as it was asked to, however short its own lease would be.
func TestWait_LongerThanTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		holder := f.worker(t, func(s *settings) { s.Lease = 10 * time.Minute })
		end := holder.hold(t.Context(), t, request("k"))
		done := make(chan struct{})
		go func() {
			defer close(done)
			pass(3 * time.Minute)
			if _, err := end(returns("first")); err != nil {
				t.Errorf("the first got %v", err)
			}
		}()
		res, err := f.worker(t).do(t.Context(), waitFor(5*time.Minute), returns("second"))
		wantAnswer(t, res, err, "first", true)
		<-done
	})
}

// C06: what ends a request for want of time is an event of its own, before the claim and after it.
func TestAcquire_NoTimeIsTold(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		left  time.Duration
		delay time.Duration // of the claim's reply
		want  []idempotency.Kind
	}{
		"before the claim": {time.Millisecond, 0, []idempotency.Kind{idempotency.KindNoTime}},
		"over":             {0, 0, []idempotency.Kind{idempotency.KindNoTime}},
		"after the claim":  {time.Second, 950 * time.Millisecond, []idempotency.Kind{idempotency.KindReleased, idempotency.KindNoTime}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				w := f.worker(t)
				w.after = nth("PutItem", 1, func() { pass(tt.delay) })
				ctx, cancel := context.WithTimeout(t.Context(), tt.left)
				defer cancel()
				_, err := w.do(ctx, request("k"), returns("ran"))
				wantErr(t, err, idempotency.ErrNoTime)
				f.wantRuns(t, 0)
				if !slices.Equal(f.kinds(), tt.want) {
					t.Fatalf("events %v, want %v", f.kinds(), tt.want)
				}
				seen := f.seen()
				wantErr(t, seen[len(seen)-1].Err, idempotency.ErrNoTime)
			})
		})
	}
}

// dropping is a client whose first UpdateItem loses an attribute of its reply.
type dropping struct {
	idempotency.Client
	attribute string
	done      *bool
}

func (d dropping) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	out, err := d.Client.UpdateItem(ctx, in, o...)
	if err == nil && !*d.done {
		*d.done = true
		delete(out.Attributes, d.attribute)
	}
	return out, err
}

// Rule 9, C36: a claim is applied, and what came back of it cannot be understood. Nothing runs, and the key is given back.
func TestAcquire_ReplyNotUnderstood(t *testing.T) {
	t.Parallel()
	for _, claim := range claims {
		if claim.operation != "UpdateItem" {
			continue
		}
		t.Run(claim.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				req := request("k")
				claim.make(t, f, req)
				w := f.worker(t, rerun)
				w.Client = dropping{w.Client, "attempt_no", new(bool)}
				f.quiet()
				_, err := w.do(localtest.Invocation(t, 3*time.Second), req, returns("ran"))
				wantErr(t, err, idempotency.ErrBadRecord)
				f.wantRuns(t, 0)
				f.wantStatus(t, req, claim.status)
				wantNext(t, f, req, claim.status)
			})
		})
	}
}

// C14: a twin's record is found, and too little time is left to wait for it: in progress, at once.
func TestWait_NoTimeToWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		w := f.worker(t, deployments["switched"])
		w.hold(localtest.Invocation(t, time.Hour), t, request("k"))
		f.quiet()
		began := time.Now()
		_, err := w.do(localtest.Invocation(t, 40*time.Millisecond), waitFor(time.Second), returns("second"))
		wantErr(t, err, idempotency.ErrInProgress)
		if took := time.Since(began); took > 0 {
			t.Errorf("waited %s", took)
		}
		f.wantKinds(t, idempotency.KindInProgress)
		f.wantCalls(t, "GetItem", "GetItem")
		f.wantRuns(t, 0)
	})
}
