package lambda_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
)

// What the wrappers fill in by themselves is part of a record's identity, id and fingerprint: a release that changes one of
// these would run what is delivered again a second time, or refuse it.
func TestDefaults_Golden(t *testing.T) {
	t.Parallel()
	b := lambda.Batch{Operation: "op"}
	type body struct{ A int }
	aMessage := events.SQSEvent{Records: []events.SQSMessage{{MessageId: "m", Body: `{"A":1}`, EventSourceARN: "arn"}}}
	aTagging := events.S3Event{Records: []events.S3EventRecord{{
		EventName: "ObjectTagging:Put", EventTime: time.Unix(1, 5e6), ResponseElements: map[string]string{"x-amz-request-id": "r"},
		S3: events.S3Entity{Bucket: events.S3Bucket{Name: "b"}, Object: events.S3Object{Key: "k"}},
	}}}
	anEvent := events.EventBridgeEvent{ID: "e", AccountID: "1", Source: "shop", DetailType: "paid", Detail: json.RawMessage(`{"A":1}`)}
	for name, tt := range map[string]struct {
		deliver func(*testing.T, *idempotency.Runner)
		want    []string // id and fingerprint of each record
	}{
		"SQS": {file("sqs-event.json", func(r *idempotency.Runner) lambda.Handler[events.SQSEvent, events.SQSEventResponse] {
			return lambda.SQS(r, b, nil, func(context.Context, events.SQSMessage) error { return nil })
		}), []string{
			"op#c512c125b6557eacf80602b7570bb75ff23b0498288dfd8122680a5f3f29ee8a v1:83e3bbd50f1e3b025be0e46d156a5668390bf15358a6db3da638c36f5760f582",
		}},
		"SQSBody": {event(aMessage, func(r *idempotency.Runner) lambda.Handler[events.SQSEvent, events.SQSEventResponse] {
			return lambda.SQSBody(r, b, nil, func(context.Context, body) error { return nil })
		}), []string{
			"op#d4fcf7c5985052f12d92067fcff36f812080bf2a64fe35cd1dc3bc586f277092 v1:77cb2c974adb83c8dbaf81f8aa3e8007a7d94814638897a9a55ccae9ff569bea",
		}},
		"SQSBody with a key": {event(aMessage, func(r *idempotency.Runner) lambda.Handler[events.SQSEvent, events.SQSEventResponse] {
			return lambda.SQSBody(r, b, func(context.Context, events.SQSMessage, body) (idempotency.Request, error) {
				return idempotency.Request{Key: "k"}, nil
			}, func(context.Context, body) error { return nil })
		}), []string{
			"op#c84d06d83e492ec10d92f1bc949dc4dd0d20982497fc05752e3830ded54c1e52 v1:52dddc1755a9b3acadf12eab7f2ac1eb564a55de3a33822fa369f59923dddefc",
		}},
		"Kinesis": {file("kinesis-event.json", func(r *idempotency.Runner) lambda.Handler[events.KinesisTimeWindowEvent, events.KinesisEventResponse] {
			return lambda.Kinesis(r, b, nil, func(context.Context, events.KinesisEventRecord) error { return nil })
		}), []string{
			"op#0c2303b355c89fb58596e58ccd2ba1e32ebcfe7f067c9bbb1f1aa6e8627b7387 v1:46607cadab414769cca0b4339cc52fa40d824d84a008617dc6adb45d85c54b9d",
			"op#d3a6ac00698022b1b9b13d070ce1b31b899c9f4d461ec3c52d9cf551c52975b3 v1:46607cadab414769cca0b4339cc52fa40d824d84a008617dc6adb45d85c54b9d",
		}},
		"DynamoDB": {file("dynamodb-event.json", func(r *idempotency.Runner) lambda.Handler[events.DynamoDBTimeWindowEvent, events.DynamoDBEventResponse] {
			return lambda.DynamoDBStream(r, b, nil, func(context.Context, events.DynamoDBEventRecord) error { return nil })
		}), []string{
			"op#d94f22248d65caa24a0916f780d5d34db2983bbf98906bbe6e6f48d187696ec4 v1:87833de61e77489732d5dff778e949bec88c565b3d341774bd3a768bd0c82e18",
			"op#df664c8271a1dbdf470b4693503aff76dec255e4656f882fc8ca94572c16b232 v1:25a22d96844f4aed190325012bd1c874010ba957e7de732defbb0c5b86f5037d",
		}},
		"Kafka": {file("kafka-event.json", func(r *idempotency.Runner) lambda.Handler[events.KafkaEvent, lambda.KafkaEventResponse] {
			return lambda.Kafka(r, b, nil, func(context.Context, events.KafkaRecord) error { return nil })
		}), []string{
			"op#c5687919c310b62b0425417dcd3c1c24a7a9ed18847ebfa8dfc565dfcbd2b5e2 v1:194088352b96cfe8f796185ecf1d05e64dc1513619b09dce893efc520e09d161",
		}},
		"SNS": {file("sns-event.json", func(r *idempotency.Runner) lambda.Handler[events.SNSEvent, struct{}] {
			return lambda.Event(r, lambda.SNSRequest("op"), func(context.Context, events.SNSEvent) error { return nil })
		}), []string{
			"op#d427ecf1c4797c9e9e3001c31bb62e0a6c5a1fbdfed7b1c63537922a31260eef v1:d3b6f8a8326f7ba686d1b128b75296dd71b77e8b34fea4882b32ba19eb1f38b6",
		}},
		"S3": {file("s3-event.json", func(r *idempotency.Runner) lambda.Handler[events.S3Event, struct{}] {
			return lambda.Event(r, lambda.S3Request("op"), func(context.Context, events.S3Event) error { return nil })
		}), []string{
			"op#3b6e85531ab6f8e7c0cae237cba9e394f2ccb4a750149472cca11f57a9c863b0 none",
		}},
		"S3 without sequencer": {event(aTagging, func(r *idempotency.Runner) lambda.Handler[events.S3Event, struct{}] {
			return lambda.Event(r, lambda.S3Request("op"), func(context.Context, events.S3Event) error { return nil })
		}), []string{
			"op#3c69efc197a25aae16edb2eb2fdf73665b821e71ea79ce964744a7bb2ceca0a6 none",
		}},
		"EventBridge": {event(anEvent, func(r *idempotency.Runner) lambda.Handler[events.EventBridgeEvent, struct{}] {
			return lambda.Event(r, lambda.EventBridgeRequest("op"), func(context.Context, events.EventBridgeEvent) error { return nil })
		}), []string{
			"op#395dd187b006042ee0039ccb11261a085e8c2c11eaa0aff013bb8ad4c80f9115 v1:f28c1484b1d8ef058a9435c22c2492e47baa564c171e783882452f267f160218",
		}},
		"Async": {event(body{1}, func(r *idempotency.Runner) lambda.Handler[body, struct{}] {
			return lambda.Event(r, lambda.AsyncRequest[body]("op"), func(context.Context, body) error { return nil })
		}), []string{
			"op#6be95c1fddb768f9258632409c470bad43f474f178e83adb05faa23a6b443dc3 v1:52dddc1755a9b3acadf12eab7f2ac1eb564a55de3a33822fa369f59923dddefc",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, idempotency.Config{})
			tt.deliver(t, f.Runner)
			if got := f.identities(t); !slices.Equal(got, tt.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

// event delivers an event to a handler, which must succeed.
func event[E, R any](e E, h func(*idempotency.Runner) lambda.Handler[E, R]) func(*testing.T, *idempotency.Runner) {
	return func(t *testing.T, r *idempotency.Runner) {
		t.Helper()
		ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "r", InvokedFunctionArn: "arn"})
		if out, err := h(r)(ctx, e); err != nil || strings.Contains(fmt.Sprint(out), "m") {
			t.Fatalf("%+v, %v", out, err)
		}
	}
}

// file delivers one of aws-lambda-go's event files.
func file[E, R any](name string, h func(*idempotency.Runner) lambda.Handler[E, R]) func(*testing.T, *idempotency.Runner) {
	return func(t *testing.T, r *idempotency.Runner) {
		t.Helper()
		if got := invoke(t, h(r), eventBytes(t, name)); got.document != "" || strings.Contains(got.payload, "itemIdentifier") {
			t.Fatalf("%+v", got)
		}
	}
}

// identities are the ids and fingerprints of all records.
func (f fixture) identities(tb testing.TB) (all []string) {
	tb.Helper()
	out, err := f.db.Client().Scan(tb.Context(), &dynamodb.ScanInput{TableName: &f.table})
	if err != nil {
		tb.Fatal(err)
	}
	text := func(it map[string]types.AttributeValue, name string) string {
		v, ok := it[name].(*types.AttributeValueMemberS)
		if !ok {
			return "none"
		}
		return v.Value
	}
	for _, it := range out.Items {
		all = append(all, text(it, "id")+" "+text(it, "validation"))
	}
	slices.Sort(all)
	return all
}
