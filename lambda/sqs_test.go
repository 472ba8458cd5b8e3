package lambda_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

const queueARN = "arn:aws:sqs:us-east-1:000000000000:orders"

type sqsHandler = lambda.Handler[events.SQSEvent, events.SQSEventResponse]

// sqsMessage is one of a standard queue, in its first delivery.
func sqsMessage(id, body string) events.SQSMessage {
	return events.SQSMessage{
		MessageId: id, Body: body, EventSource: "aws:sqs", EventSourceARN: queueARN,
		Attributes: map[string]string{"ApproximateReceiveCount": "1"},
	}
}

// fifoMessage is one of a FIFO queue.
func fifoMessage(group, id, body string) events.SQSMessage {
	m := sqsMessage(id, body)
	m.EventSourceARN += ".fifo"
	m.Attributes["MessageGroupId"] = group
	return m
}

// redelivered are the same messages, one delivery later.
func redelivered(messages ...events.SQSMessage) []events.SQSMessage {
	later := slices.Clone(messages)
	for i, m := range later {
		later[i].Attributes = maps.Clone(m.Attributes)
		n, _ := strconv.Atoi(m.Attributes["ApproximateReceiveCount"])
		later[i].Attributes["ApproximateReceiveCount"] = strconv.Itoa(n + 1)
	}
	return later
}

// handOver delivers one batch and returns the ids of the messages that come again, joined by spaces.
func handOver(ctx context.Context, tb testing.TB, h sqsHandler, messages ...events.SQSMessage) string {
	tb.Helper()
	out, err := h(ctx, events.SQSEvent{Records: messages})
	if err != nil {
		tb.Fatalf("the whole batch failed: %v", err)
	}
	var ids []string
	for _, f := range out.BatchItemFailures {
		ids = append(ids, f.ItemIdentifier)
	}
	return strings.Join(ids, " ")
}

// handsOver is handOver with a minute of time.
func handsOver(tb testing.TB, h sqsHandler, messages ...events.SQSMessage) string {
	tb.Helper()
	return handOver(localtest.Invocation(tb, time.Minute), tb, h, messages...)
}

// quiet keeps what is expected out of the log.
func quiet(b lambda.Batch) lambda.Batch {
	b.Failed = func(context.Context, string, error) {}
	return b
}

// byBody takes the whole body for the key.
func byBody(_ context.Context, m events.SQSMessage) (idempotency.Request, error) {
	return idempotency.Request{Key: m.Body}, nil
}

// C44: Lambda reads the answer's JSON. An empty list is a success; so would null be, and an event that is none of a queue's.
func TestSQS_AnswersOnTheWire(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	h := lambda.SQS(f.Runner, quiet(lambda.Batch{Operation: "ship"}), nil, func(_ context.Context, m events.SQSMessage) error {
		if m.Body == "bad" {
			return errors.New("bad")
		}
		return nil
	})
	const record = `{"messageId":"ID","body":"BODY","attributes":{"ApproximateReceiveCount":"1"},"eventSourceARN":"` + queueARN + `"}`
	good := strings.NewReplacer("ID", "1", "BODY", "good").Replace(record)
	bad := strings.NewReplacer("ID", "2", "BODY", "bad").Replace(record)
	for payload, want := range map[string]string{
		`{"Records":[]}`:                           `{"batchItemFailures":[]}`,
		`{"Records":[` + good + `]}`:               `{"batchItemFailures":[]}`,
		`{"Records":[` + bad + `,` + good + `]}`:   `{"batchItemFailures":[{"itemIdentifier":"2"}]}`,
		`{"Records":[` + bad + `]}`:                `{"batchItemFailures":[{"itemIdentifier":"2"}]}`,
		`{"Records":[` + good + `,` + good + `]} `: `{"batchItemFailures":[]}`,
	} {
		if got := invoke(t, h, payload); got != (reply{payload: want}) {
			t.Errorf("%s: %+v, want %s", payload, got, want)
		}
	}
	for _, payload := range []string{`{}`, `{"Records":null}`, `{"detail-type":"Scheduled Event"}`, `null`} {
		got := invoke(t, h, payload)
		if errorType(t, got) != "IdempotencyInvalid" || !strings.Contains(got.document, "the event's Records is missing: is the function invoked by aws:sqs?") {
			t.Errorf("%s: %+v, want an error", payload, got)
		}
	}
}

