package localtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/localtest"
)

// failing is a consumer that names the messages with these bodies.
func failing(bodies ...string) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	return func(_ context.Context, e events.SQSEvent) (out events.SQSEventResponse, _ error) {
		for _, m := range e.Records {
			if slices.Contains(bodies, m.Body) {
				out.BatchItemFailures = append(out.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
			}
		}
		return out, nil
	}
}

func naming(ids ...string) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	return func(context.Context, events.SQSEvent) (out events.SQSEventResponse, _ error) {
		for _, id := range ids {
			out.BatchItemFailures = append(out.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: id})
		}
		return out, nil
	}
}

// sent is a queue of messages such as "a1": body a1, of group a.
func sent(name string, messages string) *localtest.Queue {
	q := localtest.NewQueue(name)
	for body := range strings.FieldsSeq(messages) {
		q.Send(localtest.Message{Body: body, Group: body[:1]})
	}
	return q
}

// bodies are those of messages, each with its number of deliveries above 1, as in "a1 a2*3".
func bodies(messages []events.SQSMessage) string {
	var all []string
	for _, m := range messages {
		text := m.Body
		if n := m.Attributes["ApproximateReceiveCount"]; n != "1" {
			text += "*" + n
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

func deliver(t *testing.T, q *localtest.Queue, size int, consume func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)) localtest.Delivery {
	t.Helper()
	d, err := q.Deliver(t.Context(), size, consume)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func wantBodies(t *testing.T, what string, messages []events.SQSMessage, want string) {
	t.Helper()
	if got := bodies(messages); got != want {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// What is delivered, round by round, where some messages fail.
func TestQueue_Order(t *testing.T) {
	t.Parallel()
	type round struct {
		size          int
		fail          string
		want          string
		deleted, left int
	}
	for _, tt := range []struct {
		name, queue, send string
		rounds            []round
	}{
		{"standard: to the end", "orders", "a1 a2 a3 a4", []round{
			{2, "a1", "a1 a2", 1, 3},
			{2, "a3", "a3 a4", 1, 2},
			{10_000, "", "a1*2 a3*2", 2, 0},
			{1, "", "", 0, 0},
		}},
		{"FIFO: at its place", "orders.fifo", "a1 b1 a2 b2 a3", []round{
			{3, "a1 a2", "a1 b1 a2", 1, 4},
			{2, "a1", "a1*2 a2*2", 1, 3},
			{10, "a3", "a1*3 b2 a3", 2, 1},
			{10, "", "a3*2", 1, 0},
		}},
		{"FIFO: a message whose group has not waited for it", "orders.fifo", "a1 a2", []round{
			{10, "a1", "a1 a2", 1, 1},
			{10, "", "a1*2", 1, 0},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			q := sent(tt.queue, tt.send)
			for i, r := range tt.rounds {
				d := deliver(t, q, r.size, failing(strings.Fields(r.fail)...))
				wantBodies(t, fmt.Sprint("round ", i+1), d.Event.Records, r.want)
				if len(d.Deleted) != r.deleted || len(d.Returned) != len(strings.Fields(r.fail)) || q.Len() != r.left {
					t.Errorf("round %d: deleted %d, returned %d, left %d, want %+v", i+1, len(d.Deleted), len(d.Returned), q.Len(), r)
				}
			}
		})
	}
}

var errConsumer = errors.New("the function has failed")

// What Lambda's poller makes of an answer.
func TestQueue_Answers(t *testing.T) {
	t.Parallel()
	panicking := func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) { panic("a mistake") }
	for _, tt := range []struct {
		name     string
		consume  func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)
		returned string
		err      string
	}{
		{"null", naming(), "", ""},
		{"empty list", func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
			return events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}, nil
		}, "", ""},
		{"one", failing("m2"), "m2", ""},
		{"one, twice", func(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
			return naming(e.Records[1].MessageId, e.Records[1].MessageId)(ctx, e)
		}, "m2", ""},
		{"all", failing("m1", "m2", "m3"), "m1 m2 m3", ""},
		{"empty id", func(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
			return naming(e.Records[0].MessageId, "")(ctx, e)
		}, "m1 m2 m3", `localtest: deliver from orders: the whole batch comes back: itemIdentifier is "", must be a messageId of the batch`},
		{"id of another message", naming("other"), "m1 m2 m3", `localtest: deliver from orders: the whole batch comes back: itemIdentifier is "other", must be a messageId of the batch`},
		{"error", func(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
			out, _ := failing("m2")(ctx, e)
			return out, errConsumer
		}, "m1 m2 m3", errConsumer.Error()},
		{"panic", panicking, "m1 m2 m3", "panic: a mistake"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			q := sent("orders", "m1 m2 m3")
			var d localtest.Delivery
			err := func() (err error) {
				defer func() {
					if p := recover(); p != nil {
						err = fmt.Errorf("panic: %v", p)
					}
				}()
				d, err = q.Deliver(t.Context(), 10, tt.consume)
				return err
			}()
			if text := fmt.Sprint(err); text != tt.err && (err != nil || tt.err != "") {
				t.Errorf("error %q, want %q", text, tt.err)
			}
			if tt.name == "error" && err != errConsumer { //nolint:errorlint // as it is
				t.Errorf("error %#v, want the consumer's", err)
			}
			want := strings.Fields(tt.returned)
			if q.Len() != len(want) || tt.name != "panic" && (len(d.Returned) != len(want) || len(d.Deleted) != 3-len(want)) {
				t.Errorf("%d left, %+v, want %d to come back", q.Len(), d, len(want))
			}
			var again []string
			for _, m := range deliver(t, q, 10, naming()).Event.Records {
				again = append(again, m.Body)
			}
			if !slices.Equal(again, want) {
				t.Errorf("%q come again, want %q", again, want)
			}
		})
	}
}

