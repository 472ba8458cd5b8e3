package lambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// counted is an event's handler that counts its runs.
type counted[In any] struct {
	fixture
	runs    int
	consume lambda.Handler[In, struct{}]
}

func newCounted[In any](tb testing.TB, request func(context.Context, In) (idempotency.Request, error)) *counted[In] {
	tb.Helper()
	c := &counted[In]{fixture: newFixture(tb, idempotency.Config{})}
	c.consume = lambda.Event(c.Runner, request, func(context.Context, In) error { c.runs++; return nil })
	return c
}

// want delivers an event and says what comes of it: a run, a replay, or an error of the protocol.
func (c *counted[In]) want(t *testing.T, what, event, want string) {
	t.Helper()
	before := c.runs
	got := invoke(t, c.consume, event)
	came := errorType(t, got)
	switch {
	case came == "" && c.runs == before:
		came = "replay"
	case came == "":
		came = "run"
	}
	if came != want || c.runs-before > 1 {
		t.Errorf("%s: %s (%+v), want %s", what, came, got, want)
	}
}

// eventBytes is one of the event files as it is.
func eventBytes(tb testing.TB, name string) string {
	tb.Helper()
	return string(testdata(tb, name)[name])
}

// changed is the event with each old part replaced by the new one behind it. All of them must be there.
func changed(tb testing.TB, event string, oldNew ...string) string {
	tb.Helper()
	for i := 0; i < len(oldNew); i += 2 {
		if !strings.Contains(event, oldNew[i]) {
			tb.Fatalf("the event has no %s", oldNew[i])
		}
		event = strings.ReplaceAll(event, oldNew[i], oldNew[i+1])
	}
	return event
}

// requestOf is the request that a request function names for an event file.
func requestOf[In any](tb testing.TB, request func(context.Context, In) (idempotency.Request, error), event string) idempotency.Request {
	tb.Helper()
	var in In
	if err := json.Unmarshal([]byte(event), &in); err != nil {
		tb.Fatal(err)
	}
	req, err := request(tb.Context(), in)
	if err != nil {
		tb.Fatal(err)
	}
	return req
}

func wantNamed(t *testing.T, req idempotency.Request, scope, key string) {
	t.Helper()
	if req.Operation != "mail" || req.Scope != scope || req.Key != key {
		t.Errorf("named %q, scope %q, key %q; want scope %q, key %q", req.Operation, req.Scope, req.Key, scope, key)
	}
	req.Operation, req.Scope, req.Key, req.Input = "", "", "", nil
	if !reflect.DeepEqual(req, idempotency.Request{}) {
		t.Errorf("more was set than its source knows: %+v", req)
	}
}

// wantOneRecord says that an event of no record, or of several, is refused before anything is asked.
func wantOneRecord[In any](t *testing.T, c *counted[In], event string) {
	t.Helper()
	var one struct{ Records []json.RawMessage }
	if err := json.Unmarshal([]byte(event), &one); err != nil {
		t.Fatal(err)
	}
	runs, calls := c.runs, len(c.db.Calls(""))
	for _, event := range []string{`{}`, `{"Records":[]}`, fmt.Sprintf(`{"Records":[%s,%s]}`, one.Records[0], one.Records[0])} {
		got := invoke(t, c.consume, event)
		if errorType(t, got) != "IdempotencyInvalid" || !strings.Contains(got.document, "the event's Records") {
			t.Errorf("%.20s: %+v", event, got)
		}
	}
	if c.runs != runs || len(c.db.Calls("")) != calls {
		t.Error("an event that was refused had an effect")
	}
}

