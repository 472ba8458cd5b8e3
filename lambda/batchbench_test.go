package lambda_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
)

// What a batch costs above the requests that it is made of: each pair does the same work on the embedded table, once through
// the wrapper and once by idempotency.Do.
func BenchmarkSQS(b *testing.B) {
	for _, size := range []int{1, 10} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			f := newFixture(b, idempotency.Config{})
			h := lambda.SQS(f.Runner, lambda.Batch{Operation: "ship"}, nil, func(context.Context, events.SQSMessage) error { return nil })
			benchmarkMessages(b, f, size, func(messages []events.SQSMessage) error {
				out, err := h(b.Context(), events.SQSEvent{Records: messages})
				if len(out.BatchItemFailures) > 0 {
					return fmt.Errorf("failed %v", out.BatchItemFailures)
				}
				return err
			})
		})
		b.Run(fmt.Sprintf("do=%d", size), func(b *testing.B) {
			f := newFixture(b, idempotency.Config{})
			benchmarkMessages(b, f, size, func(messages []events.SQSMessage) error {
				for _, m := range messages {
					req := idempotency.Request{Operation: "ship", Scope: m.EventSourceARN, Key: m.MessageId, Input: m.Body}
					_, err := idempotency.Do(b.Context(), f.Runner, req, func(context.Context) (struct{}, error) { return struct{}{}, nil })
					if err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

// benchmarkMessages measures first runs.
func benchmarkMessages(b *testing.B, f fixture, size int, deliver func([]events.SQSMessage) error) {
	b.Helper()
	b.ReportAllocs()
	messages := make([]events.SQSMessage, size)
	n := 0
	for b.Loop() {
		for i := range messages {
			n++
			messages[i] = sqsMessage(strconv.Itoa(n), `{"order":17}`)
		}
		if err := deliver(messages); err != nil {
			b.Fatal(err)
		}
		f.db.ResetCalls()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/message")
}

// What the loop itself costs: a batch of the largest size of which nothing can be read, so that the table is not asked.
func BenchmarkSQS_Loop(b *testing.B) {
	f := newFixture(b, idempotency.Config{})
	messages := make([]events.SQSMessage, largest)
	for i := range messages {
		messages[i] = sqsMessage(strconv.Itoa(i), "{")
	}
	for _, concurrency := range []int{1, 16} {
		b.Run(fmt.Sprintf("concurrency=%d", concurrency), func(b *testing.B) {
			cfg := lambda.Batch{Operation: "ship", Concurrency: concurrency, Undecodable: func(context.Context, string, error) bool { return true }}
			h := lambda.SQSBody(f.Runner, cfg, nil, func(context.Context, order) error { return nil })
			b.ReportAllocs()
			for b.Loop() {
				if _, err := h(b.Context(), events.SQSEvent{Records: messages}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/largest, "ns/message")
		})
	}
}
