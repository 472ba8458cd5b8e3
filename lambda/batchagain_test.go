package lambda_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// shop is a queue's consumer whose handler notes what it runs for and fails for the bodies in broken.
type shop struct {
	runs   []string
	broken map[string]error
	sqsHandler
}

func newShop(r *idempotency.Runner, request func(context.Context, events.SQSMessage) (idempotency.Request, error)) *shop {
	s := &shop{broken: map[string]error{}}
	s.sqsHandler = lambda.SQS(r, quiet(lambda.Batch{Operation: "ship"}), request, func(_ context.Context, m events.SQSMessage) error {
		s.runs = append(s.runs, m.Body)
		return s.broken[m.Body]
	})
	return s
}

// ran is what the handler has run for since the last call.
func (s *shop) ran() string {
	list := strings.Join(s.runs, " ")
	s.runs = nil
	return list
}

// round is one delivery of a batch.
func (s *shop) round(t *testing.T, q *localtest.Queue) localtest.Delivery {
	t.Helper()
	d, err := q.Deliver(localtest.Invocation(t, time.Minute), 10, s.sqsHandler)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// C45: a message that has failed runs again when it comes again, and is deleted once it has succeeded. C43: what has succeeded
// with it does not.
func TestBatch_FailedMessageRunsAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	s := newShop(f.Runner, nil)
	q := localtest.NewQueue("orders")
	for _, body := range []string{"a", "b", "c", "d"} {
		q.Send(localtest.Message{Body: body})
	}
	s.broken["b"], s.broken["d"] = errors.New("no stock"), errors.New("no stock")
	for _, want := range []struct {
		ran  string
		left int
	}{{"a b c d", 2}, {"b d", 2}, {"b d", 1}} {
		if want.left == 1 {
			delete(s.broken, "d")
		}
		d := s.round(t, q)
		if ran := s.ran(); ran != want.ran || q.Len() != want.left || len(d.Returned) != want.left {
			t.Errorf("ran for %q, %d left, want %q and %d", ran, q.Len(), want.ran, want.left)
		}
	}
	delete(s.broken, "b")
	if s.round(t, q); s.ran() != "b" || q.Len() != 0 {
		t.Errorf("%d left, want none", q.Len())
	}
}

// C43: the answer is lost, or the deletion. The whole batch comes again, and only what was not done runs.
func TestBatch_RedeliveredBatch(t *testing.T) {
	t.Parallel()
	for name, concurrency := range map[string]int{"one at a time": 0, "all at once": 8} {
		for _, queue := range []string{"orders", "orders.fifo"} {
			t.Run(name+" of "+queue, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, idempotency.Config{})
				runs := map[string]int{}
				lock := make(chan struct{}, 1)
				broken := "c"
				h := lambda.SQS(f.Runner, quiet(lambda.Batch{Operation: "ship", Concurrency: concurrency}), nil, func(_ context.Context, m events.SQSMessage) error {
					lock <- struct{}{}
					defer func() { <-lock }()
					runs[m.Body]++
					if m.Body == broken {
						return errors.New("no stock")
					}
					return nil
				})
				q := localtest.NewQueue(queue)
				for _, body := range []string{"a", "b", "c", "d"} {
					q.Send(localtest.Message{Body: body, Group: body})
				}
				errLost := errors.New("the answer is lost")
				lost := func(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
					_, err := h(ctx, e)
					return events.SQSEventResponse{}, errors.Join(errLost, err)
				}
				for range 3 {
					if d, err := q.Deliver(localtest.Invocation(t, time.Minute), 10, lost); !errors.Is(err, errLost) || len(d.Returned) != 4 {
						t.Errorf("returned %q, %v", d.Returned, err)
					}
				}
				broken = ""
				if d, err := q.Deliver(localtest.Invocation(t, time.Minute), 10, h); err != nil || len(d.Deleted) != 4 {
					t.Errorf("deleted %q, %v", d.Deleted, err)
				}
				for body, n := range runs {
					if want := map[string]int{"c": 4}[body]; n != max(want, 1) {
						t.Errorf("%s ran %d times", body, n)
					}
				}
			})
		}
	}
}

// C42: while another worker has a message in work, its copy is reported failed: a deletion would lose it if that worker died.
func TestBatch_InProgressElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, idempotency.Config{})
		runs := 0
		var why error
		h := lambda.SQS(f.Runner, lambda.Batch{Operation: "ship", Failed: func(_ context.Context, _ string, err error) { why = err }}, nil, func(_ context.Context, m events.SQSMessage) error {
			if runs++; m.Body == "slow" {
				<-time.After(10 * time.Second)
			}
			return nil
		})
		slow, quick := sqsMessage("1", "slow"), sqsMessage("2", "quick")
		first := make(chan string)
		go func() { first <- handsOver(t, h, slow) }()
		synctest.Wait()
		if got := handsOver(t, h, redelivered(slow, quick)...); got != "1" || !errors.Is(why, idempotency.ErrInProgress) {
			t.Errorf("failed %q: %v, want 1 alone, in progress", got, why)
		}
		if got := <-first; got != "" {
			t.Errorf("the first delivery: failed %q", got)
		}
		if got := handsOver(t, h, redelivered(slow, quick)...); got != "" || runs != 2 {
			t.Errorf("after it: failed %q, %d runs, want 2", got, runs)
		}
	})
}

