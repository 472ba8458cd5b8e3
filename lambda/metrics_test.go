package lambda_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// emf is a line, read as CloudWatch does.
type emf struct {
	AWS struct {
		Timestamp         int64
		CloudWatchMetrics []struct {
			Namespace  string
			Dimensions [][]string
			Metrics    []struct{ Name, Unit string }
		}
	} `json:"_aws"`
	Service, Operation string
	values             map[string][]float64
}

// sink takes the lines.
type sink struct {
	mu     sync.Mutex
	writes [][]byte
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes = append(s.writes, bytes.Clone(p))
	return len(p), nil
}

func (s *sink) read(tb testing.TB) (lines []emf) {
	tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.writes {
		if bytes.Count(w, []byte("\n")) != 1 || w[len(w)-1] != '\n' {
			tb.Errorf("a write of %q, want one line", w)
		}
		line := emf{values: map[string][]float64{}}
		var all map[string]json.RawMessage
		if err := errors.Join(json.Unmarshal(w, &line), json.Unmarshal(w, &all)); err != nil {
			tb.Fatal(err)
		}
		for _, m := range line.AWS.CloudWatchMetrics[0].Metrics {
			var one float64
			var many []float64
			if json.Unmarshal(all[m.Name], &many) != nil {
				if err := json.Unmarshal(all[m.Name], &one); err != nil {
					tb.Errorf("metric %s is %s", m.Name, all[m.Name])
				}
				many = []float64{one}
			}
			line.values[m.Name] = many
		}
		lines = append(lines, line)
	}
	s.writes = nil
	return lines
}

func (l emf) String() string {
	var parts []string
	for name, values := range l.values {
		if strings.HasSuffix(name, "Latency") {
			parts = append(parts, fmt.Sprintf("%s x%d", name, len(values)))
		} else {
			parts = append(parts, fmt.Sprintf("%s %v", name, values[0]))
		}
	}
	slices.Sort(parts)
	return l.Operation + ": " + strings.Join(parts, ", ")
}

