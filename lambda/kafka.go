package lambda

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
)

// KafkaEventResponse reports the records that have to come again.
type KafkaEventResponse struct {
	BatchItemFailures []KafkaBatchItemFailure `json:"batchItemFailures"`
}

// KafkaBatchItemFailure is a record that has to come again.
type KafkaBatchItemFailure struct {
	ItemIdentifier KafkaItemIdentifier `json:"itemIdentifier"`
}

// KafkaItemIdentifier is a record's place.
type KafkaItemIdentifier struct {
	Partition string `json:"partition"` // topic and partition, as the event names it: "orders-0"
	Offset    int64  `json:"offset"`
}

// Kafka returns a handler of the batches of a Kafka topic, of Amazon MSK or self-managed, that runs h once for each record. The
// records of a partition run in order; after one that fails the rest of its partition is reported failed without a run.
// Partitions do not wait for each other, and Batch.Concurrency of them run at once. The event source mapping must be in
// provisioned mode and have FunctionResponseTypes: [ReportBatchItemFailures]; without it Lambda ignores the answer.
//
// Key, scope and input are as for [SQS]: with a nil request the key is topic, partition and offset; the scope is the cluster's
// ARN, which a self-managed cluster has not, so that there request must set a Scope; the input is the record's key and value.
// A topic that is deleted and made again begins with its old offsets: those are new records to a key that is made of something
// else. The retention must be longer than Lambda tries: MaximumRecordAgeInSeconds and MaximumRetryAttempts, which have no
// end by default (10 times, where there is a destination for failures), or the topic's own retention.
//
// Source: https://docs.aws.amazon.com/lambda/latest/dg/kafka-retry-configurations.html.
func Kafka(r *idempotency.Runner, b Batch, request func(context.Context, events.KafkaRecord) (idempotency.Request, error), h func(context.Context, events.KafkaRecord) error) Handler[events.KafkaEvent, KafkaEventResponse] {
	if err := b.check(r, request == nil, h == nil); err != nil {
		return refusing[events.KafkaEvent, KafkaEventResponse](err)
	}
	one := plain(request, h)
	w := &worker[kafkaRecord]{runner: r, cfg: b, facts: kafkaFacts, event: func(m kafkaRecord) any { return m.KafkaRecord }}
	w.prepare = func(ctx context.Context, m kafkaRecord) (idempotency.Request, bool, func(context.Context) error, error) {
		return one(ctx, m.KafkaRecord)
	}
	return handler(w, kafkaRecords, func(batch []kafkaRecord, failed []int) KafkaEventResponse {
		out := KafkaEventResponse{[]KafkaBatchItemFailure{}} // null, too, would be a success
		for _, i := range failed {
			out.BatchItemFailures = append(out.BatchItemFailures, KafkaBatchItemFailure{KafkaItemIdentifier{batch[i].partition, batch[i].Offset}})
		}
		return out
	})
}

// kafkaRecords are those of all partitions, each with its own in order.
func kafkaRecords(e events.KafkaEvent) (records []kafkaRecord, err error) {
	if e.Records != nil {
		records = []kafkaRecord{}
	}
	for _, partition := range slices.Sorted(maps.Keys(e.Records)) {
		for _, record := range e.Records[partition] {
			records = append(records, kafkaRecord{record, partition, e.EventSourceARN})
		}
	}
	source := e.EventSource
	if strings.HasSuffix(source, "SelfManagedKafka") {
		source = kafkaSource
	}
	return records, misdirected(records, func(kafkaRecord) string { return source }, kafkaSource)
}

const kafkaSource = "aws:kafka"

// kafkaRecord is a record with what the event says of it.
type kafkaRecord struct {
	events.KafkaRecord
	partition, cluster string
}

func kafkaFacts(m kafkaRecord) facts {
	place := fmt.Sprintf("%s@%d", m.partition, m.Offset)
	return facts{
		id: place, lane: m.partition, scope: m.cluster, key: short("kafka", m.Topic, fmt.Sprint(m.Partition), fmt.Sprint(m.Offset)),
		input: struct{ Key, Value string }{m.Key, m.Value},
	}
}