// With a wait of its request's the copy gets the outcome instead. The Runner's is for others: those behind the message would
// wait, too.
func TestBatch_WaitsForTheOneElsewhere(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]string{0: "1", time.Minute: ""} {
		t.Run(wait.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, idempotency.Config{Wait: time.Minute})
				runs := 0
				named := func(_ context.Context, m events.SQSMessage) (idempotency.Request, error) {
					return idempotency.Request{Key: m.MessageId, Wait: wait}, nil
				}
				h := lambda.SQS(f.Runner, quiet(lambda.Batch{Operation: "ship"}), named, func(context.Context, events.SQSMessage) error {
					runs++
					<-time.After(10 * time.Second)
					return nil
				})
				first := make(chan string)
				go func() { first <- handsOver(t, h, sqsMessage("1", "")) }()
				synctest.Wait()
				if got := handsOver(t, h, redelivered(sqsMessage("1", ""))...) + <-first; got != want || runs != 1 {
					t.Errorf("failed %q, want %q; %d runs", got, want, runs)
				}
			})
		})
	}
}

// A worker that dies leaves its message in progress until its lease ends, then unknown: refused, or run again where that is said.
func TestBatch_WorkerDies(t *testing.T) {
	t.Parallel()
	for policy, want := range map[idempotency.OnUnknown][2]string{idempotency.Refuse: {"1", "1"}, idempotency.Rerun: {"1", ""}} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, idempotency.Config{OnUnknown: policy})
			runs := 0
			var why error
			h := lambda.SQS(f.Runner, lambda.Batch{Operation: "ship", Failed: func(_ context.Context, _ string, err error) { why = err }}, nil, func(context.Context, events.SQSMessage) error {
				runs++
				return nil
			})
			m := sqsMessage("1", "")
			f.db.Inject(localtest.Fault{Operation: "UpdateItem", Kind: localtest.RequestLost, Times: -1}) // as if it were dead by then
			if got := handsOver(t, h, m); got != "1" || !errors.Is(why, idempotency.ErrNotRecorded) {
				t.Errorf("failed %q: %v", got, why)
			}
			f.db.ClearFaults()
			var got [2]string
			if got[0] = handsOver(t, h, redelivered(m)...); !errors.Is(why, idempotency.ErrInProgress) {
				t.Errorf("inside the lease: %v", why)
			}
			<-time.After(2 * time.Minute)
			got[1] = handsOver(t, h, redelivered(m)...)
			if got != want || (got[1] != "") != errors.Is(why, idempotency.ErrOutcomeUnknown) {
				t.Errorf("policy %d: failed %q, want %q: %v", policy, got, want, why)
			}
		})
	}
}

// C51: a message whose deletion was lost too often goes to the dead-letter queue although it is done. Redriven, it is a new
// message to a key that is its id, and runs again. A key out of its body knows it, for as long as the record lasts; after
// that nothing does.
func TestBatch_RedrivenMessage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		request   func(context.Context, events.SQSMessage) (idempotency.Request, error)
		retention time.Duration
		after     time.Duration
		runsAgain bool
	}{
		"message id":                     {nil, 0, time.Hour, true},
		"message id, after the window":   {nil, 0, 25 * time.Hour, true},
		"key of the body":                {byBody, 0, 23 * time.Hour, false},
		"key of the body, window over":   {byBody, 0, 25 * time.Hour, true},
		"key of the body, longer window": {byBody, 15 * 24 * time.Hour, 14 * 24 * time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, idempotency.Config{Retention: c.retention})
				s := newShop(f.Runner, c.request)
				q := localtest.NewQueue("orders")
				q.MaxReceives = 2
				sent := q.Send(localtest.Message{Body: "a"})
				for range 2 {
					_, err := q.Deliver(localtest.Invocation(t, time.Minute), 10, func(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
						out, _ := s.sqsHandler(ctx, e)
						return out, errors.New("the deletion is lost")
					})
					if err == nil {
						t.Fatal("the deletion was not lost")
					}
				}
				if ran := s.ran(); ran != "a" || q.Len() != 0 || len(q.Dead()) != 1 || q.Dead()[0].MessageId != sent {
					t.Fatalf("ran for %q; %d dead", ran, len(q.Dead()))
				}
				<-time.After(c.after)
				if ids := q.Redrive(); len(ids) != 1 || ids[0] == sent {
					t.Fatalf("redriven as %q", ids)
				}
				if s.round(t, q); q.Len() != 0 || (s.ran() == "a") != c.runsAgain {
					t.Errorf("%d left; runs again: %t, want %t", q.Len(), !c.runsAgain, c.runsAgain)
				}
			})
		})
	}
}

