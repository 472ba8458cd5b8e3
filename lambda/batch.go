package lambda

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/oncekey/oncekey/idempotency"
)

// Batch says how a wrapper of a batch's source treats messages: those of [SQS], [SQSBody], [Kinesis], [DynamoDBStream] and
// [Kafka]. Only Operation is required.
//
// A nil hook has the default that is said there. Where Concurrency is above 1, hooks are called concurrently. [MessageFrom] gets
// the message out of a hook's context, as out of the handler's.
type Batch struct {
	// Operation names what is done with a message, such as "fulfil-order". It is part of each record's identity. A request
	// function may set another one, for messages of several kinds; without a request function it is required.
	Operation string

	// Concurrency is how many messages may run at once; default 1. Messages whose order counts never do: those of one group of
	// a FIFO queue, of a stream's shard, of a Kafka partition. Give the DynamoDB client as many connections: see
	// [AWSHTTPClient].
	Concurrency int

	// Timeout is what one message may take, its request function included: the context of its handler ends within it, and no
	// message starts with less time left. At least 1 s. Default, and where it is longer than the invocation's own time: what
	// the invocation has left; and no message starts with less time left than the longest of its batch has taken.
	//
	// A message that is not started was received all the same, which counts against a queue's maxReceiveCount: let a batch be
	// no larger than the function's time-out has time for.
	Timeout time.Duration

	// Undecodable is asked about a message that cannot be read: SQSBody cannot decode its body, or the request function
	// returns an error, as it should for one without a key. Nothing is run for it. True drops the message: it is acknowledged,
	// and gone. Default: it is reported failed, so that the source delivers it again, and a queue moves it to its dead-letter
	// queue in the end.
	Undecodable func(ctx context.Context, messageID string, err error) (drop bool)

	// Terminal is asked about a message whose handler has failed for good, with an error marked idempotency.Terminal that is
	// recorded: this time, or before. It would fail the same way each time it came again, without a run. (Of one whose
	// failure could not be stored the error is idempotency.ErrNoBody.) False reports it failed, for whoever wants it in a
	// dead-letter queue. Default: it is dropped, and logged as a warning.
	Terminal func(ctx context.Context, messageID string, err error) (drop bool)

	// Failed is told of every message that comes again, and why: nobody else is, since the invocation succeeds. The error of
	// one that was not started is [ErrSkipped]. Default: it is logged as an error, or as a warning if it is in progress
	// elsewhere; of those that were not started the number only.
	Failed func(ctx context.Context, messageID string, err error)

	// Logger is what the defaults of Terminal and Failed log to: the message's id and the error, which is the handler's; of a
	// body that cannot be decoded it says where, and not what is there. Default: slog.Default().
	Logger *slog.Logger
}

type batchMessageKey struct{}

// MessageFrom returns the message that is being handled, for a handler that is given its body only, and for the hooks of [Batch].
// M is what the source has: events.SQSMessage, KinesisEventRecord, DynamoDBEventRecord or KafkaRecord. ok is false outside of such
// a handler, and for another M.
func MessageFrom[M any](ctx context.Context) (m M, ok bool) {
	m, ok = ctx.Value(batchMessageKey{}).(M)
	return m, ok
}

// ErrSkipped is why a message was reported failed without being started: one before it in its group, shard or partition has
// failed, or there was too little time left. It comes again.
var ErrSkipped = errors.New("lambda: the message was not started")

// check returns what is wrong with the arguments of a batch's wrapper.
func (b Batch) check(r *idempotency.Runner, noRequest, noHandler bool) error {
	wrong := func(field, value, rule string) error {
		return &idempotency.FieldError{Field: field, Value: value, Rule: rule}
	}
	switch {
	case r == nil:
		return missing("r", "make a Runner with idempotency.New")
	case noHandler:
		return missing("h", "a handler is required")
	case b.Operation == "" && noRequest:
		return wrong("Batch.Operation", "empty", "is required where no request function names one")
	case b.Concurrency < 0:
		return wrong("Batch.Concurrency", strconv.Itoa(b.Concurrency), "must not be negative; 0 is one at a time")
	case b.Timeout != 0 && b.Timeout < time.Second:
		return wrong("Batch.Timeout", b.Timeout.String(), "must be 1s or more, or 0, the time that is left")
	}
	return nil
}
