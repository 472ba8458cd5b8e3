package lambda_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
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

// breakage is a consumer whose message "bad" panics with value, or ends its goroutine where that is nil, after 2 s; the others
// take 1 s, and "slow" 5 s.
type breakage struct {
	mu      sync.Mutex
	ran     []string
	ended   []string
	why     map[string]error
	value   any
	mended  bool
	handler sqsHandler
}

func newBreakage(t *testing.T, concurrency int, value any) *breakage {
	t.Helper()
	x := &breakage{value: value, why: map[string]error{}}
	note := func(list *[]string, id string) {
		x.mu.Lock()
		defer x.mu.Unlock()
		*list = append(*list, id)
	}
	b := lambda.Batch{Operation: "ship", Concurrency: concurrency, Failed: func(_ context.Context, id string, err error) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.why[id] = err
	}}
	x.handler = lambda.SQS(newFixture(t, idempotency.Config{}).Runner, b, nil, func(_ context.Context, m events.SQSMessage) error {
		note(&x.ran, m.MessageId)
		defer note(&x.ended, m.MessageId)
		switch {
		case m.Body == "slow":
			<-time.After(5 * time.Second)
		case m.Body != "bad" || x.mended:
			<-time.After(time.Second)
		default:
			<-time.After(2 * time.Second)
			if x.value == nil {
				runtime.Goexit()
			}
			panic(x.value)
		}
		return nil
	})
	return x
}

// deliver hands a batch over, and returns what came out: a panic's value, errGoexit, or nil.
func (x *breakage) deliver(t *testing.T, messages ...events.SQSMessage) (out any) {
	t.Helper()
	ctx := localtest.Invocation(t, time.Minute)
	out = errGoexit
	var wg sync.WaitGroup
	wg.Go(func() {
		defer func() {
			if value := recover(); value != nil {
				out = value
			}
		}()
		_, err := x.handler(ctx, events.SQSEvent{Records: messages})
		out = err
	})
	wg.Wait()
	return out
}

var errGoexit = errors.New("runtime.Goexit")

// C17: a panic, or runtime.Goexit, goes on with the value it had, once the messages that are in work have ended; no other
// starts, and no goroutine is left (synctest would say so). Its message's outcome is unknown; what was done is not run again.
func TestBatch_PanicGoesOn(t *testing.T) { //nolint:paralleltest // the log is everybody's
	before := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	defer slog.SetDefault(before)
	for name, value := range map[string]any{"a value of its own": &struct{ string }{"boom"}, "an error": errors.New("boom"), "Goexit": nil} {
		for _, c := range []struct {
			concurrency int
			ran, again  string
		}{
			{1, "1 2 bad", "3 4 5"},
			{4, "1 2 3 4 5 bad", "6"}, // 1 and 2 have ended, 5 and 6 would follow
		} {
			t.Run(fmt.Sprintf("%s, %d", name, c.concurrency), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					x := newBreakage(t, c.concurrency, value)
					batch := []events.SQSMessage{sqsMessage("1", ""), sqsMessage("2", ""), sqsMessage("bad", "bad"), sqsMessage("3", "slow"), sqsMessage("4", "slow"), sqsMessage("5", "slow")}
					if c.concurrency > 1 {
						batch = append(batch, sqsMessage("6", ""))
					}
					out := x.deliver(t, batch...)
					want := value
					if value == nil {
						want = errGoexit
					}
					if out != want {
						t.Errorf("%v came out, want %v", out, want)
					}
					slices.Sort(x.ran)
					slices.Sort(x.ended)
					if got := strings.Join(x.ran, " "); got != c.ran || !slices.Equal(x.ran, x.ended) {
						t.Errorf("ran %q, ended %q, want %q", got, x.ended, c.ran)
					}
					if c.concurrency > 1 && (len(x.why) != 1 || !errors.Is(x.why["6"], lambda.ErrSkipped) || !strings.Contains(text(x.why["6"]), "panicked")) {
						t.Errorf("told of %v, want that 6 was not started", x.why)
					}

					x.ran, x.mended, x.why = nil, true, map[string]error{}
					failed := handsOver(t, x.handler, redelivered(batch...)...)
					slices.Sort(x.ran)
					if got := strings.Join(x.ran, " "); got != c.again || failed != "bad" || !errors.Is(x.why["bad"], idempotency.ErrOutcomeUnknown) {
						t.Errorf("then ran %q, failed %q: %v, want %q and an unknown outcome", got, failed, x.why, c.again)
					}
				})
			})
		}
	}
}

