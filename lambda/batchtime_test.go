package lambda_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// clocked is a consumer whose messages take the time that is their body, as "3s", unless their context ends; with "!" behind
// it they then fail. Their key is their id up to "/".
type clocked struct {
	mu      sync.Mutex
	ran     []string // ids, in the order of their starts
	left    []time.Duration
	why     map[string]error
	cutOff  []string // whose context has ended before they did
	handler sqsHandler
}

func newClocked(t *testing.T, b lambda.Batch) *clocked {
	t.Helper()
	c := &clocked{why: map[string]error{}}
	b.Operation = "ship"
	b.Failed = func(_ context.Context, id string, err error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.why[id] = err
	}
	byID := func(_ context.Context, m events.SQSMessage) (idempotency.Request, error) {
		key, _, _ := strings.Cut(m.MessageId, "/")
		return idempotency.Request{Key: key}, nil
	}
	c.handler = lambda.SQS(newFixture(t, idempotency.Config{}).Runner, b, byID, func(ctx context.Context, m events.SQSMessage) error {
		deadline, _ := ctx.Deadline()
		c.mu.Lock()
		c.ran = append(c.ran, m.MessageId)
		c.left = append(c.left, time.Until(deadline))
		c.mu.Unlock()
		d, err := time.ParseDuration(strings.TrimSuffix(m.Body, "!"))
		if err != nil {
			return err
		}
		select {
		case <-time.After(d):
		case <-ctx.Done():
			c.mu.Lock()
			c.cutOff = append(c.cutOff, m.MessageId)
			c.mu.Unlock()
			return ctx.Err()
		}
		if strings.HasSuffix(m.Body, "!") {
			return errors.New("fails")
		}
		return nil
	})
	return c
}

// skipped are the ids of the messages that were not started.
func (c *clocked) skipped() string {
	var ids []string
	for id, err := range c.why {
		if errors.Is(err, lambda.ErrSkipped) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

// messagesOf makes messages "1", "2" and so on of bodies.
func messagesOf(bodies string) (messages []events.SQSMessage) {
	for i, body := range strings.Fields(bodies) {
		messages = append(messages, sqsMessage(fmt.Sprint(i+1), body))
	}
	return messages
}

// C44: no message but the first starts with less time left than one needs: Batch.Timeout, or what the longest so far has
// taken. Those that do not start come again; none is cut off, what is done is not lost, and the answer is there in time.
func TestBatch_NoMessageStartsThatCannotEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bodies           string
		time             time.Duration
		batch            lambda.Batch
		ran, failed, cut string
	}{
		"as long as it is enough":          {"3s 3s 3s 3s 3s", 10 * time.Second, lambda.Batch{}, "1 2 3", "4 5", ""},
		"just enough":                      {"3s 3s 3s 3s 3s", 9*time.Second + 500*time.Millisecond, lambda.Batch{}, "1 2 3", "4 5", ""},
		"enough, but for the record":       {"3s 3s 3s 3s 3s", 9*time.Second + 200*time.Millisecond, lambda.Batch{}, "1 2", "3 4 5", ""},
		"just not enough":                  {"3s 3s 3s 3s 3s", 9*time.Second + 100*time.Millisecond, lambda.Batch{}, "1 2", "3 4 5", ""},
		"the longest so far counts":        {"1s 1s 5s 1s 1s", 12 * time.Second, lambda.Batch{}, "1 2 3", "4 5", ""},
		"a failure counts":                 {"5s! 1s 1s", 10 * time.Second, lambda.Batch{}, "1", "1 2 3", ""},
		"enough for all":                   {"3s 3s 3s", time.Minute, lambda.Batch{}, "1 2 3", "", ""},
		"time-out":                         {"3s 3s 3s 3s", 10 * time.Second, lambda.Batch{Timeout: 4 * time.Second}, "1 2", "3 4", ""},
		"time-out, not the longest":        {"3s 1s 1s 1s 1s 1s", 7 * time.Second, lambda.Batch{Timeout: 2 * time.Second}, "1 2 3 4 5", "1 6", "1"},
		"time-out beyond the invocation's": {"3s 3s 3s 3s", 10 * time.Second, lambda.Batch{Timeout: 10 * time.Second}, "1 2 3", "4", ""},
		"the first one, whatever it needs": {"30s 1s", 10 * time.Second, lambda.Batch{}, "1", "1 2", "1"},
		"side by side":                     {"3s 3s 3s 3s 3s 3s 3s 3s", 10 * time.Second, lambda.Batch{Concurrency: 2}, "1 2 3 4 5 6", "7 8", ""},
		"very little":                      {"1ms 40ms 1ms", 100 * time.Millisecond, lambda.Batch{}, "1 2", "2 3", "2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cl := newClocked(t, c.batch)
				ctx := localtest.Invocation(t, c.time)
				failed := handOver(ctx, t, cl.handler, messagesOf(c.bodies)...)
				deadline, _ := ctx.Deadline()
				if kept := min(100*time.Millisecond, c.time/10); time.Until(deadline) < kept {
					t.Errorf("the answer comes %s before the deadline, want %s", time.Until(deadline), kept)
				}
				slices.Sort(cl.ran)
				if got := strings.Join(cl.ran, " "); got != c.ran || failed != c.failed || strings.Join(cl.cutOff, " ") != c.cut {
					t.Errorf("ran %q, failed %q, cut off %q, want %q, %q and %q", got, failed, cl.cutOff, c.ran, c.failed, c.cut)
				}
				// Whatever was done is not run again, the rest is.
				cl.ran = nil
				cl.why = map[string]error{}
				again := redelivered(messagesOf(c.bodies)...)
				handOver(localtest.Invocation(t, 3*time.Hour), t, cl.handler, again...)
				slices.Sort(cl.ran)
				var rest []string
				for id := range strings.FieldsSeq(c.failed) {
					if !strings.Contains(c.cut, id) { // unknown: refused
						rest = append(rest, id)
					}
				}
				if !slices.Equal(cl.ran, rest) {
					t.Errorf("then ran %q, want %q", cl.ran, rest)
				}
			})
		})
	}
}