// C24, C25: a notification is its topic's message, whatever its delivery looks like.
func TestSNSRequest(t *testing.T) {
	t.Parallel()
	event := eventBytes(t, "sns-event.json")
	wantNamed(t, requestOf(t, lambda.SNSRequest("mail"), event), "arn:aws:sns:EXAMPLE", "95df01b4-ee98-5cb9-9903-4c221d41eb5e")
	c := newCounted(t, lambda.SNSRequest("mail"))
	c.want(t, "first", event, "run")
	c.want(t, "again", event, "replay")
	c.want(t, "signed anew", changed(t, event, `"Signature": "EXAMPLE"`, `"Signature": "NEW"`, `"UnsubscribeUrl": "EXAMPLE"`, `"UnsubscribeUrl": "NEW"`, "17:43:27.123Z", "18:00:00Z"), "replay")
	c.want(t, "another text", changed(t, event, "Hello from SNS!", "Hello!"), "IdempotencyMismatch")
	c.want(t, "another subject", changed(t, event, "TestInvoke", "Invoke"), "IdempotencyMismatch")
	c.want(t, "another message", changed(t, event, "95df01b4", "95df01b5"), "run")
	c.want(t, "another topic", changed(t, event, `"TopicArn": "arn:aws:sns:EXAMPLE"`, `"TopicArn": "arn:aws:sns:OTHER"`), "run")
	wantOneRecord(t, c, event)
}

// C24, C25: an event is its source's, and its detail is compared as JSON.
func TestEventBridgeRequest(t *testing.T) {
	t.Parallel()
	event := eventBytes(t, "ecr-image-scan-event.json")
	wantNamed(t, requestOf(t, lambda.EventBridgeRequest("mail"), event), "123456789012 aws.ecr", "01234567-0123-0123-0123-012345678901")
	c := newCounted(t, lambda.EventBridgeRequest("mail"))
	c.want(t, "first", event, "run")
	c.want(t, "again", event, "replay")
	c.want(t, "in another form", changed(t, event, `"HIGH": 2,`, `"MEDIUM":9.0, `, `"MEDIUM": 9,`, `"HIGH" : 2,`), "replay")
	c.want(t, "at another time", changed(t, event, "21:32:27Z", "21:40:00Z"), "replay")
	c.want(t, "another detail", changed(t, event, `"HIGH": 2`, `"HIGH": 3`), "IdempotencyMismatch")
	c.want(t, "another type", changed(t, event, "ECR Image Scan", "ECR Image Action"), "IdempotencyMismatch")
	c.want(t, "another event", changed(t, event, "01234567-", "11234567-"), "run")
	c.want(t, "another source", changed(t, event, "aws.ecr", "com.example"), "run")
	c.want(t, "another account", changed(t, event, `"account": "123456789012"`, `"account": "223456789012"`), "run")
	c.want(t, "no id", changed(t, event, "01234567-0123-0123-0123-012345678901", ""), "IdempotencyInvalid") // C26
}

// A notification is known by all that names a change of an object: the same one twice is one, each other change runs.
func TestS3Request(t *testing.T) {
	t.Parallel()
	event := eventBytes(t, "s3-event.json")
	c := newCounted(t, lambda.S3Request("mail"))
	c.want(t, "first", event, "run")
	c.want(t, "again", event, "replay")
	c.want(t, "with another request id", changed(t, event, "C3D13FE58DE4C810", "D3D13FE58DE4C810", "1970-01-01T00:00:00.123Z", "1970-01-01T00:10:00Z"), "replay")
	for what, change := range map[string][]string{
		"the object was written again": {"Happy Sequencer", "0055AED6DCD90281E6"},
		"another object":               {"Happy%20Face.jpg", "Sad%20Face.jpg"},
		"another version":              {`"versionId": "version"`, `"versionId": "version2"`},
		"other bytes":                  {"d41d8cd98f00b204e9800998ecf8427e", "d41d8cd98f00b204e9800998ecf8427f"},
		"it was removed":               {"ObjectCreated:Put", "ObjectRemoved:Delete"},
		"another bucket":               {`"name": "sourcebucket"`, `"name": "sourcebucket2"`},
		"parts that run together":      {"Happy%20Face.jpg", "Happy%20Face.jpgv", `"versionId": "version"`, `"versionId": "ersion"`},
		"no version":                   {`"versionId": "version",`, ""},
	} {
		other := changed(t, event, change...)
		c.want(t, what, other, "run")
		c.want(t, what+", again", other, "replay")
	}
	wantOneRecord(t, c, event)
}