// Two panics: one comes out, and the log has both. A message that waits for the one that panics is not started.
func TestBatch_PanicsAndWaiting(t *testing.T) { //nolint:paralleltest // the log is everybody's
	var log strings.Builder
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(before)
	synctest.Test(t, func(t *testing.T) {
		x := newBreakage(t, 3, "boom")
		twin := sqsMessage("bad1", "bad")
		if out := x.deliver(t, sqsMessage("bad1", "bad"), sqsMessage("bad2", "bad"), twin); out != "boom" {
			t.Errorf("%v came out", out)
		}
		if len(x.ran) != 2 || !errors.Is(x.why["bad1"], lambda.ErrSkipped) {
			t.Errorf("ran %q, told of %v", x.ran, x.why)
		}
		// Its stack ends in the handler, where it happened: the one that goes on shows another.
		if got := log.String(); strings.Count(got, "a message's handler has panicked") != 2 || !strings.Contains(got, "newBreakage.func") || !strings.Contains(got, "panic=boom") {
			t.Errorf("the log is %s", got)
		}
	})
}

// One at a time, a panic keeps its stack and needs no log.
func TestBatch_PanicKeepsItsStack(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	h := lambda.SQS(f.Runner, quiet(lambda.Batch{Operation: "ship"}), nil, func(context.Context, events.SQSMessage) error {
		panicDeepInside()
		return nil
	})
	defer func() {
		var stack [64 << 10]byte
		value := recover()
		if s := string(stack[:runtime.Stack(stack[:], false)]); value != "boom" || !strings.Contains(s, "panicDeepInside") {
			t.Errorf("recovered %v with the stack\n%s", value, s)
		}
	}()
	handsOver(t, h, sqsMessage("1", ""))
}

//go:noinline
func panicDeepInside() { panic("boom") }

// A panic of a request function, or of a hook, goes on as well, and is no message's outcome.
func TestBatch_PanicBesideTheHandler(t *testing.T) { //nolint:paralleltest // the log is everybody's
	before := slog.Default()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	defer slog.SetDefault(before)
	boom := func(context.Context, string, error) bool { panic("boom") }
	for name, b := range map[string]lambda.Batch{
		"request":     {},
		"Undecodable": {Undecodable: boom},
		"Terminal":    {Terminal: boom},
		"Failed":      {Failed: func(context.Context, string, error) { panic("boom") }},
	} {
		for _, concurrency := range []int{1, 2} {
			f := newFixture(t, idempotency.Config{})
			b.Operation, b.Concurrency = "ship", concurrency
			broken := true
			request := func(_ context.Context, m events.SQSMessage) (idempotency.Request, error) {
				switch {
				case broken && name == "request":
					panic("boom")
				case broken && name == "Undecodable":
					return idempotency.Request{}, errors.New("no")
				}
				return idempotency.Request{Key: m.MessageId}, nil
			}
			h := lambda.SQS(f.Runner, b, request, func(context.Context, events.SQSMessage) error {
				switch {
				case broken && name == "Terminal":
					return idempotency.Terminal(errors.New("for good"))
				case broken:
					return errors.New("fails")
				}
				return nil
			})
			func() {
				defer func() {
					if value := recover(); value != "boom" {
						t.Errorf("%s, %d: recovered %v", name, concurrency, value)
					}
				}()
				handsOver(t, h, sqsMessage("1", ""), sqsMessage("2", ""))
			}()
			if broken = false; name == "Terminal" {
				continue // recorded: it would be asked again
			}
			if got := handsOver(t, h, redelivered(sqsMessage("1", ""), sqsMessage("2", ""))...); got != "" {
				t.Errorf("%s, %d: then failed %q", name, concurrency, got)
			}
		}
	}
}