// Why it was not started; who was at work has its own error.
func TestBatch_TooLittleTimeIsSkipped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newClocked(t, lambda.Batch{})
		handOver(localtest.Invocation(t, 5*time.Second), t, c.handler, messagesOf("4s 4s 4s")...)
		if got := c.skipped(); got != "2 3" || !strings.Contains(text(c.why["2"]), "too little time is left") {
			t.Errorf("skipped %q: %v", got, c.why)
		}
	})
}

// The handler's context ends within Batch.Timeout, and before the answer is due, whichever comes first; without a deadline of
// the invocation it ends before the lease.
func TestBatch_HandlersTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		time, timeout    time.Duration // 0: none
		longest, atLeast time.Duration
	}{
		"the invocation's":           {10 * time.Second, 0, 9900 * time.Millisecond, 8 * time.Second},
		"Batch.Timeout":              {time.Minute, 5 * time.Second, 5 * time.Second, 4 * time.Second},
		"the first, with less":       {10 * time.Second, time.Hour, 9900 * time.Millisecond, 8 * time.Second},
		"no deadline":                {0, 0, time.Minute, 50 * time.Second},
		"no deadline, Batch.Timeout": {0, 5 * time.Second, 5 * time.Second, 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cl := newClocked(t, lambda.Batch{Timeout: c.timeout})
				ctx := context.Background()
				if c.time > 0 {
					ctx = localtest.Invocation(t, c.time)
				}
				messages := 1
				if c.time == 0 {
					messages = 3 // there is no end: all of them start
				}
				if failed := handOver(ctx, t, cl.handler, messagesOf("1s 1s 1s")[:messages]...); failed != "" || len(cl.left) != messages {
					t.Errorf("failed %q, %d ran", failed, len(cl.left))
				}
				for _, left := range cl.left {
					if left > c.longest || left < c.atLeast {
						t.Errorf("a handler has %s, want %s to %s", left, c.atLeast, c.longest)
					}
				}
			})
		})
	}
}

// A batch whose time is over, or whose caller has gone, is answered at once: nothing starts, and the table is not asked.
func TestBatch_NoTimeAtAll(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Hour))
	defer cancel()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for name, ctx := range map[string]context.Context{"over": over, "gone": gone} {
		for _, concurrency := range []int{1, 4} {
			f := newFixture(t, idempotency.Config{})
			h := lambda.SQS(f.Runner, quiet(lambda.Batch{Operation: "ship", Concurrency: concurrency}), nil, func(context.Context, events.SQSMessage) error {
				t.Error("the handler ran")
				return nil
			})
			if got := handOver(ctx, t, h, messagesOf("1s 1s 1s")...); got != "1 2 3" || len(f.db.Calls("")) != 0 {
				t.Errorf("%s: failed %q, %d calls", name, got, len(f.db.Calls("")))
			}
		}
	}
}

// The caller goes in the middle: what is in work ends, nothing else starts.
func TestBatch_CallerGoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newClocked(t, lambda.Batch{Concurrency: 2})
		ctx, cancel := context.WithCancel(localtest.Invocation(t, time.Minute))
		time.AfterFunc(1500*time.Millisecond, cancel)
		if got := handOver(ctx, t, c.handler, messagesOf("1s 1s 1s 1s 1s 1s")...); got != "3 4 5 6" || c.skipped() != "5 6" || len(c.cutOff) != 2 {
			t.Errorf("failed %q, skipped %q, cut off %q", got, c.skipped(), c.cutOff)
		}
	})
}

// A message that waits for its twin when time ends is answered in time, too.
func TestBatch_DuplicateWaitsUntilTimeEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newClocked(t, lambda.Batch{Concurrency: 3})
		ctx := localtest.Invocation(t, 10*time.Second)
		failed := handOver(ctx, t, c.handler, sqsMessage("1", "1h"), sqsMessage("1/2", "1h"), sqsMessage("3", "1s"))
		deadline, _ := ctx.Deadline()
		if left := time.Until(deadline); failed != "1 1/2" || len(c.skipped()) == 0 || strings.Contains(c.skipped(), " ") || len(c.ran) != 2 || left < 100*time.Millisecond {
			t.Errorf("failed %q, skipped %q, ran %q, %s left", failed, c.skipped(), c.ran, left)
		}
	})
}

// A duplicate whose twin has failed runs in its turn, if it can end in time; it never starts with what its wait has left of
// its time.
func TestBatch_DuplicateRunsAfterItsTwinHasFailed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		timeout, time time.Duration
		runs          int // 0: one or two
	}{
		"enough time":                     {0, time.Minute, 2},
		"not enough":                      {0, 15 * time.Second, 1},
		"inside Batch.Timeout":            {12 * time.Second, time.Minute, 0},
		"less than Batch.Timeout is left": {12 * time.Second, 20 * time.Second, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cl := newClocked(t, lambda.Batch{Concurrency: 2, Timeout: c.timeout})
				failed := handOver(localtest.Invocation(t, c.time), t, cl.handler, sqsMessage("1", "9s!"), sqsMessage("1/2", "9s!"))
				if failed != "1 1/2" || c.runs > 0 && len(cl.ran) != c.runs || len(cl.cutOff) > 0 {
					t.Errorf("failed %q, ran %q, cut off %q, left %s: %v", failed, cl.ran, cl.cutOff, cl.left, cl.why)
				}
			})
		})
	}
}
