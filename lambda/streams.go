package lambda

import (
	"context"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
)

// Kinesis returns a handler of a Kinesis stream's batches that runs h once for each record, in order. It stops at the first
// that fails and reports its sequence number, from which on Lambda delivers again. The event source mapping must have
// FunctionResponseTypes: [ReportBatchItemFailures]; without it Lambda ignores the answer and goes on behind the batch.
//
// Key, scope and input are as for [SQS]: with a nil request the key is the event's id, of shard and sequence number; the scope
// is the stream's ARN, and the input the record's partition key and data. So is what counts as done. Batch.Concurrency is of
// no use here: a batch has the records of one shard.
//
// Lambda delivers a record that fails again until it is older than the stream keeps it (24 hours by default, a year at most),
// unless the mapping has MaximumRetryAttempts or MaximumRecordAgeInSeconds: set them, and a destination for failures, or one
// bad record stops its shard. The retention must be longer. A batch that Lambda bisects is two smaller ones to this handler.
//
// Tumbling windows are refused: their state would have to be in each answer, and a replay has none.
//
// Source: https://docs.aws.amazon.com/lambda/latest/dg/services-kinesis-batchfailurereporting.html.
func Kinesis(r *idempotency.Runner, b Batch, request func(context.Context, events.KinesisEventRecord) (idempotency.Request, error), h func(context.Context, events.KinesisEventRecord) error) Handler[events.KinesisTimeWindowEvent, events.KinesisEventResponse] {
	if err := b.check(r, h == nil); err != nil {
		return refusing[events.KinesisTimeWindowEvent, events.KinesisEventResponse](err)
	}
	w := &worker[events.KinesisEventRecord]{r, b, kinesisFacts, plain(request, h)}
	return func(ctx context.Context, e events.KinesisTimeWindowEvent) (out events.KinesisEventResponse, err error) {
		if inWindow(e.TimeWindowProperties) {
			return out, errTumbling()
		}
		if err := misdirected(e.Records, func(m events.KinesisEventRecord) string { return m.EventSource }, "aws:kinesis"); err != nil {
			return out, err
		}
		out.BatchItemFailures = []events.KinesisBatchItemFailure{} // null, too, would be a success
		if failed := w.process(ctx, e.Records); len(failed) > 0 {
			out.BatchItemFailures = append(out.BatchItemFailures, events.KinesisBatchItemFailure{ItemIdentifier: e.Records[failed[0]].Kinesis.SequenceNumber})
		}
		return out, nil
	}
}

func kinesisFacts(m events.KinesisEventRecord) facts {
	return facts{
		id: m.Kinesis.SequenceNumber, lane: shard, scope: m.EventSourceArn, key: m.EventID,
		input: struct {
			PartitionKey string
			Data         []byte
		}{m.Kinesis.PartitionKey, m.Kinesis.Data},
	}
}

// DynamoDBStream is [Kinesis] for the stream of a DynamoDB table, which keeps its records for 24 hours. With a nil request the
// key is the event's id, and the input the change: its name, keys and images.
//
// Source: https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html.
func DynamoDBStream(r *idempotency.Runner, b Batch, request func(context.Context, events.DynamoDBEventRecord) (idempotency.Request, error), h func(context.Context, events.DynamoDBEventRecord) error) Handler[events.DynamoDBTimeWindowEvent, events.DynamoDBEventResponse] {
	if err := b.check(r, h == nil); err != nil {
		return refusing[events.DynamoDBTimeWindowEvent, events.DynamoDBEventResponse](err)
	}
	w := &worker[events.DynamoDBEventRecord]{r, b, dynamoDBFacts, plain(request, h)}
	return func(ctx context.Context, e events.DynamoDBTimeWindowEvent) (out events.DynamoDBEventResponse, err error) {
		if inWindow(e.TimeWindowProperties) {
			return out, errTumbling()
		}
		if err := misdirected(e.Records, func(m events.DynamoDBEventRecord) string { return m.EventSource }, "aws:dynamodb"); err != nil {
			return out, err
		}
		out.BatchItemFailures = []events.DynamoDBBatchItemFailure{} // null, too, would be a success
		if failed := w.process(ctx, e.Records); len(failed) > 0 {
			out.BatchItemFailures = append(out.BatchItemFailures, events.DynamoDBBatchItemFailure{ItemIdentifier: e.Records[failed[0]].Change.SequenceNumber})
		}
		return out, nil
	}
}

func dynamoDBFacts(m events.DynamoDBEventRecord) facts {
	return facts{
		id: m.Change.SequenceNumber, lane: shard, scope: m.EventSourceArn, key: m.EventID,
		input: struct {
			Name                     string
			Keys, NewImage, OldImage map[string]events.DynamoDBAttributeValue
		}{m.EventName, m.Change.Keys, m.Change.NewImage, m.Change.OldImage},
	}
}

// shard is the one lane of a stream's batch.
const shard = "shard"

// inWindow says that the event is of a tumbling window. Its type tells no more than that it could be.
func inWindow(w events.TimeWindowProperties) bool {
	return !w.Window.Start.IsZero() || !w.Window.End.IsZero() || w.State != nil || w.IsFinalInvokeForWindow
}

func errTumbling() error {
	return named(&idempotency.FieldError{
		Field: "the event source mapping's TumblingWindowInSeconds", Value: "set",
		Rule: "must not be: the state of a tumbling window would have to be in each answer, and a replay has none",
	})
}