// A mistake in the arguments is every event's answer, which names the field, its value and the rule; nothing is run.
func TestSQS_Mistakes(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	type handler = func(context.Context, events.SQSMessage) error
	ok := func(context.Context, events.SQSMessage) error { t.Error("the handler ran"); return nil }
	for name, c := range map[string]struct {
		r    *idempotency.Runner
		b    lambda.Batch
		h    handler
		want []string
	}{
		"no Runner":            {nil, lambda.Batch{Operation: "ship"}, ok, []string{"r is nil", "idempotency.New"}},
		"no handler":           {f.Runner, lambda.Batch{Operation: "ship"}, nil, []string{"h is nil", "required"}},
		"negative concurrency": {f.Runner, lambda.Batch{Operation: "ship", Concurrency: -2}, ok, []string{"Batch.Concurrency is -2", "must not be negative"}},
		"negative timeout":     {f.Runner, lambda.Batch{Operation: "ship", Timeout: -time.Second}, ok, []string{"Batch.Timeout is -1s", "must be 1s or more"}},
	} {
		var body func(context.Context, string) error
		if c.h != nil {
			body = func(context.Context, string) error { return c.h(t.Context(), events.SQSMessage{}) }
		}
		for _, h := range []sqsHandler{lambda.SQS(c.r, c.b, nil, c.h), lambda.SQSBody(c.r, c.b, nil, body)} {
			_, err := h(t.Context(), events.SQSEvent{Records: []events.SQSMessage{sqsMessage("1", `"x"`)}})
			field, ok := errors.AsType[*idempotency.FieldError](err)
			if !ok || !strings.Contains(field.Error(), c.want[0]) || !strings.Contains(field.Error(), c.want[1]) {
				t.Errorf("%s: %v, want a FieldError with %q", name, err, c.want)
			}
			if got := errorType(t, invoke(t, h, `{"Records":[]}`)); got != "IdempotencyInvalid" {
				t.Errorf("%s: errorType %q", name, got)
			}
		}
	}
	if n := len(f.db.Calls("")); n != 0 {
		t.Errorf("%d calls to the table, want none", n)
	}
}

// An operation may come from the request function alone. If there is none, no message is done, whatever the body; without a
// request function it has to be the batch's, or the wrapper refuses every event.
func TestSQS_Operation(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	var why error
	var runs []string
	b := lambda.Batch{Failed: func(_ context.Context, _ string, err error) { why = err }}
	h := func(_ context.Context, m events.SQSMessage) error { runs = append(runs, m.Body); return nil }
	nameless := func(context.Context, events.SQSMessage) (idempotency.Request, error) {
		return idempotency.Request{Key: "k"}, nil
	}
	if got := handsOver(t, lambda.SQS(f.Runner, b, nameless, h), sqsMessage("1", "a")); got != "1" {
		t.Errorf("failed: %q, want 1", got)
	}
	if got := invoke(t, lambda.SQS(f.Runner, b, nil, h), `{"Records":[]}`); !strings.Contains(got.document, "Batch.Operation is empty: is required") {
		t.Errorf("without operation and request function: %+v", got)
	}
	field, ok := errors.AsType[*idempotency.FieldError](why)
	if !ok || field.Field != "Request.Operation" || field.Value != "empty" || field.Rule != "is required" {
		t.Errorf("why: %v, want that the operation is required", why)
	}
	b.Operation = "default"
	own := func(_ context.Context, m events.SQSMessage) (idempotency.Request, error) {
		return idempotency.Request{Operation: m.Body, Key: "k", Input: idempotency.AnyInput}, nil
	}
	// Three operations, one key: "" is the batch's own.
	if got := handsOver(t, lambda.SQS(f.Runner, b, own, h), sqsMessage("1", "a"), sqsMessage("2", ""), sqsMessage("3", "default"), sqsMessage("4", "b"), sqsMessage("5", "a")); got != "" {
		t.Errorf("failed: %q: %v", got, why)
	}
	if got := strings.Join(runs, "|"); got != "a||b" {
		t.Errorf("ran %q", got)
	}
}

