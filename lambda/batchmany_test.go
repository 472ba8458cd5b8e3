package lambda_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// largest is the most messages that Lambda hands to a function at once.
const largest = 10_000

// C44: a batch of the largest size, of which 1 % fails and 5 % has another one's key: exactly those come again that have
// failed, each key has one effect, and so it stays when they come again.
func TestBatch_TenThousandMessages(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	var mu sync.Mutex
	runs := map[string]int{}
	broken := true
	byAnyBody := func(_ context.Context, m events.SQSMessage) (idempotency.Request, error) {
		return idempotency.Request{Key: m.Body}, nil
	}
	h := lambda.SQS(f.Runner, quiet(lambda.Batch{Operation: "ship", Concurrency: 8}), byAnyBody, func(_ context.Context, m events.SQSMessage) error {
		if broken && strings.HasSuffix(m.Body, "!") {
			return errors.New("fails")
		}
		mu.Lock()
		defer mu.Unlock()
		runs[m.Body]++
		return nil
	})
	size := largest
	if raceDetector {
		size /= 10 // or it would be a minute
	}
	var messages, failing []events.SQSMessage
	for i := range size {
		key := i
		if i%20 == 19 {
			key = i - 7 // in work at the same time, perhaps
		}
		body := strconv.Itoa(key)
		if key%100 == 50 { // no multiple of 20 is behind those
			body += "!"
		}
		m := sqsMessage(strconv.Itoa(i), body)
		if messages = append(messages, m); strings.HasSuffix(body, "!") {
			failing = append(failing, m)
		}
	}
	want := make([]string, len(failing))
	for i, m := range failing {
		want[i] = m.MessageId
	}
	hour := localtest.Invocation(t, time.Hour)
	if got := handOver(hour, t, h, messages...); got != strings.Join(want, " ") || len(failing) != size/100 {
		t.Errorf("failed %s, want %s", got, want)
	}
	broken = false
	if got := handOver(hour, t, h, redelivered(failing...)...); got != "" {
		t.Errorf("then failed %s", got)
	}
	if len(runs) != size-size/20 || slices.Max(slices.Collect(maps.Values(runs))) != 1 {
		t.Errorf("%d keys had an effect, one of them %d times", len(runs), slices.Max(slices.Collect(maps.Values(runs))))
	}
}

// C44: near the deadline: what is done is done, what is not comes again, and the answer is there in time.
func TestBatch_TenThousandMessagesNearTheDeadline(t *testing.T) {
	t.Parallel()
	for _, concurrency := range []int{1, 10} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, idempotency.Config{})
			var skipped, ran atomic.Int64
			b := lambda.Batch{Operation: "ship", Concurrency: concurrency, Failed: func(_ context.Context, _ string, err error) {
				if errors.Is(err, lambda.ErrSkipped) {
					skipped.Add(1)
				}
			}}
			h := lambda.SQS(f.Runner, b, nil, func(context.Context, events.SQSMessage) error {
				ran.Add(1)
				<-time.After(time.Second)
				return nil
			})
			var messages []events.SQSMessage
			for i := range largest {
				messages = append(messages, sqsMessage(fmt.Sprint(i), ""))
			}
			ctx := localtest.Invocation(t, 30*time.Second)
			failed := strings.Fields(handOver(ctx, t, h, messages...))
			deadline, _ := ctx.Deadline()
			if int(skipped.Load()) != len(failed) || len(failed)+int(ran.Load()) != largest || time.Until(deadline) < 100*time.Millisecond {
				t.Errorf("%d ran, %d skipped, %d failed, %s left", ran.Load(), skipped.Load(), len(failed), time.Until(deadline))
			}
			if done := int(ran.Load()); done < 28*concurrency || done > 30*concurrency {
				t.Errorf("%d ran, want almost 30 for each worker", done)
			}
			if i := slices.IndexFunc(failed, func(id string) bool { n, _ := strconv.Atoi(id); return n < int(ran.Load()) }); i >= 0 {
				t.Errorf("%s has failed, and was among the first", failed[i])
			}
		})
	}
}

// What the loop itself keeps of a message, beside the event that Lambda has handed over: some words, and no copy of it. Not
// parallel: the heap is everybody's.
func TestBatch_MemoryOfAMessage(t *testing.T) { //nolint:paralleltest // see above
	f := newFixture(t, idempotency.Config{})
	var messages []events.SQSMessage
	for i := range largest {
		messages = append(messages, fifoMessage(fmt.Sprint("group ", i/2), strconv.Itoa(i), strings.Repeat("x", 1000)))
	}
	heap := func() (live, total uint64) {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc, m.TotalAlloc
	}
	last := strconv.Itoa(largest - 1)
	errUnreadable := errors.New("unreadable")
	request := func(context.Context, events.SQSMessage) (idempotency.Request, error) {
		return idempotency.Request{}, errUnreadable // so that the table and its client are no part of it
	}
	for _, concurrency := range []int{1, 16} {
		var before, during, totalBefore uint64
		b := lambda.Batch{Operation: "ship", Concurrency: concurrency, Undecodable: func(_ context.Context, id string, _ error) bool {
			if id == last {
				during, _ = heap()
			}
			return true
		}}
		h := lambda.SQS(f.Runner, b, request, func(context.Context, events.SQSMessage) error { return nil })
		ctx := localtest.Invocation(t, time.Hour)
		before, totalBefore = heap()
		if got := handOver(ctx, t, h, messages...); got != "" {
			t.Fatalf("failed %.100s", got)
		}
		_, totalAfter := heap()
		kept := float64(int64(during)-int64(before)) / largest
		allocated := float64(totalAfter-totalBefore) / largest
		t.Logf("concurrency %d: %.0f bytes of a message are kept until the batch ends, %.0f were allocated", concurrency, kept, allocated)
		if kept > 600 || allocated > 3000 {
			t.Errorf("concurrency %d: %.0f bytes of a message are kept and %.0f allocated, want some hundreds", concurrency, kept, allocated)
		}
	}
	runtime.KeepAlive(messages)
}
