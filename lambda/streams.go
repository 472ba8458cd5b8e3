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
// is the stream's ARN, and the input the record's partition key and data. Acknowledged is the same, too. Batch.Concurrency is
// of no use here: a batch has the records of one shard.
//
// Lambda delivers a record that fails again until it is older than the stream keeps it (24 hours by default, a year at most),
// unless the mapping has MaximumRetryAttempts or MaximumRecordAgeInSeconds: set them, and a destination for failures, or one
// bad record stops its shard. The retention must be longer. A batch that Lambda bisects is two smaller ones to this handler.
//
// Tumbling windows are refused, which the event's type is there to see: their state would have to be in each answer, and a
// replay has none.
//
// Source: https://docs.aws.amazon.com/lambda/latest/dg/services-kinesis-batchfailurereporting.html.
func Kinesis(r *idempotency.Runner, b Batch, request func(context.Context, events.KinesisEventRecord) (idempotency.Request, error), h func(context.Context, events.KinesisEventRecord) error) Handler[events.KinesisTimeWindowEvent, events.KinesisEventResponse] {
	if err := b.check(r, request == nil, h == nil); err != nil {
		return refusing[events.KinesisTimeWindowEvent, events.KinesisEventResponse](err)
	}
	w := &worker[events.KinesisEventRecord]{runner: r, cfg: b, facts: kinesisFacts, prepare: plain(request, h)}
	return handler(w, func(e events.KinesisTimeWindowEvent) ([]events.KinesisEventRecord, error) {
		if inWindow(e.TimeWindowProperties) {
			return nil, errTumbling
		}
		return e.Records, misdirected(e.Records, func(m events.KinesisEventRecord) string { return m.EventSource }, "aws:kinesis")
	}, func(batch []events.KinesisEventRecord, failed []int) events.KinesisEventResponse {
		out := events.KinesisEventResponse{BatchItemFailures: []events.KinesisBatchItemFailure{}} // null, too, would be a success
		if len(failed) > 0 {
			out.BatchItemFailures = append(out.BatchItemFailures, events.KinesisBatchItemFailure{ItemIdentifier: batch[failed[0]].Kinesis.SequenceNumber})
		}
		return out
	})
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
	if err := b.check(r, request == nil, h == nil); err != nil {
		return refusing[events.DynamoDBTimeWindowEvent, events.DynamoDBEventResponse](err)
	}
	w := &worker[events.DynamoDBEventRecord]{runner: r, cfg: b, facts: dynamoDBFacts, prepare: plain(request, h)}
	return handler(w, func(e events.DynamoDBTimeWindowEvent) ([]events.DynamoDBEventRecord, error) {
		if inWindow(e.TimeWindowProperties) {
			return nil, errTumbling
		}
		return e.Records, misdirected(e.Records, func(m events.DynamoDBEventRecord) string { return m.EventSource }, "aws:dynamodb")
	}, func(batch []events.DynamoDBEventRecord, failed []int) events.DynamoDBEventResponse {
		out := events.DynamoDBEventResponse{BatchItemFailures: []events.DynamoDBBatchItemFailure{}} // null, too, would be a success
		if len(failed) > 0 {
			out.BatchItemFailures = append(out.BatchItemFailures, events.DynamoDBBatchItemFailure{ItemIdentifier: batch[failed[0]].Change.SequenceNumber})
		}
		return out
	})
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

var errTumbling = &idempotency.FieldError{
	Field: "the event source mapping's TumblingWindowInSeconds", Value: "set",
	Rule: "must not be: the state of a tumbling window would have to be in each answer, and a replay has none",
}
