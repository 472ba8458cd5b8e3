package lambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// stream is a source whose batches are of one shard.
type stream struct {
	file, windowFile string
	change           string // the field with what the stream says of a record
	open             func(f fixture, b lambda.Batch, h func(context.Context, string) error) func(testing.TB, string) reply
}

// streams hand each record's sequence number to h.
var streams = map[string]stream{
	"Kinesis": {"kinesis-event.json", "kinesis-time-window-event.json", "kinesis", func(f fixture, b lambda.Batch, h func(context.Context, string) error) func(testing.TB, string) reply {
		consume := lambda.Kinesis(f.Runner, b, nil, func(ctx context.Context, m events.KinesisEventRecord) error {
			return h(ctx, m.Kinesis.SequenceNumber)
		})
		return func(tb testing.TB, event string) reply { tb.Helper(); return invoke(tb, consume, event) }
	}},
	"DynamoDBStream": {"dynamodb-event.json", "dynamodb-time-window-event.json", "dynamodb", func(f fixture, b lambda.Batch, h func(context.Context, string) error) func(testing.TB, string) reply {
		consume := lambda.DynamoDBStream(f.Runner, b, nil, func(ctx context.Context, m events.DynamoDBEventRecord) error {
			return h(ctx, m.Change.SequenceNumber)
		})
		return func(tb testing.TB, event string) reply { tb.Helper(); return invoke(tb, consume, event) }
	}},
}