// C51: one that has failed, and went to the dead-letter queue for it, runs when it is redriven, whatever its key; one whose
// outcome is unknown stays refused by a key of its body, until its window is over.
func TestBatch_RedrivenFailure(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		request func(context.Context, events.SQSMessage) (idempotency.Request, error)
		err     error
		after   time.Duration
		left    int
	}{
		"failure, message id":              {nil, errors.New("no stock"), 0, 0},
		"failure, key of the body":         {byBody, errors.New("no stock"), 0, 0},
		"unknown, message id":              {nil, idempotency.Unknown(errors.New("time-out")), 0, 0},
		"unknown, key of the body":         {byBody, idempotency.Unknown(errors.New("time-out")), 0, 1},
		"unknown, key of the body, window": {byBody, idempotency.Unknown(errors.New("time-out")), 25 * time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, idempotency.Config{})
				s := newShop(f.Runner, c.request)
				q := localtest.NewQueue("orders")
				q.MaxReceives = 1
				q.Send(localtest.Message{Body: "a"})
				s.broken["a"] = c.err
				if s.round(t, q); s.ran() != "a" || len(q.Dead()) != 1 {
					t.Fatalf("%d dead", len(q.Dead()))
				}
				delete(s.broken, "a")
				<-time.After(c.after)
				q.Redrive()
				s.round(t, q)
				if ran := s.ran(); len(q.Dead()) != c.left || (ran == "a") != (c.left == 0) {
					t.Errorf("ran for %q; %d dead, want %d", ran, len(q.Dead()), c.left)
				}
			})
		})
	}
}

// The same message, delivered again after its window, runs anew: a record has to outlive the last delivery.
func TestBatch_DeliveryAfterTheWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, idempotency.Config{Retention: time.Hour})
		s := newShop(f.Runner, nil)
		m := sqsMessage("1", "a")
		for _, want := range []string{"a", "", "a"} {
			if got := handsOver(t, s.sqsHandler, m); got != "" {
				t.Errorf("failed %q", got)
			}
			if ran := s.ran(); ran != want {
				t.Errorf("ran for %q, want %q", ran, want)
			}
			m = redelivered(m)[0]
			<-time.After(40 * time.Minute)
		}
	})
}

// C21: each message's operation and the ones inside it end their own records; a redelivery runs only what is not done.
func TestBatch_OperationsInside(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	var runs []string
	fail := true
	h := lambda.SQS(f.Runner, quiet(lambda.Batch{Operation: "ship"}), nil, func(ctx context.Context, m events.SQSMessage) error {
		req := idempotency.Request{Operation: "label", Scope: m.EventSourceARN, Key: m.MessageId, Input: m.Body}
		_, err := idempotency.Do(ctx, f.Runner, req, func(context.Context) (int, error) {
			runs = append(runs, "label "+m.Body)
			return 0, nil
		})
		if err != nil {
			return err
		}
		runs = append(runs, "ship "+m.Body)
		if fail && m.Body == "b" {
			return errors.New("no van")
		}
		return nil
	})
	messages := []events.SQSMessage{sqsMessage("1", "a"), sqsMessage("2", "b")}
	if got := handsOver(t, h, messages...); got != "2" {
		t.Errorf("failed %q", got)
	}
	fail = false
	if got := handsOver(t, h, redelivered(messages...)...); got != "" {
		t.Errorf("failed %q", got)
	}
	if got := strings.Join(runs, ", "); got != "label a, ship a, label b, ship b, ship b" {
		t.Errorf("ran %s", got)
	}
}

// A handler that asks for its own message's key would wait for itself.
func TestBatch_OwnKeyInside(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	var why error
	h := lambda.SQS(f.Runner, lambda.Batch{Operation: "ship", Failed: func(_ context.Context, _ string, err error) { why = err }}, nil, func(ctx context.Context, m events.SQSMessage) error {
		req := idempotency.Request{Operation: "ship", Scope: m.EventSourceARN, Key: m.MessageId, Input: m.Body}
		_, err := idempotency.Do(ctx, f.Runner, req, func(context.Context) (int, error) { return 0, nil })
		return err
	})
	got := handsOver(t, h, sqsMessage("1", "a"))
	if field, ok := errors.AsType[*idempotency.FieldError](why); got != "1" || !ok || field.Field != "Request.Key" {
		t.Errorf("failed %q: %v, want a FieldError of Request.Key", got, why)
	}
}