// C27, I11: the message id is a key within its queue, and within the invocation's tenant.
func TestSQS_ScopeIsTheQueue(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	var runs []string
	who := ""
	note := func(_ context.Context, m events.SQSMessage) error {
		runs = append(runs, who+m.EventSourceARN[len(queueARN):])
		return nil
	}
	byID := lambda.SQS(f.Runner, quiet(lambda.Batch{Operation: "ship"}), nil, note)
	byKey := lambda.SQS(f.Runner, quiet(lambda.Batch{Operation: "pay"}), byBody, note)
	of := func(queue string) events.SQSMessage {
		m := sqsMessage("id", "k")
		m.EventSourceARN += queue
		return m
	}
	messages := []events.SQSMessage{of("-a"), of("-b"), of("-a")}
	for name, h := range map[string]sqsHandler{"message id": byID, "body": byKey} {
		for _, tenant := range []string{"", "acme", "globex", "acme"} {
			who = tenant
			ctx := lambdacontext.NewContext(localtest.Invocation(t, time.Minute), &lambdacontext.LambdaContext{TenantID: tenant})
			if got := handOver(ctx, t, h, messages...); got != "" {
				t.Errorf("%s of %q: failed %q", name, tenant, got)
			}
		}
		if got := strings.Join(runs, " "); got != "-a -b acme-a acme-b globex-a globex-b" {
			t.Errorf("%s: ran for %q, want once for each queue and tenant", name, got)
		}
		runs = nil
	}
	shared := func(_ context.Context, m events.SQSMessage) (idempotency.Request, error) {
		return idempotency.Request{Key: m.Body, Scope: "customer 7"}, nil
	}
	h := lambda.SQS(f.Runner, quiet(lambda.Batch{Operation: "bill"}), shared, note)
	who = ""
	if got := handsOver(t, h, messages...); got != "" || len(runs) != 1 {
		t.Errorf("a scope of the request's own: failed %q, ran for %q, want one run", got, runs)
	}
}

// C26: a request function that finds no key gets none: not the message id, and no record that two messages share.
func TestSQS_EmptyKeyIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	var why []error
	b := lambda.Batch{Operation: "ship", Failed: func(_ context.Context, _ string, err error) { why = append(why, err) }}
	none := func(context.Context, events.SQSMessage) (idempotency.Request, error) {
		return idempotency.Request{}, nil
	}
	noneOfBody := func(_ context.Context, _ events.SQSMessage, key string) (idempotency.Request, error) {
		return idempotency.Request{Key: key}, nil
	}
	for name, h := range map[string]sqsHandler{
		"SQS":     lambda.SQS(f.Runner, b, none, func(context.Context, events.SQSMessage) error { t.Error("ran"); return nil }),
		"SQSBody": lambda.SQSBody(f.Runner, b, noneOfBody, func(context.Context, string) error { t.Error("ran"); return nil }),
	} {
		why = nil
		if got := handsOver(t, h, sqsMessage("1", `""`), sqsMessage("2", `""`)); got != "1 2" {
			t.Errorf("%s: failed %q, want both", name, got)
		}
		for _, err := range why {
			if field, ok := errors.AsType[*idempotency.FieldError](err); !ok || field.Field != "Request.Key" || field.Value != "empty" {
				t.Errorf("%s: %v, want a FieldError of Request.Key", name, err)
			}
		}
	}
	if n := len(f.db.Calls("")); n != 0 {
		t.Errorf("%d calls to the table, want none", n)
	}
}