// S3 allows object keys of 1024 bytes, three times as long when they are escaped. Two that differ at the end only are two.
func TestS3Request_LongKeys(t *testing.T) {
	t.Parallel()
	event := eventBytes(t, "s3-event.json")
	c := newCounted(t, lambda.S3Request("mail"))
	for _, key := range []string{strings.Repeat("k", 1024), strings.Repeat("k", 1023) + "l", strings.Repeat("%2B", 1024), strings.Repeat("%2B", 1023) + "%2C"} {
		long := changed(t, event, "Happy%20Face.jpg", key)
		if req := requestOf(t, lambda.S3Request("mail"), long); req.Scope != "sourcebucket" || len(req.Key) > idempotency.MaxKey {
			t.Errorf("scope %q, a key of %d bytes", req.Scope, len(req.Key))
		}
		c.want(t, "first", long, "run")
		c.want(t, "again", long, "replay")
	}
}

// The form is part of the records' identity: a change makes everything run again that has run.
func TestRequests_Golden(t *testing.T) {
	t.Parallel()
	wantNamed(t, requestOf(t, lambda.S3Request("mail"), eventBytes(t, "s3-event.json")), "sourcebucket", "s3-c34b613ee878a8ec58b40b87fdbe556382d00ace2b90b3e702bd2afa06863a1a")
	f := newFixture(t, idempotency.Config{})
	consume := lambda.Kafka(f.Runner, lambda.Batch{Operation: "project"}, nil, func(context.Context, events.KafkaRecord) error { return nil })
	if got := invoke(t, consume, eventBytes(t, "kafka-event.json")); got != allDone {
		t.Errorf("got %+v", got)
	}
	wantRecord(t, f, idempotency.Request{
		Scope: "arn:aws:kafka:us-west-2:012345678901:cluster/ExampleMSKCluster/e9f754c6-d29a-4430-a7db-958a19fd2c54-4",
		Key:   "kafka-f9c57f29a8f380bde1edfa922fd2b0d245e84f180d0cc29ddbd17a846a3cad10",
	})
}

// invocation is a try of an asynchronous invocation.
func invocation(tb testing.TB, id, arn string) context.Context {
	tb.Helper()
	return lambdacontext.NewContext(localtest.Invocation(tb, time.Minute), &lambdacontext.LambdaContext{AwsRequestID: id, InvokedFunctionArn: arn})
}

// Lambda's retries of an asynchronous invocation have its request id; a second invocation has its own.
func TestAsyncRequest(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func(*idempotency.Runner, func(context.Context, order) error) func(context.Context, order) error{
		"Event": func(r *idempotency.Runner, h func(context.Context, order) error) func(context.Context, order) error {
			consume := lambda.Event(r, lambda.AsyncRequest[order]("mail"), h)
			return func(ctx context.Context, o order) error { _, err := consume(ctx, o); return err }
		},
		"Wrap": func(r *idempotency.Runner, h func(context.Context, order) error) func(context.Context, order) error {
			consume := lambda.Wrap(r, lambda.AsyncRequest[order]("mail"), func(ctx context.Context, o order) (int, error) { return 7, h(ctx, o) })
			return func(ctx context.Context, o order) error { _, err := consume(ctx, o); return err }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runs, fails := 0, error(nil)
			consume := wrap(newFixture(t, idempotency.Config{}).Runner, func(context.Context, order) error { runs++; return fails })
			for _, tt := range []struct {
				id, arn string
				order   order
				fails   error
				runs    int
				want    error
			}{
				{"1", "arn:f", order{ID: "17"}, errDown, 1, errDown}, // the first try
				{"1", "arn:f", order{ID: "17"}, nil, 2, nil},         // the second one
				{"1", "arn:f", order{ID: "17"}, nil, 2, nil},         // delivered once more
				{"2", "arn:f", order{ID: "17"}, nil, 3, nil},         // a second invocation
				{"1", "arn:g", order{ID: "17"}, nil, 4, nil},         // another function
				{"1", "arn:f", order{ID: "18"}, nil, 4, idempotency.ErrMismatch},
			} {
				fails = tt.fails
				if err := consume(invocation(t, tt.id, tt.arn), tt.order); !errors.Is(err, tt.want) || runs != tt.runs {
					t.Errorf("%+v: %v, %d runs", tt, err, runs)
				}
			}
		})
	}
}

