package lambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// kafkaBatch is the documented event with other records: offsets by topic and partition.
func kafkaBatch(tb testing.TB, offsets map[[2]any][]int) events.KafkaEvent {
	tb.Helper()
	var event events.KafkaEvent
	if err := json.Unmarshal(testdata(tb, "kafka-event.json")["kafka-event.json"], &event); err != nil {
		tb.Fatal(err)
	}
	record := event.Records["AWSKafkaTopic-0"][0]
	clear(event.Records)
	for at, partition := range offsets {
		record.Topic, record.Partition = at[0].(string), int64(at[1].(int))
		name := fmt.Sprintf("%s-%d", record.Topic, record.Partition)
		for _, offset := range partition {
			record.Offset = int64(offset)
			event.Records[name] = append(event.Records[name], record)
		}
	}
	return event
}

func kafkaJSON(tb testing.TB, event events.KafkaEvent) string {
	tb.Helper()
	b, err := json.Marshal(event)
	if err != nil {
		tb.Fatal(err)
	}
	return string(b)
}

// place is what Failed knows a record by.
func place(m events.KafkaRecord) string {
	return fmt.Sprintf("%s-%d@%d", m.Topic, m.Partition, m.Offset)
}

// toLedger has each record's place noted.
func toLedger(l *ledger) func(context.Context, events.KafkaRecord) error {
	return func(ctx context.Context, m events.KafkaRecord) error { return l.handle(ctx, place(m)) }
}

// The event that AWS documents, twice.
func TestKafka_RealEvent(t *testing.T) {
	t.Parallel()
	l, f := newLedger(), newFixture(t, idempotency.Config{})
	consume := lambda.Kafka(f.Runner, l.batch(), nil, toLedger(l))
	for range 2 {
		if got := invoke(t, consume, string(testdata(t, "kafka-event.json")["kafka-event.json"])); got != allDone {
			t.Errorf("got %+v", got)
		}
	}
	if got := l.took(); got != "AWSKafkaTopic-0@0" {
		t.Errorf("ran %s", got)
	}
}

// C43, C44, C45: after a failure the rest of its partition is reported without a run, and the other partitions go on.
func TestKafka_RestOfAPartition(t *testing.T) {
	t.Parallel()
	l := newLedger()
	consume := lambda.Kafka(newFixture(t, idempotency.Config{}).Runner, l.batch(), nil, toLedger(l))
	event := kafkaJSON(t, kafkaBatch(t, map[[2]any][]int{
		{"orders", 0}: {7, 8, 9, 10}, {"orders", 1}: {7, 8}, {"refunds", 0}: {1, 2},
	}))
	l.fails["orders-0@8"], l.fails["refunds-0@2"] = errDown, errDown
	const want = `{"batchItemFailures":[` +
		`{"itemIdentifier":{"partition":"orders-0","offset":8}},` +
		`{"itemIdentifier":{"partition":"orders-0","offset":9}},` +
		`{"itemIdentifier":{"partition":"orders-0","offset":10}},` +
		`{"itemIdentifier":{"partition":"refunds-0","offset":2}}]}`
	if got := invoke(t, consume, event); got != (reply{payload: want}) {
		t.Errorf("got %+v, want %s", got, want)
	}
	if got := l.took(); got != "orders-0@7 orders-0@8 orders-1@7 orders-1@8 refunds-0@1 refunds-0@2" {
		t.Errorf("ran %s", got)
	}
	for id, err := range l.failed {
		if skipped := id == "orders-0@9" || id == "orders-0@10"; errors.Is(err, lambda.ErrSkipped) != skipped || errors.Is(err, errDown) == skipped {
			t.Errorf("of %s was told %v", id, err)
		}
	}
	if len(l.failed) != 4 {
		t.Errorf("told of %v", slices.Sorted(maps.Keys(l.failed)))
	}

	clear(l.fails)
	if got := invoke(t, consume, event); got != allDone {
		t.Errorf("redelivery: %+v", got)
	}
	if got := l.took(); got != "orders-0@8 orders-0@9 orders-0@10 refunds-0@2" {
		t.Errorf("redelivery ran %s", got)
	}
}

// Partitions are in work side by side, as many as Concurrency says, and each in its order.
func TestKafka_PartitionsSideBySide(t *testing.T) {
	t.Parallel()
	for concurrency, want := range map[int]struct {
		most int
		took time.Duration
	}{0: {1, 8}, 2: {2, 4}, 4: {4, 2}, 100: {4, 2}} {
		t.Run(fmt.Sprint(concurrency), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				atWork, most, order := 0, 0, map[string][]int64{}
				consume := lambda.Kafka(newFixture(t, idempotency.Config{}).Runner, lambda.Batch{Operation: "project", Concurrency: concurrency}, nil,
					func(_ context.Context, m events.KafkaRecord) error {
						mu.Lock()
						atWork++
						most = max(most, atWork)
						mu.Unlock()
						<-time.After(time.Second)
						mu.Lock()
						defer mu.Unlock()
						atWork--
						name := fmt.Sprint(m.Topic, m.Partition)
						order[name] = append(order[name], m.Offset)
						return nil
					})
				event := kafkaBatch(t, map[[2]any][]int{{"a", 0}: {4, 5}, {"a", 1}: {4, 5}, {"b", 0}: {4, 5}, {"b", 1}: {4, 5}})
				began := time.Now()
				answer, err := consume(localtest.Invocation(t, time.Minute), event)
				if err != nil || len(answer.BatchItemFailures) != 0 || most != want.most || time.Since(began) != want.took*time.Second {
					t.Errorf("%v, %v: %d at once, took %s; want %d and %d s", answer, err, most, time.Since(began), want.most, want.took)
				}
				for name, offsets := range order {
					if !slices.Equal(offsets, []int64{4, 5}) {
						t.Errorf("%s ran in the order %v", name, offsets)
					}
				}
			})
		})
	}
}