// The members of a message, and which of them stay over two deliveries.
func TestQueue_Message(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := strconv.FormatInt(time.Now().UnixMilli(), 10)
		q := localtest.NewQueue("orders.fifo")
		text := "x"
		own := map[string]events.SQSMessageAttribute{"tenant": {DataType: "String", StringValue: &text}}
		id := q.Send(localtest.Message{Body: "abc", Group: "g", Attributes: own})
		time.Sleep(time.Second) //nolint:forbidigo // virtual
		first := deliver(t, q, 1, failing("abc")).Event.Records[0]
		time.Sleep(time.Second) //nolint:forbidigo // virtual
		second := deliver(t, q, 1, failing("abc")).Event.Records[0]
		received := strconv.FormatInt(time.Now().Add(-time.Second).UnixMilli(), 10)

		want := events.SQSMessage{
			MessageId: id, ReceiptHandle: first.ReceiptHandle, Body: "abc", Md5OfBody: "900150983cd24fb0d6963f7d28e17f72",
			EventSource: "aws:sqs", EventSourceARN: "arn:aws:sqs:us-east-1:000000000000:orders.fifo", AWSRegion: "us-east-1",
			MessageAttributes: own,
			Attributes: map[string]string{
				"SenderId": "localtest", "SentTimestamp": start, "ApproximateFirstReceiveTimestamp": received,
				"ApproximateReceiveCount": "1", "SequenceNumber": "00000000000000000001", "MessageGroupId": "g",
				"MessageDeduplicationId": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
			},
		}
		if !reflect.DeepEqual(first, want) {
			t.Errorf("first delivery\n%+v, want\n%+v", first, want)
		}
		if second.ReceiptHandle == first.ReceiptHandle || first.ReceiptHandle == "" {
			t.Errorf("receipt handles %q and %q, want two", first.ReceiptHandle, second.ReceiptHandle)
		}
		want.ReceiptHandle = second.ReceiptHandle
		want.Attributes["ApproximateReceiveCount"] = "2"
		if !reflect.DeepEqual(second, want) {
			t.Errorf("second delivery\n%+v, want\n%+v", second, want)
		}
	})
}

func TestQueue_StandardMessage(t *testing.T) {
	t.Parallel()
	q := localtest.NewQueue("orders")
	q.Send(localtest.Message{Body: "a"})
	q.Send(localtest.Message{Body: "b", Group: "fair"})
	records := deliver(t, q, 2, naming()).Event.Records
	for i, want := range [][]string{
		{"ApproximateFirstReceiveTimestamp", "ApproximateReceiveCount", "SenderId", "SentTimestamp"},
		{"ApproximateFirstReceiveTimestamp", "ApproximateReceiveCount", "MessageGroupId", "SenderId", "SentTimestamp"},
	} {
		if got := slices.Sorted(maps.Keys(records[i].Attributes)); !slices.Equal(got, want) {
			t.Errorf("attributes %q, want %q", got, want)
		}
	}
	if text, err := json.Marshal(records[0]); err != nil || !strings.Contains(string(text), `"messageAttributes":{}`) {
		t.Errorf("%s, error %v, want messageAttributes that are empty, not null", text, err)
	}
}

