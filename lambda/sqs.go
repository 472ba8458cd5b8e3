package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
)

// SQS returns a handler of an SQS queue's batches that runs h once for each logical message, and reports those that have to
// come again. The event source mapping must have FunctionResponseTypes: [ReportBatchItemFailures]; without it Lambda ignores
// the answer and deletes the messages that have failed.
//
// # Key
//
// request names the logical request of a message, as for [Wrap]. What it leaves empty has a default: Operation is the batch's,
// Scope the queue's ARN, Input the message's body. Key has none. With a nil request the key is the message id, which a message
// keeps over its deliveries and in the dead-letter queue. It gets another one if its producer sends it again, and if it is
// redriven from the dead-letter queue: a key out of the body recognises it there too. A FIFO queue's deduplication id is
// no default, since an equal body has the same id by content-based deduplication, and means it for five minutes only.
//
// # Which messages come again
//
// Done with, and deleted from the queue: a message whose handler has returned nil, now or in an earlier delivery, and one
// that has failed for good ([Batch.Terminal]). All others are reported failed: the handler's error, a message that another
// worker has in work, an unknown outcome under idempotency.Refuse, a key that is bound to another body, a table that cannot
// be asked, too little time. Two messages with one key in a batch run one after the other, the second one as a replay.
//
// The messages of a FIFO queue, which its ARN tells, run in the order of their group; after one that fails the rest of
// its group is reported failed without a run, and comes again in order; each delivery counts against the queue's
// maxReceiveCount, so that they may follow it into the dead-letter queue. A panic of h fails the whole batch.
//
// # Retention
//
// A record must outlive the last delivery of its message, or that one runs anew: idempotency.Config.Retention, 24 hours by
// default, or the Retention of request. A queue keeps messages for 4 days by default, 14 at most, and the time in a
// dead-letter queue, and until somebody redrives it, counts too. A message that has succeeded comes again only if its
// deletion was lost, so 24 hours are right for most queues; 14 days are for those that may be stopped for long.
//
// A message that was received before is looked up by a read, before anything is written.
//
// Source: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html.
func SQS(r *idempotency.Runner, b Batch, request func(context.Context, events.SQSMessage) (idempotency.Request, error), h func(context.Context, events.SQSMessage) error) Handler[events.SQSEvent, events.SQSEventResponse] {
	if err := b.check(r, h == nil); err != nil {
		return refusing[events.SQSEvent, events.SQSEventResponse](err)
	}
	return sqs(&worker[events.SQSMessage]{r, b, sqsFacts, plain(request, h)})
}

// SQSBody is [SQS] with the message's body decoded from JSON, once for request and h. An Input that request leaves nil is the
// decoded body, so that what T has no field for is not compared. Numbers that go into an any are json.Number, with all
// their digits. What becomes of a body that is no JSON of a T is [Batch.Undecodable]'s affair.
func SQSBody[T any](r *idempotency.Runner, b Batch, request func(context.Context, events.SQSMessage, T) (idempotency.Request, error), h func(context.Context, T) error) Handler[events.SQSEvent, events.SQSEventResponse] {
	if err := b.check(r, h == nil); err != nil {
		return refusing[events.SQSEvent, events.SQSEventResponse](err)
	}
	return sqs(&worker[events.SQSMessage]{r, b, sqsFacts, func(ctx context.Context, m events.SQSMessage) (req idempotency.Request, named bool, run func(context.Context) error, err error) {
		var body T
		if err := decodeBody(m.Body, &body); err != nil {
			return req, false, nil, fmt.Errorf("the body of message %s: %w", m.MessageId, err)
		}
		if request != nil {
			req, err = request(ctx, m, body)
		}
		if req.Input == nil {
			req.Input = body
		}
		return req, request != nil, func(ctx context.Context) error { return h(ctx, body) }, err
	}})
}

func sqs(w *worker[events.SQSMessage]) Handler[events.SQSEvent, events.SQSEventResponse] {
	return func(ctx context.Context, e events.SQSEvent) (out events.SQSEventResponse, err error) {
		if err := misdirected(e.Records, func(m events.SQSMessage) string { return m.EventSource }, "aws:sqs"); err != nil {
			return out, err
		}
		out.BatchItemFailures = []events.SQSBatchItemFailure{} // null, too, would be a success
		for _, i := range w.process(ctx, e.Records) {
			out.BatchItemFailures = append(out.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: e.Records[i].MessageId})
		}
		return out, nil
	}
}

func sqsFacts(m events.SQSMessage) facts {
	f := facts{id: m.MessageId, scope: m.EventSourceARN, key: m.MessageId, input: m.Body}
	if strings.HasSuffix(m.EventSourceARN, ".fifo") { // standard queues may have groups too, without an order
		f.lane = "group " + m.Attributes["MessageGroupId"]
	}
	count, err := strconv.Atoi(m.Attributes["ApproximateReceiveCount"])
	f.received = err == nil && count > 1
	return f
}

// misdirected refuses what is no event of the source: answered with an empty list, or run as something else, it would be lost.
func misdirected[M any](records []M, sourceOf func(M) string, want string) error {
	if records == nil {
		return named(&idempotency.FieldError{Field: "the event's Records", Value: "missing", Rule: "is the function invoked by " + want + "?"})
	}
	for _, m := range records {
		if got := sourceOf(m); got != "" && got != want {
			return named(&idempotency.FieldError{Field: "eventSource", Value: got, Rule: "must be " + want})
		}
	}
	return nil
}

// decodeBody reads JSON without losing digits of numbers that go into an interface. A decoder that panics, as that of
// aws-lambda-go's DynamoDB attributes does, has met a body that cannot be read; nothing has run, so that no more is open.
func decodeBody(body string, v any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("its decoder has panicked: %v", p)
		}
	}()
	dec := json.NewDecoder(strings.NewReader(body))
	dec.UseNumber()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one JSON value")
	}
	return nil
}
