package lambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// batchTo decodes an event of messages, sends it to a wrapper, and returns how many messages it has and how many have failed.
type batchTo func(ctx context.Context, event []byte) (messages, failures int, err error)

func batchSources(r *idempotency.Runner) map[string]batchTo {
	b := lambda.Batch{Operation: "ship", Logger: slog.New(slog.DiscardHandler)}
	return map[string]batchTo{
		"SQS": consuming(lambda.SQS(r, b, nil, func(context.Context, events.SQSMessage) error { return nil }),
			func(e events.SQSEvent, out events.SQSEventResponse) (int, int) {
				return len(e.Records), len(out.BatchItemFailures)
			}),
		"SQSBody": consuming(lambda.SQSBody(r, b, nil, func(context.Context, map[string]any) error { return nil }),
			func(e events.SQSEvent, out events.SQSEventResponse) (int, int) {
				return len(e.Records), len(out.BatchItemFailures)
			}),
		"Kinesis": consuming(lambda.Kinesis(r, b, nil, func(context.Context, events.KinesisEventRecord) error { return nil }),
			func(e events.KinesisTimeWindowEvent, out events.KinesisEventResponse) (int, int) {
				return len(e.Records), len(out.BatchItemFailures)
			}),
		"DynamoDBStream": consuming(lambda.DynamoDBStream(r, b, nil, func(context.Context, events.DynamoDBEventRecord) error { return nil }),
			func(e events.DynamoDBTimeWindowEvent, out events.DynamoDBEventResponse) (int, int) {
				return len(e.Records), len(out.BatchItemFailures)
			}),
		"Kafka": consuming(lambda.Kafka(r, b, nil, func(context.Context, events.KafkaRecord) error { return nil }),
			func(e events.KafkaEvent, out lambda.KafkaEventResponse) (n, failed int) {
				for _, records := range e.Records {
					n += len(records)
				}
				return n, len(out.BatchItemFailures)
			}),
	}
}

func consuming[In, Out any](h lambda.Handler[In, Out], count func(In, Out) (messages, failures int)) batchTo {
	return func(ctx context.Context, event []byte) (messages, failures int, err error) {
		var in In
		if err := json.Unmarshal(event, &in); err != nil {
			return 0, 0, nil //nolint:nilerr // Lambda would not hand it over
		}
		out, err := h(ctx, in)
		messages, failures = count(in, out)
		return messages, failures, err
	}
}

// No event makes a source panic, and none is answered with more failures than it has messages. An event without messages is
// an error: answered with an empty list it would be lost.
func FuzzBatchEvent(f *testing.F) {
	for _, pattern := range []string{"sqs-event.json", "kinesis-event.json", "dynamodb-event.json", "kafka-event.json"} {
		for _, event := range testdata(f, pattern) {
			f.Add(event)
		}
	}
	f.Add([]byte(`{"Records":[{"messageId":"","eventSourceARN":"arn:aws:sqs:us-east-1:1:q.fifo","body":"\u0000","attributes":{"ApproximateReceiveCount":"-1"}}]}`))
	f.Add([]byte(`{"Records":[{"messageId":"a"},{"messageId":"a"}],"records":{"t-0":[{"topic":"t","partition":-1,"offset":9223372036854775807}]}}`))
	sources := batchSources(newFixture(f, idempotency.Config{}).Runner)
	f.Fuzz(func(t *testing.T, event []byte) {
		for name, send := range sources {
			messages, failures, err := send(localtest.Invocation(t, 3*time.Second), event)
			if failures > messages {
				t.Errorf("%s: %d failures of %d messages", name, failures, messages)
			}
			if _, refused := errors.AsType[*idempotency.FieldError](err); messages > 0 && err != nil && !refused { // refused: of another source
				t.Errorf("%s: %d messages, and %v", name, messages, err)
			}
		}
	})
}