func wantLines(tb testing.TB, s *sink, want ...string) []emf {
	tb.Helper()
	lines := s.read(tb)
	var got []string
	for _, l := range lines {
		got = append(got, l.String())
	}
	if !slices.Equal(got, want) {
		tb.Errorf("lines are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	return lines
}

func TestMetrics_OneLineForEachInvocation(t *testing.T) {
	t.Parallel()
	out := &sink{}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f := newFixture(t, idempotency.Config{Observe: lambda.Metrics(lambda.MetricsConfig{Service: "shop", Writer: out, Now: func() time.Time { return at }})})
	h := lambda.Wrap(f.Runner, orderRequest, func(context.Context, order) (string, error) { return "paid", nil })
	if r := invoke(t, h, `{"id":"o1","customer":"c1"}`); r.payload != `"paid"` {
		t.Fatal(r)
	}
	first := wantLines(t, out, "pay: AcquireLatency x1, Acquired 1, Completed 1, HandlerLatency x1, WriteUnits 2")[0]
	d := first.AWS.CloudWatchMetrics[0]
	if first.Service != "shop" || first.AWS.Timestamp != at.UnixMilli() || d.Namespace != "oncekey" || fmt.Sprint(d.Dimensions) != "[[Service] [Service Operation]]" {
		t.Errorf("line is %+v", first)
	}
	for _, m := range d.Metrics {
		if want := map[bool]string{true: "Milliseconds", false: "Count"}[strings.HasSuffix(m.Name, "Latency")]; m.Unit != want {
			t.Errorf("the unit of %s is %s, want %s", m.Name, m.Unit, want)
		}
	}
	invoke(t, h, `{"id":"o1","customer":"c1"}`)
	wantLines(t, out, "pay: ReplayLatency x1, Replayed 1, WriteUnits 1")
	invoke(t, h, `{"id":"o1","customer":"c1","amount":2}`)
	wantLines(t, out, "pay: Mismatch 1, WriteUnits 1")
}

// A batch is one invocation; CloudWatch takes 100 values of a metric out of a line.
func TestMetrics_Batch(t *testing.T) {
	t.Parallel()
	out := &sink{}
	f := newFixture(t, idempotency.Config{Observe: lambda.Metrics(lambda.MetricsConfig{Writer: out})})
	h := lambda.SQS(f.Runner, lambda.Batch{Operation: "fulfil", Concurrency: 4}, nil, func(context.Context, events.SQSMessage) error { return nil })
	var e events.SQSEvent
	for i := range 250 {
		e.Records = append(e.Records, events.SQSMessage{MessageId: fmt.Sprint("m", i), EventSourceARN: "arn:aws:sqs:us-east-1:1:q"})
	}
	if _, err := h(localtest.Invocation(t, time.Minute), e); err != nil {
		t.Fatal(err)
	}
	wantLines(
		t, out, "fulfil: AcquireLatency x100, Acquired 250, Completed 250, HandlerLatency x100, WriteUnits 500",
		"fulfil: AcquireLatency x100, HandlerLatency x100", "fulfil: AcquireLatency x50, HandlerLatency x50",
	)
}

// Two invocations at once in one process (AWS_LAMBDA_MAX_CONCURRENCY): each writes what is its own, when it ends.
func TestMetrics_SeveralAtOnce(t *testing.T) {
	t.Parallel()
	out := &sink{}
	f := newFixture(t, idempotency.Config{Observe: lambda.Metrics(lambda.MetricsConfig{Writer: out})})
	slow, goOn := make(chan struct{}), make(chan struct{})
	h := lambda.Wrap(f.Runner, orderRequest, func(_ context.Context, o order) (string, error) {
		if o.ID == "slow" {
			close(slow)
			<-goOn
		}
		return "", nil
	})
	ended := make(chan error)
	go func() {
		_, err := h(localtest.Invocation(t, time.Minute), order{ID: "slow", Customer: "c1"})
		ended <- err
	}()
	<-slow
	if _, err := h(localtest.Invocation(t, time.Minute), order{ID: "fast", Customer: "c1"}); err != nil {
		t.Fatal(err)
	}
	const whole = "pay: AcquireLatency x1, Acquired 1, Completed 1, HandlerLatency x1, WriteUnits 2"
	wantLines(t, out, whole)
	close(goOn)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	wantLines(t, out, whole)
}

// A panic ends the process after the wrapper has ended: what was counted is out by then.
func TestMetrics_Panic(t *testing.T) {
	t.Parallel()
	out := &sink{}
	f := newFixture(t, idempotency.Config{Observe: lambda.Metrics(lambda.MetricsConfig{Writer: out})})
	h := lambda.Wrap(f.Runner, orderRequest, func(context.Context, order) (string, error) { panic("boom") })
	func() {
		defer func() { _ = recover() }()
		_, _ = h(localtest.Invocation(t, time.Minute), order{ID: "o1", Customer: "c1"})
	}()
	wantLines(t, out, "pay: AcquireLatency x1, Acquired 1, Unknown 1, WriteUnits 2")
}

// A wrapper within another one belongs to its invocation; an operation has a line of its own.
func TestMetrics_Nested(t *testing.T) {
	t.Parallel()
	out := &sink{}
	f := newFixture(t, idempotency.Config{Observe: lambda.Metrics(lambda.MetricsConfig{Writer: out})})
	inner := lambda.Event(f.Runner, fixed[order], func(context.Context, order) error { return nil })
	h := lambda.Wrap(f.Runner, orderRequest, func(ctx context.Context, o order) (string, error) {
		_, err := inner(ctx, o)
		if lines := out.read(t); len(lines) > 0 {
			t.Errorf("written within the invocation: %v", lines)
		}
		return "", err
	})
	if _, err := h(localtest.Invocation(t, time.Minute), order{ID: "o1", Customer: "c1"}); err != nil {
		t.Fatal(err)
	}
	const each = ": AcquireLatency x1, Acquired 1, Completed 1, HandlerLatency x1, WriteUnits 2"
	wantLines(t, out, "pay"+each, "test"+each)
}

// Outside of a wrapper, each event is a line.
func TestMetrics_WithoutWrapper(t *testing.T) {
	t.Parallel()
	out := &sink{}
	f := newFixture(t, idempotency.Config{Observe: lambda.Metrics(lambda.MetricsConfig{Writer: out})})
	req := idempotency.Request{Operation: "pay", Scope: "c1", Key: "secret-key", Input: 1}
	_, err := idempotency.Do(t.Context(), f.Runner, req, func(context.Context) (string, error) { return "", nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range out.writes { // I11
		if bytes.Contains(w, []byte("secret-key")) || bytes.Contains(w, []byte(`"c1"`)) {
			t.Errorf("%s has the key or the scope", w)
		}
	}
	wantLines(t, out, "pay: AcquireLatency x1, Acquired 1, WriteUnits 1", "pay: Completed 1, HandlerLatency x1, WriteUnits 1")
}

// Each kind has a metric of its own, and the same name in the documentation.
func TestMetrics_Names(t *testing.T) {
	t.Parallel()
	out := &sink{}
	observe := lambda.Metrics(lambda.MetricsConfig{Writer: out, Namespace: "n", Service: "s"})
	for _, kind := range []idempotency.Kind{
		idempotency.KindAcquired, idempotency.KindExpired, idempotency.KindTakenOver, idempotency.KindReplayed, idempotency.KindWaited,
		idempotency.KindInProgress, idempotency.KindMismatch, idempotency.KindCompleted, idempotency.KindFailed, idempotency.KindReleased,
		idempotency.KindUnknown, idempotency.KindLeaseLost, idempotency.KindNotRecorded, idempotency.KindNoTime, idempotency.KindStoreFailure,
	} {
		observe(t.Context(), idempotency.Event{Kind: kind, Operation: string(kind), ReadUnits: 0.5, Duration: 1500 * time.Microsecond})
	}
	const names = "Acquired, Expired, TakenOver, Replayed, Waited, InProgress, Mismatch, Completed, Failed, Released, Unknown, LeaseLost, NotRecorded, NoTime, StoreFailure"
	var got []string
	for _, l := range out.read(t) {
		for name, values := range l.values {
			switch {
			case strings.HasSuffix(name, "Latency"):
				if values[0] != 1.5 {
					t.Errorf("%s is %v, want 1.5", name, values)
				}
			case name != "ReadUnits":
				got = append(got, name)
			case values[0] != 0.5:
				t.Errorf("ReadUnits is %v, want 0.5", values)
			}
		}
	}
	if strings.Join(got, ", ") != names {
		t.Errorf("names are %v, want %s", got, names)
	}
}

// An answer that could not be stored is counted, and so is each retry that gets none for it.
func TestMetrics_NoBody(t *testing.T) {
	t.Parallel()
	out := &sink{}
	f := newFixture(t, idempotency.Config{Observe: lambda.Metrics(lambda.MetricsConfig{Writer: out})})
	h := lambda.Wrap(f.Runner, orderRequest, func(context.Context, order) (string, error) { return strings.Repeat("x", 8<<20), nil })
	invoke(t, h, `{"id":"o1","customer":"c1"}`)
	invoke(t, h, `{"id":"o1","customer":"c1"}`)
	wantLines(t, out,
		"pay: AcquireLatency x1, Acquired 1, Completed 1, HandlerLatency x1, NoBody 1, WriteUnits 2",
		"pay: NoBody 1, ReplayLatency x1, Replayed 1, WriteUnits 1")
}
