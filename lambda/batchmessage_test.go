package lambda_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// Handler and hooks find the message that it is about, in the source's own type; nobody else does.
func TestMessageFrom(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	var seen []string
	see := func(where string, ctx context.Context) {
		m, ok := lambda.MessageFrom[events.SQSMessage](ctx)
		seen = append(seen, fmt.Sprint(where, " ", m.MessageId, " ", ok))
		if _, ok := lambda.MessageFrom[events.KafkaRecord](ctx); ok {
			t.Error("it is no Kafka record")
		}
	}
	b := lambda.Batch{
		Operation:   "ship",
		Undecodable: func(ctx context.Context, _ string, _ error) bool { see("undecodable", ctx); return true },
		Terminal:    func(ctx context.Context, _ string, _ error) bool { see("terminal", ctx); return true },
		Failed:      func(ctx context.Context, _ string, _ error) { see("failed", ctx) },
	}
	h := lambda.SQSBody(f.Runner, b, func(ctx context.Context, m events.SQSMessage, _ string) (idempotency.Request, error) {
		see("request", ctx)
		return idempotency.Request{Key: m.MessageId}, nil
	}, func(ctx context.Context, body string) error {
		see("handler", ctx)
		return map[string]error{"bad": errors.New("bad"), "final": idempotency.Terminal(errors.New("final"))}[body]
	})
	handsOver(t, h, sqsMessage("1", `"bad"`), sqsMessage("2", `"final"`), sqsMessage("3", `{`))
	want := "request 1 true, handler 1 true, failed 1 true, request 2 true, handler 2 true, terminal 2 true, undecodable 3 true"
	if got := strings.Join(seen, ", "); got != want {
		t.Errorf("seen %s\nwant %s", got, want)
	}
	if _, ok := lambda.MessageFrom[events.SQSMessage](t.Context()); ok {
		t.Error("there is no message outside of a batch")
	}

	record := events.KafkaEvent{Records: map[string][]events.KafkaRecord{"t-0": {{Topic: "t", Offset: 7}}}, EventSourceARN: "arn"}
	kafka := lambda.Kafka(f.Runner, b, nil, func(ctx context.Context, m events.KafkaRecord) error {
		if own, ok := lambda.MessageFrom[events.KafkaRecord](ctx); !ok || own.Offset != m.Offset {
			t.Errorf("the record is %+v, %v", own, ok)
		}
		return nil
	})
	if out, err := kafka(localtest.Invocation(t, time.Minute), record); err != nil || len(out.BatchItemFailures) > 0 {
		t.Errorf("%+v, %v", out, err)
	}
}

// What a sender has put into a body that cannot be decoded is not logged; who wants it finds it in the error.
func TestBatch_LogsNoBodies(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	type payment struct {
		Card string    `json:"card"`
		Born time.Time `json:"born"`
		N    int       `json:"n"`
	}
	var log bytes.Buffer
	b := lambda.Batch{Operation: "pay", Logger: slog.New(slog.NewTextHandler(&log, nil))}
	h := lambda.SQSBody(f.Runner, b, nil, func(context.Context, payment) error { return nil })
	for _, body := range []string{
		`{"card":4111111111111111}`, `{"born":"4111 Jane Doe"}`, `{"n":4111111111111111111111}`, `4111 secret`, `{"card":"4111"} 4111`, `{"n":"4111"}`,
	} {
		log.Reset()
		if got := handsOver(t, h, sqsMessage("1", body)); got != "1" {
			t.Errorf("%s: failed %q", body, got)
		}
		if text := log.String(); strings.Contains(text, "4111") || strings.Contains(text, "Jane") || !strings.Contains(text, "the body cannot be decoded") {
			t.Errorf("%s: logged %s", body, text)
		}
	}
	b.Failed = func(_ context.Context, _ string, err error) {
		if errors.Unwrap(err) == nil || !strings.Contains(errors.Unwrap(err).Error(), "4111") {
			t.Errorf("the hook is told %v", err)
		}
	}
	handsOver(t, lambda.SQSBody(f.Runner, b, nil, func(context.Context, payment) error { return nil }), sqsMessage("1", `{"born":"4111 Jane Doe"}`))
}

// Metrics take ASCII dimensions only.
func TestMetrics_OperationThatIsNoDimension(t *testing.T) {
	t.Parallel()
	for operation, want := range map[string]string{"größe": "[[Service]]", " ": "[[Service]]", "pay order": "[[Service] [Service Operation]]"} {
		out := &sink{}
		lambda.Metrics(lambda.MetricsConfig{Writer: out})(t.Context(), idempotency.Event{Kind: idempotency.KindAcquired, Operation: operation})
		if got := fmt.Sprint(out.read(t)[0].AWS.CloudWatchMetrics[0].Dimensions); got != want {
			t.Errorf("%q: dimensions %s, want %s", operation, got, want)
		}
	}
}
