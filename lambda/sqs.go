package lambda

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
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
// Scope the queue's ARN, Input the message's body, byte for byte. Key has none: return an error for a message without one.
// With a nil request the key is the message id, which a message keeps over its deliveries and in the dead-letter queue. It
// gets another one if its producer sends it again, and if it is redriven from the dead-letter queue: a key out of the body
// recognises it there too. A FIFO queue's deduplication id is no default, since an equal body has the same id by
// content-based deduplication, and means it for five minutes only. These defaults are part of a record's identity and stay.
//
// # Which messages come again
//
// Acknowledged, and deleted from the queue: a message whose handler has returned nil, now or in an earlier delivery, and one
// that has failed for good ([Batch.Terminal]). All others are reported failed: the handler's error, a message that is in
// progress elsewhere, an unknown outcome under idempotency.Refuse, a key that is bound to another body, a table that cannot be
// asked, too little time. Two messages with one key in a batch run one after the other, the second one as a replay.
//
// The messages of a FIFO queue, which its ARN tells, run in the order of their group; after one that fails the rest of
// its group is reported failed without a run, and comes again in order.
//
// A panic of h fails the whole batch. Under idempotency.Refuse the message is unknown from then on and panics no more; under
// Rerun it panics each time, and what comes in one batch with it comes again with it.
//
// Each delivery counts against the queue's maxReceiveCount, also of a message that was not started, that stood behind a failed
// one, or whose batch died with another's panic. So choose a count of 5 or more, a batch that the function's time-out has time
// for, and a visibility timeout of six times that (AWS's advice): after a crash a message is in progress elsewhere until its
// lease ends, 2 s after the function's time-out.
//
// # Retention
//
// A record must outlive the last delivery of its message, or that one runs anew: idempotency.Config.Retention, 24 hours by
// default, or the Retention of request. A message that has succeeded comes again only if its deletion was lost, and within
// hours. One whose outcome is unknown comes again until it is in the dead-letter queue, and somebody may redrive it days later:
// with a key out of the body UnknownRetention has to be longer than that. A standard queue and its dead-letter queue keep a
// message for 14 days in all at most, a FIFO queue's dead-letter queue counts anew, and so does every queue after a redrive.
//
// A message that was received before is looked up by a read, before anything is written. No message waits for one in progress
// elsewhere unless its request sets Wait, whatever Config.Wait says: those behind it would wait, too.
//
// Source: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html.
func SQS(r *idempotency.Runner, b Batch, request func(context.Context, events.SQSMessage) (idempotency.Request, error), h func(context.Context, events.SQSMessage) error) Handler[events.SQSEvent, events.SQSEventResponse] {
	return sqs(r, b, request == nil, h == nil, plain(request, h))
}

// SQSBody is [SQS] with the message's body decoded from JSON, once for request and h. Numbers that go into an any are
// json.Number, with all their digits. What becomes of a body that is no JSON of a T is [Batch.Undecodable]'s affair.
//
// An Input that request leaves nil is the decoded body, so that what T has no field for is not compared; a field that T gains
// counts from then on, also for keys that are bound already. With a nil request it is the body, as for SQS.
func SQSBody[T any](r *idempotency.Runner, b Batch, request func(context.Context, events.SQSMessage, T) (idempotency.Request, error), h func(context.Context, T) error) Handler[events.SQSEvent, events.SQSEventResponse] {
	return sqs(r, b, request == nil, h == nil, func(ctx context.Context, m events.SQSMessage) (req idempotency.Request, named bool, run func(context.Context) error, err error) {
		var body T
		err = decodeBody(m.Body, &body)
		if v := reflect.ValueOf(body); err == nil && v.Kind() == reflect.Pointer && v.IsNil() {
			err = errNull
		}
		if err != nil {
			return req, false, nil, bodyError{err}
		}
		if request != nil {
			if req, err = request(ctx, m, body); req.Input == nil {
				req.Input = body
			}
		}
		return req, request != nil, func(ctx context.Context) error { return h(ctx, body) }, err
	})
}

func sqs(r *idempotency.Runner, b Batch, noRequest, noHandler bool, p prepare[events.SQSMessage]) Handler[events.SQSEvent, events.SQSEventResponse] {
	if err := b.check(r, noRequest, noHandler); err != nil {
		return refusing[events.SQSEvent, events.SQSEventResponse](err)
	}
	return handler(&worker[events.SQSMessage]{runner: r, cfg: b, facts: sqsFacts, prepare: p}, func(e events.SQSEvent) ([]events.SQSMessage, error) {
		return e.Records, misdirected(e.Records, func(m events.SQSMessage) string { return m.EventSource }, "aws:sqs")
	}, func(batch []events.SQSMessage, failed []int) events.SQSEventResponse {
		out := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}} // null, too, would be a success
		for _, i := range failed {
			out.BatchItemFailures = append(out.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: batch[i].MessageId})
		}
		return out
	})
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

// bodyError says that a body cannot be decoded, and where; what is there is the sender's, and not for a log. Unwrap has it.
type bodyError struct{ err error }

func (e bodyError) Error() string {
	const what = "lambda: the body cannot be decoded: "
	if t, ok := errors.AsType[*json.UnmarshalTypeError](e.err); ok {
		return fmt.Sprintf("%s%s is not a %s, at byte %d", what, cmp.Or(t.Field, "it"), t.Type, t.Offset)
	}
	if t, ok := errors.AsType[*json.SyntaxError](e.err); ok {
		return fmt.Sprintf("%sit is no JSON, at byte %d", what, t.Offset)
	}
	for _, plain := range []error{io.EOF, io.ErrUnexpectedEOF, errSeveral, errNull} {
		if errors.Is(e.err, plain) {
			return what + plain.Error()
		}
	}
	return fmt.Sprintf("%sa %T", what, e.err)
}

func (e bodyError) Unwrap() error { return e.err }

var (
	errSeveral = errors.New("there is more than one JSON value")
	errNull    = errors.New("it is null, and no handler gets a nil pointer")
)

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
		return errSeveral
	}
	return nil
}
