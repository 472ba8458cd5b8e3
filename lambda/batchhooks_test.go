package lambda_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// A request function whose time ends has found nothing wrong with its message: it is not dropped.
func TestBatch_RequestRunsOutOfTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, idempotency.Config{})
		told := map[string]error{}
		b := lambda.Batch{
			Operation: "ship",
			Undecodable: func(_ context.Context, id string, err error) bool {
				t.Errorf("asked about %s: %v", id, err)
				return true
			},
			Failed: func(_ context.Context, id string, err error) { told[id] = err },
		}
		h := lambda.SQS(f.Runner, b, func(ctx context.Context, _ events.SQSMessage) (idempotency.Request, error) {
			<-ctx.Done()
			return idempotency.Request{}, ctx.Err()
		}, func(context.Context, events.SQSMessage) error { return nil })
		if failed := handOver(localtest.Invocation(t, 5*time.Second), t, h, sqsMessage("1", ""), sqsMessage("2", "")); failed != "1 2" {
			t.Errorf("failed %q", failed)
		}
		if !errors.Is(told["1"], lambda.ErrSkipped) || !errors.Is(told["2"], lambda.ErrSkipped) {
			t.Errorf("told %v", told)
		}
	})
}

// The request function's time is the message's, too: of Batch.Timeout, and of what the next one needs.
func TestBatch_RequestTakesTime(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		timeout time.Duration
		failed  string
	}{
		"longest so far": {0, "2"},
		"time-out":       {4500 * time.Millisecond, "2"},
		"too long":       {3 * time.Second, "1 2"}, // 2 s are left of it for a handler that takes 2.5
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, idempotency.Config{})
				var cut []string
				h := lambda.SQS(f.Runner, quiet(lambda.Batch{Operation: "ship", Timeout: tt.timeout}), func(_ context.Context, m events.SQSMessage) (idempotency.Request, error) {
					<-time.After(2 * time.Second)
					return idempotency.Request{Key: m.MessageId}, nil
				}, func(ctx context.Context, m events.SQSMessage) error {
					select {
					case <-time.After(2 * time.Second):
						return nil
					case <-ctx.Done():
						cut = append(cut, m.MessageId)
						return ctx.Err()
					}
				})
				failed := handOver(localtest.Invocation(t, 7*time.Second), t, h, sqsMessage("1", ""), sqsMessage("2", ""))
				if failed != tt.failed {
					t.Errorf("failed %q, want %q", failed, tt.failed)
				}
				if want := name == "too long"; (len(cut) > 0) != want {
					t.Errorf("cut off %q", cut)
				}
			})
		})
	}
}

// The hooks' context is the invocation's, not that of the message's time, which may be over.
func TestBatch_TerminalHasTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, idempotency.Config{})
		asked := false
		b := lambda.Batch{Operation: "ship", Timeout: 2 * time.Second, Terminal: func(ctx context.Context, _ string, _ error) bool {
			asked = true
			if ctx.Err() != nil {
				t.Errorf("its context has ended: %v", ctx.Err())
			}
			return true
		}}
		h := lambda.SQS(f.Runner, b, nil, func(context.Context, events.SQSMessage) error {
			<-time.After(2500 * time.Millisecond) // it does not look at its context
			return idempotency.Terminal(errors.New("final"))
		})
		if failed := handOver(localtest.Invocation(t, 30*time.Second), t, h, sqsMessage("1", "")); failed != "" || !asked {
			t.Errorf("failed %q, asked %v", failed, asked)
		}
	})
}

// A handler's error is its own, also one that it has from an inner batch.
func TestBatch_HandlersOwnErrSkipped(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	var log strings.Builder
	h := lambda.SQS(f.Runner, lambda.Batch{Operation: "ship", Logger: slog.New(slog.NewTextHandler(&log, nil))}, nil,
		func(context.Context, events.SQSMessage) error { return fmt.Errorf("inner: %w", lambda.ErrSkipped) })
	handsOver(t, h, sqsMessage("1", ""))
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=ERROR") || !strings.Contains(got, "inner") {
		t.Errorf("the log is %s", got)
	}
}

// Of a Goexit and a panic the panic comes out, whichever was first.
func TestBatch_GoexitAndPanic(t *testing.T) {
	t.Parallel()
	for name, waits := range map[string][2]time.Duration{"Goexit first": {1, 2}, "panic first": {2, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, idempotency.Config{})
				h := lambda.SQS(f.Runner, lambda.Batch{Operation: "ship", Concurrency: 2, Logger: slog.New(slog.DiscardHandler)}, nil, func(_ context.Context, m events.SQSMessage) error {
					if m.MessageId == "exits" {
						<-time.After(waits[0] * time.Second)
						runtime.Goexit()
					}
					<-time.After(waits[1] * time.Second)
					panic("boom")
				})
				out := make(chan any, 1)
				go func() {
					defer func() { out <- recover() }()
					handOver(localtest.Invocation(t, time.Minute), t, h, sqsMessage("exits", ""), sqsMessage("panics", ""))
				}()
				if got := <-out; got != "boom" {
					t.Errorf("%v came out", got)
				}
			})
		})
	}
}

// A message that was received before is looked up first; a table that does not answer reads must not take its time.
func TestBatch_ReadsHang(t *testing.T) {
	t.Parallel()
	for _, kind := range []localtest.FaultKind{localtest.Hang, localtest.Throttled} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, idempotency.Config{})
				f.db.Inject(localtest.Fault{Operation: "GetItem", Kind: kind, Times: -1})
				start := time.Now()
				var began []time.Duration
				h := lambda.SQS(f.Runner, quiet(lambda.Batch{Operation: "ship"}), nil, func(context.Context, events.SQSMessage) error {
					began = append(began, time.Since(start))
					return nil
				})
				failed := handOver(localtest.Invocation(t, 30*time.Second), t, h, redelivered(sqsMessage("1", ""), sqsMessage("2", ""), sqsMessage("3", ""))...)
				if failed != "" || len(began) != 3 || slices.Max(began) > 3*time.Second {
					t.Errorf("failed %q, handlers began after %v", failed, began)
				}
			})
		})
	}
}