// What a consumer does with its event changes nothing in the queue.
func TestQueue_EventIsACopy(t *testing.T) {
	t.Parallel()
	q := sent("orders.fifo", "a1")
	_, err := q.Deliver(t.Context(), 1, func(_ context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
		e.Records[0].MessageId = "mine"
		clear(e.Records[0].Attributes)
		return events.SQSEventResponse{}, errConsumer
	})
	if !errors.Is(err, errConsumer) {
		t.Errorf("error %v, want the consumer's", err)
	}
	m := deliver(t, q, 1, naming()).Event.Records[0]
	if m.MessageId == "mine" || m.Attributes["MessageGroupId"] != "a" {
		t.Errorf("%+v", m)
	}
}

// The dead-letter queue keeps message ids, and a redrive does not (C51).
func TestQueue_DeadLettersAndRedrive(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"orders", "orders.fifo"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := sent(name, "a1 b1 a2")
			q.MaxReceives = 2
			wantBodies(t, "first", deliver(t, q, 10, failing("a1", "a2")).Event.Records, "a1 b1 a2")
			if dead := q.Dead(); len(dead) != 0 {
				t.Errorf("dead after the first delivery: %+v", dead)
			}
			second := deliver(t, q, 1, failing("a1"))
			wantBodies(t, "second", second.Event.Records, "a1*2")
			old := second.Event.Records[0]
			if q.Len() != 1 || !slices.Equal(second.Returned, []string{old.MessageId}) {
				t.Errorf("%d left, returned %q, want 1 and %q", q.Len(), second.Returned, old.MessageId)
			}
			wantBodies(t, "dead", q.Dead(), "a1*2")
			dead := q.Dead()[0]
			if dead.MessageId != old.MessageId {
				t.Errorf("the dead letter has id %q, want %q", dead.MessageId, old.MessageId)
			}

			ids := q.Redrive()
			if len(q.Dead()) != 0 || q.Len() != 2 {
				t.Errorf("after the redrive: dead %+v, %d in the queue", q.Dead(), q.Len())
			}
			after := deliver(t, q, 10, naming()).Event.Records
			wantBodies(t, "after the redrive", after, "a2*2 a1")
			m := after[1]
			if !slices.Equal(ids, []string{m.MessageId}) || m.MessageId == old.MessageId {
				t.Errorf("redriven %q, delivered as %q, was %q: want a new id", ids, m.MessageId, old.MessageId)
			}
			if name == "orders.fifo" && (m.Attributes["MessageDeduplicationId"] != old.MessageId || m.Attributes["MessageGroupId"] != "a" ||
				m.Attributes["SequenceNumber"] <= after[0].Attributes["SequenceNumber"]) {
				t.Errorf("attributes %+v, want the old message id, the old group, a later sequence number", m.Attributes)
			}
		})
	}
}

// While one delivery is under way another one takes other messages, and none of a FIFO group that is in flight.
func TestQueue_InFlight(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"orders": "b1 a2 b2", "orders.fifo": "b1 b2"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := sent(name, "a1 b1 a2 b2")
			deliver(t, q, 1, func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
				wantBodies(t, "meanwhile", deliver(t, q, 10, naming()).Event.Records, want)
				if got := 4 - len(strings.Fields(want)); q.Len() != got {
					t.Errorf("%d in the queue, want %d", q.Len(), got)
				}
				return events.SQSEventResponse{}, nil
			})
		})
	}
}

func TestQueue_Concurrent(t *testing.T) {
	t.Parallel()
	q := localtest.NewQueue("orders")
	var mu sync.Mutex
	done := map[string]int{}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				q.Send(localtest.Message{Body: "m"})
				_, err := q.Deliver(t.Context(), 3, func(_ context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
					mu.Lock()
					defer mu.Unlock()
					for _, m := range e.Records {
						done[m.MessageId]++
					}
					return events.SQSEventResponse{}, nil
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for id, n := range done {
		if n != 1 {
			t.Errorf("%s was delivered %d times", id, n)
		}
	}
	if len(done) != 200 || q.Len() != 0 {
		t.Errorf("%d delivered, %d left, want 200 and 0", len(done), q.Len())
	}
}

func TestQueue_Refuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		queue string
		size  int
		want  string
	}{
		{"orders", 0, "localtest: deliver from orders: size is 0, must be 1 to 10000"},
		{"orders", 10_001, "localtest: deliver from orders: size is 10001, must be 1 to 10000"},
		{"orders.fifo", 11, "localtest: deliver from orders.fifo: size is 11, must be 1 to 10"},
	} {
		if _, err := sent(tt.queue, "a1").Deliver(t.Context(), tt.size, naming()); fmt.Sprint(err) != tt.want {
			t.Errorf("error %v, want %q", err, tt.want)
		}
	}
	for _, tt := range []struct {
		queue   string
		message localtest.Message
		want    string
	}{
		{"orders.fifo", localtest.Message{Body: "b"}, "localtest: send to orders.fifo: Group is empty, must be set for a FIFO queue"},
		{"", localtest.Message{Body: "b"}, "localtest: new queue: name is empty, must be that of a queue"},
		{"orders", localtest.Message{Body: "b", DeduplicationID: "d"}, "localtest: send to orders: DeduplicationID is set, must be empty for a standard queue"},
	} {
		func() {
			defer func() {
				if p := recover(); p != tt.want {
					t.Errorf("panic %v, want %q", p, tt.want)
				}
			}()
			localtest.NewQueue(tt.queue).Send(tt.message)
		}()
	}
}