// C26: without Lambda's context, or an id in it, there is no key that all invocations would share.
func TestAsyncRequest_NoInvocation(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	h := lambda.Event(f.Runner, lambda.AsyncRequest[order]("mail"), func(context.Context, order) error {
		t.Error("the handler ran")
		return nil
	})
	for name, ctx := range map[string]context.Context{
		"no Lambda context":  t.Context(),
		"nil Lambda context": lambdacontext.NewContext(t.Context(), nil),
		"no request id":      invocation(t, "", "arn:f"),
	} {
		_, err := h(ctx, order{})
		if field, ok := errors.AsType[*idempotency.FieldError](err); !ok || field.Field != "the context" && field.Field != "Request.Key" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if calls := f.db.Calls(""); len(calls) != 0 {
		t.Errorf("%d calls", len(calls))
	}
}

// An event of another source has messages of another form: it would run as something else, or be lost.
func TestBatch_AnotherSourcesEvent(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	b := lambda.Batch{Operation: "test"}
	errRan := errors.New("it ran") // and is not what the answer is to say
	sqs := func(payload string) reply {
		return invoke(t, lambda.SQS(f.Runner, b, nil, func(context.Context, events.SQSMessage) error { return errRan }), payload)
	}
	kinesis := func(payload string) reply {
		return invoke(t, lambda.Kinesis(f.Runner, b, nil, func(context.Context, events.KinesisEventRecord) error { return errRan }), payload)
	}
	stream := func(payload string) reply {
		return invoke(t, lambda.DynamoDBStream(f.Runner, b, nil, func(context.Context, events.DynamoDBEventRecord) error { return errRan }), payload)
	}
	for _, tt := range []struct{ name, got, want string }{
		{"DynamoDB to SQS", sqs(eventBytes(t, "dynamodb-event.json")).document, "eventSource is aws:dynamodb: must be aws:sqs"},
		{"S3 to SQS", sqs(eventBytes(t, "s3-event.json")).document, "eventSource is aws:s3: must be aws:sqs"},
		{"DynamoDB to Kinesis", kinesis(eventBytes(t, "dynamodb-event.json")).document, "eventSource is aws:dynamodb: must be aws:kinesis"},
		{"Kinesis to DynamoDB", stream(eventBytes(t, "kinesis-event.json")).document, "eventSource is aws:kinesis: must be aws:dynamodb"},
	} {
		if !strings.Contains(tt.got, tt.want) {
			t.Errorf("%s: %s, want %s", tt.name, tt.got, tt.want)
		}
	}
}

// Puts and deletes have a sequencer; of other changes the time and the request that caused them tell two apart.
func TestS3Request_WithoutSequencer(t *testing.T) {
	t.Parallel()
	tagged := func(at time.Time, requestID string) string {
		req, err := lambda.S3Request("op")(t.Context(), events.S3Event{Records: []events.S3EventRecord{{
			EventName: "ObjectTagging:Put", EventTime: at, ResponseElements: map[string]string{"x-amz-request-id": requestID},
			S3: events.S3Entity{Bucket: events.S3Bucket{Name: "b"}, Object: events.S3Object{Key: "k", ETag: "e"}},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		return req.Key
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	first := tagged(at, "r1")
	if tagged(at.In(time.FixedZone("x", 3600)), "r1") != first {
		t.Error("delivered again, it is another request")
	}
	_, err := lambda.S3Request("op")(t.Context(), events.S3Event{Records: []events.S3EventRecord{{EventName: "ObjectCreated:Put"}}})
	if field, ok := errors.AsType[*idempotency.FieldError](err); !ok || field.Field != "the record's object key" {
		t.Errorf("without an object's key: %v", err)
	}
	if tagged(at.Add(time.Hour), "r1") == first || tagged(at, "r2") == first {
		t.Error("another change is the same request")
	}
}
