package lambda_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// wantRecord says that the request is known as done.
func wantRecord(tb testing.TB, f fixture, req idempotency.Request) {
	tb.Helper()
	req.Operation = "project"
	if _, err := idempotency.Lookup[struct{}](localtest.Invocation(tb, time.Minute), f.Runner, req); err != nil {
		tb.Errorf("key %q in scope %q: %v", req.Key, req.Scope, err)
	}
}

// A record is known by the event's id, in the stream's own scope.
func TestStream_Key(t *testing.T) {
	t.Parallel()
	ofEachStream(t, func(t *testing.T, s stream) {
		l, f := newLedger(), newFixture(t, idempotency.Config{})
		consume := s.open(f, l.batch(), l.handle)
		first := s.record(t, "101", nil)
		arn, _ := first["eventSourceARN"].(string)
		for _, record := range []map[string]any{
			first,
			s.record(t, "101", func(record, _ map[string]any) { record["eventSourceARN"] = arn + "-2" }),
			s.record(t, "102", func(record, _ map[string]any) { record["eventID"] = "shardId-000000000001:101" }), // after a reshard
		} {
			if got := consume(t, batchOf(t, record)); got != allDone {
				t.Errorf("%v: %+v", record["eventID"], got)
			}
		}
		if ran := l.took(); ran != "101 101 102" {
			t.Errorf("ran %s", ran)
		}
		for _, known := range []idempotency.Request{
			{Scope: arn, Key: "shardId-000000000000:101"},
			{Scope: arn + "-2", Key: "shardId-000000000000:101"},
			{Scope: arn, Key: "shardId-000000000001:101"},
		} {
			wantRecord(t, f, known)
		}
	})
}

// C24, C25: what differs from delivery to delivery is not compared; what the record says is. A mismatch is a failure.
func TestStream_Input(t *testing.T) {
	t.Parallel()
	rename := func(field string, value any) func(map[string]any, map[string]any) {
		return func(_, what map[string]any) { what[field] = value }
	}
	for name, changes := range map[string]map[string]struct {
		change func(record, what map[string]any)
		same   bool
	}{
		"Kinesis": {
			"arrival":       {rename("approximateArrivalTimestamp", 1480841999.5), true},
			"encryption":    {rename("encryptionType", "KMS"), true},
			"data":          {rename("data", "SGVsbG8gd29ybGQ="), false},
			"partition key": {rename("partitionKey", "s2"), false},
		},
		"DynamoDBStream": {
			"creation":  {rename("ApproximateCreationDateTime", 1480642999), true},
			"size":      {rename("SizeBytes", 55), true},
			"name":      {func(record, _ map[string]any) { record["eventName"] = "MODIFY" }, false},
			"keys":      {rename("Keys", map[string]any{"key": map[string]any{"S": "other"}}), false},
			"new image": {rename("NewImage", map[string]any{"key": map[string]any{"S": "binary"}}), false},
			"old image": {rename("OldImage", map[string]any{"key": map[string]any{"S": "binary"}}), false},
			"type": {func(_, what map[string]any) {
				image, _ := what["NewImage"].(map[string]any)
				image["asdf1"] = map[string]any{"S": "AAEqQQ=="} // it was bytes
			}, false},
		},
	} {
		for what, tt := range changes {
			t.Run(name+"/"+what, func(t *testing.T) {
				t.Parallel()
				s, l := streams[name], newLedger()
				consume := s.open(newFixture(t, idempotency.Config{}), l.batch(), l.handle)
				if got := consume(t, s.batch(t, "101")); got != allDone {
					t.Fatalf("first delivery: %+v", got)
				}
				want := allDone
				if !tt.same {
					want = stopAt("101")
				}
				got := consume(t, batchOf(t, s.record(t, "101", tt.change), s.record(t, "102", nil)))
				if got != want || errors.Is(l.failed["101"], idempotency.ErrMismatch) == tt.same {
					t.Errorf("got %+v, told %v; want %+v", got, l.failed, want)
				}
				if ran := l.took(); (ran == "101 102") != tt.same || !tt.same && ran != "101" {
					t.Errorf("ran %s", ran)
				}
			})
		}
	}
}

// A request function's key counts for a record that was put into the stream twice.
func TestKinesis_RequestOfOnesOwn(t *testing.T) {
	t.Parallel()
	s, runs := streams["Kinesis"], 0
	consume := lambda.Kinesis(newFixture(t, idempotency.Config{}).Runner, lambda.Batch{Operation: "project"},
		func(_ context.Context, m events.KinesisEventRecord) (idempotency.Request, error) {
			return idempotency.Request{Key: string(m.Kinesis.Data)}, nil
		},
		func(context.Context, events.KinesisEventRecord) error { runs++; return nil })
	if got := invoke(t, consume, s.batch(t, "101", "102")); got != allDone || runs != 1 {
		t.Errorf("got %+v, %d runs of one order in two records", got, runs)
	}
}

func TestDynamoDBStream_RequestOfOnesOwn(t *testing.T) {
	t.Parallel()
	s, runs := streams["DynamoDBStream"], 0
	consume := lambda.DynamoDBStream(newFixture(t, idempotency.Config{}).Runner, lambda.Batch{Operation: "project"},
		func(_ context.Context, m events.DynamoDBEventRecord) (idempotency.Request, error) {
			return idempotency.Request{Key: m.Change.Keys["key"].String()}, nil
		},
		func(context.Context, events.DynamoDBEventRecord) error { runs++; return nil })
	if got := invoke(t, consume, s.batch(t, "101", "102")); got != allDone || runs != 1 {
		t.Errorf("got %+v, %d runs of one change in two records", got, runs)
	}
}