// A function in a process of its own has messages succeed at their third delivery.
func TestConsume_FromAQueue(t *testing.T) {
	t.Parallel()
	f := localtest.StartFunction(t, localtest.Bootstrap{Env: []string{"EVENTS=SQS"}, Timeout: longEnough})
	q := sent("orders", "m1 m2")
	for round, left := range []int{2, 2, 0} {
		d := deliver(t, q, 10, f.Consume)
		if q.Len() != left || len(d.Returned) != left {
			t.Errorf("round %d: %d left, %+v, want %d", round+1, q.Len(), d, left)
		}
	}
}

// answerBody is the handler of a function that answers with the first message's body, whatever it is.
func answerBody(_ context.Context, e events.SQSEvent) (json.RawMessage, error) {
	if body := e.Records[0].Body; body != "decline" {
		return json.RawMessage(strings.ReplaceAll(body, "ID", e.Records[0].MessageId)), nil
	}
	return nil, &cardDeclinedError{"stolen"}
}

// What the poller makes of the bytes of an answer.
func TestConsume_Answers(t *testing.T) {
	t.Parallel()
	f := localtest.StartFunction(t, localtest.Bootstrap{Env: []string{"EVENTS=SQS answer"}, Timeout: longEnough})
	const (
		whole = `localtest: deliver from orders: the whole batch comes back: itemIdentifier is "", must be a messageId of the batch`
		wrong = "must be an object with batchItemFailures: "
	)
	for _, tt := range []struct{ answer, returned, err string }{
		{`null`, "", ""},
		{`{}`, "", ""},
		{`{"batchItemFailures":null}`, "", ""},
		{`{"batchItemFailures":[]}`, "", ""},
		{`{"BatchItemFailures":[{"itemIdentifier":"ID"}]}`, "", ""}, // Lambda does not know it
		{`{"batchItemFailures":[{"itemIdentifier":"ID"}]}`, "first", ""},
		{`{"batchItemFailures":[{"itemIdentifier":""}]}`, "both", whole},
		{`{"batchItemFailures":[{"itemIdentifier":null}]}`, "both", whole},
		{`{"batchItemFailures":[{"ItemIdentifier":"ID"}]}`, "both", whole},
		{`{"batchItemFailures":[null]}`, "both", whole},
		{`{"batchItemFailures":["ID"]}`, "both", wrong},
		{`{"batchItemFailures":{}}`, "both", wrong},
		{`[]`, "both", wrong},
		{`decline`, "both", "cardDeclinedError: card declined: stolen"},
	} {
		q := localtest.NewQueue("orders")
		first := q.Send(localtest.Message{Body: tt.answer})
		both := []string{first, q.Send(localtest.Message{Body: "second"})}
		d, err := q.Deliver(t.Context(), 10, f.Consume)
		if text := fmt.Sprint(err); !strings.Contains(text, tt.err) || (err == nil) != (tt.err == "") {
			t.Errorf("%s: error %v, want %q", tt.answer, err, tt.err)
		}
		want := map[string][]string{"first": {first}, "both": both}[tt.returned]
		if !slices.Equal(d.Returned, want) || q.Len() != len(want) {
			t.Errorf("%s: %+v, %d left, want %q to come back", tt.answer, d, q.Len(), want)
		}
		if _, failed := errors.AsType[*localtest.FunctionError](err); failed != (tt.answer == "decline") {
			t.Errorf("%s: error %#v", tt.answer, err)
		}
	}
}

// A context that has ended is no end of the function's.
func TestConsume_NotInvoked(t *testing.T) {
	t.Parallel()
	f := localtest.StartFunction(t, localtest.Bootstrap{Env: []string{"EVENTS=SQS"}, Timeout: longEnough})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Consume(ctx, events.SQSEvent{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
}