// C25: what has to be equal is the body, or what the request function chooses of it; what differs in each delivery never is.
func TestSQS_Input(t *testing.T) {
	t.Parallel()
	type note struct {
		Order string `json:"order"`
		At    string `json:"at"`
	}
	chosen := func(_ context.Context, _ events.SQSMessage, n note) (idempotency.Request, error) {
		return idempotency.Request{Key: "k", Input: n.Order}, nil
	}
	all := func(context.Context, events.SQSMessage, note) (idempotency.Request, error) {
		return idempotency.Request{Key: "k"}, nil
	}
	for name, c := range map[string]struct {
		request func(context.Context, events.SQSMessage, note) (idempotency.Request, error)
		second  string
		failed  string
	}{
		"the same body":                    {nil, `{"order":"o","at":"1"}`, ""},
		"another body":                     {nil, `{"order":"o","at":"2"}`, "id"},
		"another order of members":         {all, `{"at":"1", "order":"o"}`, ""},
		"an unknown field":                 {all, `{"order":"o","at":"1","trace":"x"}`, ""},
		"one without a request function":   {nil, `{"order":"o","at":"1","trace":"x"}`, "id"},
		"chosen field, another timestamp":  {chosen, `{"order":"o","at":"2"}`, ""},
		"chosen field is another one":      {chosen, `{"order":"p","at":"1"}`, "id"},
		"chosen field, no timestamp there": {chosen, `{"order":"o"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, idempotency.Config{})
			var why error
			runs := 0
			b := lambda.Batch{Operation: "ship", Failed: func(_ context.Context, _ string, err error) { why = err }}
			h := lambda.SQSBody(f.Runner, b, c.request, func(context.Context, note) error { runs++; return nil })
			if got := handsOver(t, h, sqsMessage("id", `{"order":"o","at":"1"}`)); got != "" {
				t.Fatalf("first: failed %q: %v", got, why)
			}
			second := sqsMessage("id", c.second)
			second.ReceiptHandle, second.Attributes["SentTimestamp"] = "another", "2"
			if got := handsOver(t, h, second); got != c.failed || runs != 1 || c.failed != "" && !errors.Is(why, idempotency.ErrMismatch) {
				t.Errorf("second: failed %q: %v; %d runs", got, why, runs)
			}
		})
	}
}

// SQS compares the body byte by byte: what it is, it does not know.
func TestSQS_InputIsTheBody(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	runs := 0
	h := lambda.SQS(f.Runner, quiet(lambda.Batch{Operation: "ship"}), nil, func(context.Context, events.SQSMessage) error { runs++; return nil })
	got := []string{
		handsOver(t, h, sqsMessage("id", `{"a": 1}`)),
		handsOver(t, h, sqsMessage("id", `{"a":1}`)),
		handsOver(t, h, redelivered(sqsMessage("id", `{"a": 1}`))...),
		handsOver(t, h, redelivered(sqsMessage("id", `{"a":1}`))...),
	}
	if !slices.Equal(got, []string{"", "id", "", "id"}) || runs != 1 {
		t.Errorf("failed %q, %d runs", got, runs)
	}
}

// What one message costs: its first run two writes; a replay a write that is refused, or half a read if the message was
// received before; the first run of such a one a read in vain.
func TestSQS_Calls(t *testing.T) {
	t.Parallel()
	localtest.OnlyEmbedded(t, "read and write units")
	f := newFixture(t, idempotency.Config{})
	fail := false
	h := lambda.SQS(f.Runner, quiet(lambda.Batch{Operation: "ship"}), nil, func(context.Context, events.SQSMessage) error {
		if fail {
			return errors.New("fails")
		}
		return nil
	})
	seen := func(messages ...events.SQSMessage) string {
		f.db.ResetCalls()
		handsOver(t, h, messages...)
		var calls []string
		for _, c := range f.db.Calls("") {
			calls = append(calls, c.Operation+" "+strconv.FormatFloat(c.ReadUnits, 'g', -1, 64)+"/"+strconv.FormatFloat(c.WriteUnits, 'g', -1, 64))
		}
		return strings.Join(calls, ", ")
	}
	one, two := sqsMessage("1", "a"), sqsMessage("2", "b")
	noCount, notANumber := sqsMessage("3", "c"), sqsMessage("4", "d")
	noCount.Attributes = nil
	notANumber.Attributes["ApproximateReceiveCount"] = "many"
	for _, c := range []struct {
		name, got, want string
	}{
		{"first run", seen(one), "PutItem 0/1, UpdateItem 0/1"},
		{"replay, as if for the first time", seen(one), "PutItem 0/1"},
		{"replay", seen(redelivered(one)...), "GetItem 0.5/0"},
		{"first run of a received one", seen(redelivered(two)...), "GetItem 0.5/0, PutItem 0/1, UpdateItem 0/1"},
		{"twice in a batch", seen(sqsMessage("5", "e"), sqsMessage("5", "e")), "PutItem 0/1, UpdateItem 0/1, PutItem 0/1"},
		{"without a count", seen(noCount), "PutItem 0/1, UpdateItem 0/1"},
		{"with a count that is none", seen(notANumber), "PutItem 0/1, UpdateItem 0/1"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s, want %s", c.name, c.got, c.want)
		}
	}
	fail = true
	if got, want := seen(sqsMessage("6", "f")), "PutItem 0/1, UpdateItem 0/1"; got != want {
		t.Errorf("a failure: %s, want %s", got, want)
	}
}

// A request may read first, and last as long, as it likes.
func TestSQS_RequestsOwnSettings(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	request := func(_ context.Context, m events.SQSMessage) (idempotency.Request, error) {
		return idempotency.Request{Key: m.MessageId, ReadFirst: true, Ref: "order 17", OnUnknown: idempotency.Rerun}, nil
	}
	runs := 0
	h := lambda.SQS(f.Runner, quiet(lambda.Batch{Operation: "ship"}), request, func(context.Context, events.SQSMessage) error {
		if runs++; runs == 1 {
			return idempotency.Unknown(errors.New("open"))
		}
		return nil
	})
	if got := handsOver(t, h, sqsMessage("1", "a")); got != "1" || len(f.db.Calls("GetItem")) != 1 {
		t.Errorf("failed %q, %d reads", got, len(f.db.Calls("GetItem")))
	}
	if got := handsOver(t, h, redelivered(sqsMessage("1", "a"))...); got != "" || runs != 2 {
		t.Errorf("failed %q, %d runs: an unknown outcome that may run again did not", got, runs)
	}
}