// A self-managed cluster has no ARN: the error says what is missing, and nothing runs in a scope that all clusters share.
func TestKafka_SelfManaged(t *testing.T) {
	t.Parallel()
	l, f := newLedger(), newFixture(t, idempotency.Config{})
	event := kafkaBatch(t, map[[2]any][]int{{"orders", 0}: {7}})
	event.EventSource, event.EventSourceARN = "aws:SelfManagedKafka", ""
	if got := invoke(t, lambda.Kafka(f.Runner, l.batch(), nil, toLedger(l)), kafkaJSON(t, event)); !strings.Contains(got.payload, `"partition":"orders-0","offset":7`) {
		t.Errorf("got %+v", got)
	}
	field, ok := errors.AsType[*idempotency.FieldError](l.failed["orders-0@7"])
	if !ok || field.Field != "Request.Scope" || len(l.ran) != 0 || len(f.db.Calls("")) != 0 {
		t.Errorf("told %v, ran %v", l.failed, l.ran)
	}

	scoped := lambda.Kafka(f.Runner, l.batch(), func(_ context.Context, m events.KafkaRecord) (idempotency.Request, error) {
		return idempotency.Request{Scope: "the shop's cluster", Key: place(m)}, nil
	}, toLedger(l))
	for range 2 {
		if got := invoke(t, scoped, kafkaJSON(t, event)); got != allDone {
			t.Errorf("with a scope: %+v", got)
		}
	}
	if got := l.took(); got != "orders-0@7" {
		t.Errorf("ran %q", got)
	}
}

// Topics have dashes and digits in their names, and all of these places are different ones.
func TestKafka_PlacesDoNotMeet(t *testing.T) {
	t.Parallel()
	f, runs := newFixture(t, idempotency.Config{}), 0
	consume := lambda.Kafka(f.Runner, lambda.Batch{Operation: "project"}, nil, func(context.Context, events.KafkaRecord) error {
		runs++
		return nil
	})
	event := kafkaBatch(t, map[[2]any][]int{
		{"a", 0}: {1, 11, 111}, {"a", 1}: {1, 11}, {"a", 11}: {1}, {"a1", 1}: {1}, {"a11", 1}: {1},
		{"a-1", 0}: {1}, {"a-1", 1}: {1}, {"a-1-1", 0}: {1}, {"1:a", 0}: {1},
	})
	other := kafkaBatch(t, map[[2]any][]int{{"a", 0}: {1}})
	other.EventSourceARN += "-2"
	for range 2 {
		for _, e := range []events.KafkaEvent{event, other} {
			if got := invoke(t, consume, kafkaJSON(t, e)); got != allDone {
				t.Errorf("got %+v", got)
			}
		}
	}
	keys := map[string]bool{}
	for _, c := range f.db.Calls("PutItem") {
		keys[c.Key] = true
	}
	if runs != 13 || len(keys) != 13 {
		t.Errorf("%d runs of %d records, want 13", runs, len(keys))
	}
}

// C24, C25.
func TestKafka_Input(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*events.KafkaRecord)
		same   bool
	}{
		"timestamp": {func(m *events.KafkaRecord) { m.Timestamp = events.MilliSecondsEpochTime{Time: time.Unix(1, 0)} }, true},
		"headers":   {func(m *events.KafkaRecord) { m.Headers = nil }, true},
		"key":       {func(m *events.KafkaRecord) { m.Key = "" }, false},
		"value":     {func(m *events.KafkaRecord) { m.Value = "b3RoZXI=" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLedger()
			consume := lambda.Kafka(newFixture(t, idempotency.Config{}).Runner, l.batch(), nil, toLedger(l))
			event := kafkaBatch(t, map[[2]any][]int{{"orders", 0}: {7}})
			if got := invoke(t, consume, kafkaJSON(t, event)); got != allDone {
				t.Errorf("first delivery: %+v", got)
			}
			tt.change(&event.Records["orders-0"][0])
			got := invoke(t, consume, kafkaJSON(t, event))
			if (got == allDone) != tt.same || errors.Is(l.failed["orders-0@7"], idempotency.ErrMismatch) == tt.same || l.took() != "orders-0@7" {
				t.Errorf("got %+v, told %v", got, l.failed)
			}
		})
	}
}

// C44: an empty batch is done; what is no batch at all is refused.
func TestKafka_NoRecords(t *testing.T) {
	t.Parallel()
	l := newLedger()
	consume := lambda.Kafka(newFixture(t, idempotency.Config{}).Runner, l.batch(), nil, toLedger(l))
	for _, event := range []string{`{"records":{}}`, `{"records":{"orders-0":[]}}`, `{"records":{"orders-0":null}}`} {
		if got := invoke(t, consume, event); got != allDone {
			t.Errorf("%s: %+v", event, got)
		}
	}
	for _, event := range []string{`{}`, `{"records":null}`} {
		if got := invoke(t, consume, event); errorType(t, got) != "IdempotencyInvalid" || !strings.Contains(got.document, "Records") {
			t.Errorf("%s: %+v", event, got)
		}
	}
}