// ofEachStream runs the test for every kind of stream.
func ofEachStream(t *testing.T, test func(*testing.T, stream)) {
	t.Helper()
	for name, s := range streams {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

// record is the event file's first one with a sequence number and an event id of its own; change, if any, changes it.
func (s stream) record(tb testing.TB, sequence string, change func(record, what map[string]any)) map[string]any {
	tb.Helper()
	var event struct{ Records []map[string]any }
	if err := json.Unmarshal(testdata(tb, s.file)[s.file], &event); err != nil {
		tb.Fatal(err)
	}
	record := event.Records[0]
	what, _ := record[s.change].(map[string]any)
	for _, name := range []string{"sequenceNumber", "SequenceNumber"} {
		if _, ok := what[name]; ok {
			what[name] = sequence
		}
	}
	record["eventID"] = "shardId-000000000000:" + sequence
	if change != nil {
		change(record, what)
	}
	return record
}

// batch has records of these sequence numbers.
func (s stream) batch(tb testing.TB, sequences ...string) string {
	tb.Helper()
	var records []map[string]any
	for _, sequence := range sequences {
		records = append(records, s.record(tb, sequence, nil))
	}
	return batchOf(tb, records...)
}

func batchOf(tb testing.TB, records ...map[string]any) string {
	tb.Helper()
	event, err := json.Marshal(map[string]any{"Records": records})
	if err != nil {
		tb.Fatal(err)
	}
	return string(event)
}

// stopAt is the answer that has Lambda deliver again from a record on.
func stopAt(sequence string) reply {
	return reply{payload: `{"batchItemFailures":[{"itemIdentifier":"` + sequence + `"}]}`}
}

// allDone is the answer that has nothing come again: a list that is null says the same, and nobody can tell it from a mistake.
var allDone = reply{payload: `{"batchItemFailures":[]}`}

// ledger notes what ran, and what was told of.
type ledger struct {
	fails  map[string]error
	ran    []string
	failed map[string]error
}

func newLedger() *ledger { return &ledger{fails: map[string]error{}, failed: map[string]error{}} }

func (l *ledger) handle(_ context.Context, id string) error {
	l.ran = append(l.ran, id)
	return l.fails[id]
}

func (l *ledger) batch() lambda.Batch {
	return lambda.Batch{Operation: "project", Failed: func(_ context.Context, id string, err error) { l.failed[id] = err }}
}

// took returns what ran since the last time.
func (l *ledger) took() string {
	ran := strings.Join(l.ran, " ")
	l.ran = nil
	return ran
}

var errDown = errors.New("the projection's store is down")

// The events that AWS documents: every record runs once, in its order, and a second delivery runs none.
func TestStream_RealEvent(t *testing.T) {
	t.Parallel()
	ofEachStream(t, func(t *testing.T, s stream) {
		l := newLedger()
		consume := s.open(newFixture(t, idempotency.Config{}), l.batch(), l.handle)
		for i, want := range []int{2, 0} {
			if got := consume(t, string(testdata(t, s.file)[s.file])); got != allDone {
				t.Errorf("delivery %d: %+v", i, got)
			}
			if len(l.ran) != want {
				t.Errorf("delivery %d ran %q, want %d records", i, l.ran, want)
			}
			l.ran = nil
		}
	})
}

// C43, C44, C45: the first failure ends a batch, whichever record it is. Its number alone is reported; from there on the
// records come again, and those before it do not run again if they do.
func TestStream_StopsAtTheFirstFailure(t *testing.T) {
	t.Parallel()
	ofEachStream(t, func(t *testing.T, s stream) {
		all := []string{"101", "102", "103", "104"}
		for i, bad := range all {
			l := newLedger()
			consume := s.open(newFixture(t, idempotency.Config{}), l.batch(), l.handle)
			l.fails[bad], l.fails["104"] = errDown, errDown // what comes after the first one is not reported
			if got := consume(t, s.batch(t, all...)); got != stopAt(bad) {
				t.Errorf("%s fails: %+v", bad, got)
			}
			if got, want := l.took(), strings.Join(all[:i+1], " "); got != want {
				t.Errorf("%s fails: ran %s, want %s", bad, got, want)
			}
			for j, id := range all {
				if err := l.failed[id]; (err != nil) != (j >= i) || errors.Is(err, errDown) != (j == i) || errors.Is(err, lambda.ErrSkipped) != (j > i) {
					t.Errorf("%s fails: of %s was told %v", bad, id, err)
				}
			}
			clear(l.fails)
			for _, again := range [][]string{all[i:], all, all[:2]} {
				if got := consume(t, s.batch(t, again...)); got != allDone {
					t.Errorf("%s has failed: redelivery %+v", bad, got)
				}
			}
			if got, want := l.took(), strings.Join(all[i:], " "); got != want {
				t.Errorf("%s has failed: then ran %s, want %s", bad, got, want)
			}
		}
	})
}

// C43: a batch that Lambda bisects until the bad record is alone. The good ones behind it run once the halves let them.
func TestStream_BisectedBatch(t *testing.T) {
	t.Parallel()
	ofEachStream(t, func(t *testing.T, s stream) {
		l := newLedger()
		consume := s.open(newFixture(t, idempotency.Config{}), l.batch(), l.handle)
		l.fails["104"] = errDown
		for _, step := range []struct {
			batch []string
			want  reply
			ran   string
		}{
			{[]string{"101", "102", "103", "104", "105", "106"}, stopAt("104"), "101 102 103 104"},
			{[]string{"101", "102", "103"}, allDone, ""},
			{[]string{"104", "105", "106"}, stopAt("104"), "104"},
			{[]string{"104"}, stopAt("104"), "104"},
			{[]string{"105", "106"}, allDone, "105 106"}, // after 104 has gone to the destination for failures
		} {
			if got := consume(t, s.batch(t, step.batch...)); got != step.want {
				t.Errorf("%s: %+v, want %+v", step.batch, got, step.want)
			}
			if got := l.took(); got != step.ran {
				t.Errorf("%s: ran %q, want %q", step.batch, got, step.ran)
			}
		}
	})
}

// C44: the records of a shard run one after the other, whatever Concurrency says.
func TestStream_OneShardIsNeverConcurrent(t *testing.T) {
	t.Parallel()
	ofEachStream(t, func(t *testing.T, s stream) {
		var atWork, most atomic.Int64
		var order []string
		b := lambda.Batch{Operation: "project", Concurrency: 8}
		consume := s.open(newFixture(t, idempotency.Config{}), b, func(_ context.Context, sequence string) error {
			most.Store(max(most.Load(), atWork.Add(1)))
			<-time.After(time.Millisecond)
			order = append(order, sequence)
			atWork.Add(-1)
			return nil
		})
		var all []string
		for n := range 20 {
			all = append(all, fmt.Sprint(101+n))
		}
		if got := consume(t, s.batch(t, all...)); got != allDone {
			t.Errorf("got %+v", got)
		}
		if most.Load() != 1 || !slices.Equal(order, all) {
			t.Errorf("%d at once, in the order %v", most.Load(), order)
		}
	})
}

// C42: what a record can meet besides its handler's error, and whether the batch goes on behind it.
func TestStream_DoneOrNot(t *testing.T) {
	t.Parallel()
	ofEachStream(t, func(t *testing.T, s stream) {
		for name, tt := range map[string]struct {
			outcome error
			told    error // nil: the batch goes on
		}{
			"terminal failure": {idempotency.Terminal(errDown), nil},
			"unknown":          {idempotency.Unknown(errDown), idempotency.ErrOutcomeUnknown},
		} {
			l := newLedger()
			consume := s.open(newFixture(t, idempotency.Config{}), l.batch(), l.handle)
			l.fails["101"] = tt.outcome
			first := consume(t, s.batch(t, "101"))
			l.ran = nil
			got := consume(t, s.batch(t, "101", "102"))
			want, ran := allDone, "102"
			if tt.told != nil {
				want, ran = stopAt("101"), ""
			}
			if took := l.took(); (first == allDone) != (tt.told == nil) || got != want || took != ran || !errors.Is(l.failed["101"], tt.told) {
				t.Errorf("%s: %+v, then %+v, ran %q, told %v", name, first, got, took, l.failed)
			}
		}

		// The same batch is delivered while it is in work: none of it is acknowledged, and none overtakes.
		l := newLedger()
		var consume func(testing.TB, string) reply
		var inner reply
		consume = s.open(newFixture(t, idempotency.Config{}), l.batch(), func(ctx context.Context, sequence string) error {
			if sequence == "101" {
				inner = consume(t, s.batch(t, "101", "102"))
			}
			return l.handle(ctx, sequence)
		})
		outer := consume(t, s.batch(t, "101", "102"))
		if took := l.took(); inner != stopAt("101") || outer != allDone || took != "101 102" || !errors.Is(l.failed["101"], idempotency.ErrInProgress) {
			t.Errorf("in progress: %+v, then %+v, ran %q, told %v", inner, outer, took, l.failed)
		}

		// The table cannot be asked.
		f, l := newFixture(t, idempotency.Config{}), newLedger()
		f.db.Inject(localtest.Fault{Operation: "PutItem", Kind: localtest.AccessDenied, Times: -1})
		got := s.open(f, l.batch(), l.handle)(t, s.batch(t, "101", "102"))
		if took := l.took(); got != stopAt("101") || took != "" || !errors.Is(l.failed["101"], idempotency.ErrUnavailable) {
			t.Errorf("no table: %+v, ran %q, told %v", got, took, l.failed)
		}
	})
}

// A tumbling window's state would have to be answered. Its events are refused, also the last one, which has no records.
func TestStream_TumblingWindow(t *testing.T) {
	t.Parallel()
	ofEachStream(t, func(t *testing.T, s stream) {
		l, f := newLedger(), newFixture(t, idempotency.Config{})
		consume := s.open(f, l.batch(), l.handle)
		for _, event := range []string{
			string(testdata(t, s.windowFile)[s.windowFile]),
			`{"Records":[],"window":{"start":"2020-12-09T07:04:00Z","end":"2020-12-09T07:06:00Z"},"isFinalInvokeForWindow":true}`,
			`{"Records":[],"window":{"start":"2020-12-09T07:04:00Z"}}`,
			`{"Records":[],"state":{}}`,
		} {
			got := consume(t, event)
			if errorType(t, got) != "IdempotencyInvalid" || !strings.Contains(got.document, "TumblingWindowInSeconds") {
				t.Errorf("%s: %+v", event, got)
			}
		}
		if len(l.ran) != 0 || len(f.db.Calls("")) != 0 {
			t.Errorf("ran %v, with %d calls", l.ran, len(f.db.Calls("")))
		}
	})
}

// C44: an empty batch is done; what is no batch at all is refused.
func TestStream_NoRecords(t *testing.T) {
	t.Parallel()
	ofEachStream(t, func(t *testing.T, s stream) {
		l, f := newLedger(), newFixture(t, idempotency.Config{})
		consume := s.open(f, l.batch(), l.handle)
		if got := consume(t, `{"Records":[]}`); got != allDone {
			t.Errorf("no records: %+v", got)
		}
		for _, event := range []string{`{}`, `{"Records":null}`, `{"id":"17"}`} {
			if got := consume(t, event); errorType(t, got) != "IdempotencyInvalid" || !strings.Contains(got.document, "Records") {
				t.Errorf("%s: %+v", event, got)
			}
		}
		if len(l.ran) != 0 || len(f.db.Calls("")) != 0 {
			t.Errorf("ran %v, with %d calls", l.ran, len(f.db.Calls("")))
		}
	})
}

// A wrapper that was made wrongly says so to every event.
func TestStream_MadeWrongly(t *testing.T) {
	t.Parallel()
	r := newFixture(t, idempotency.Config{}).Runner
	const event = `{}`
	for name, got := range map[string]reply{
		"Kinesis without a Runner":         invoke(t, lambda.Kinesis(nil, lambda.Batch{}, nil, func(context.Context, events.KinesisEventRecord) error { return nil }), event),
		"Kinesis without a handler":        invoke(t, lambda.Kinesis(r, lambda.Batch{}, nil, nil), event),
		"DynamoDBStream without a Runner":  invoke(t, lambda.DynamoDBStream(nil, lambda.Batch{}, nil, func(context.Context, events.DynamoDBEventRecord) error { return nil }), event),
		"DynamoDBStream without a handler": invoke(t, lambda.DynamoDBStream(r, lambda.Batch{}, nil, nil), event),
		"Kafka without a Runner":           invoke(t, lambda.Kafka(nil, lambda.Batch{}, nil, func(context.Context, events.KafkaRecord) error { return nil }), event),
		"Kafka without a handler":          invoke(t, lambda.Kafka(r, lambda.Batch{}, nil, nil), event),
	} {
		if errorType(t, got) != "IdempotencyInvalid" || !strings.Contains(got.document, "nil") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
