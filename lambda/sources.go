package lambda

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/oncekey/oncekey/idempotency"
)

// SNSRequest names the request of an SNS notification, for [Event]: the key is the message's id, the scope the topic's ARN, and
// the input its subject and message. A publisher that sends again makes a new message; where it puts an identity of its own
// into the message, a request function of your own is better.
func SNSRequest(operation string) func(context.Context, events.SNSEvent) (idempotency.Request, error) {
	return func(_ context.Context, e events.SNSEvent) (idempotency.Request, error) {
		if len(e.Records) != 1 {
			return idempotency.Request{}, recordCount("an SNS notification", len(e.Records))
		}
		m := e.Records[0].SNS
		return idempotency.Request{
			Operation: operation, Scope: m.TopicArn, Key: m.MessageID,
			Input: struct{ Subject, Message string }{m.Subject, m.Message},
		}, nil
	}
}

// EventBridgeRequest names the request of an EventBridge event, for [Event]: the key is the event's id, the scope its account
// and source, and the input its type and detail. Two rules that send one event to one function are one request: give each rule
// a function, or an operation, of its own.
func EventBridgeRequest(operation string) func(context.Context, events.EventBridgeEvent) (idempotency.Request, error) {
	return func(_ context.Context, e events.EventBridgeEvent) (idempotency.Request, error) {
		return idempotency.Request{
			Operation: operation, Scope: e.AccountID + " " + e.Source, Key: e.ID,
			Input: struct {
				DetailType string
				Detail     json.RawMessage
			}{e.DetailType, e.Detail},
		}, nil
	}
}

// S3Request names the request of an S3 event notification, for [Event]: the key is made of the object's key, its version, its
// ETag, the event's name, and what tells two changes of one object apart: the sequencer, which puts and deletes have, or else
// the event's time and the id of the request that caused it. The scope is the bucket. There is no input beside that.
func S3Request(operation string) func(context.Context, events.S3Event) (idempotency.Request, error) {
	return func(_ context.Context, e events.S3Event) (idempotency.Request, error) {
		if len(e.Records) != 1 {
			return idempotency.Request{}, recordCount("an S3 notification", len(e.Records))
		}
		m := e.Records[0]
		o := m.S3.Object
		if o.Key == "" {
			return idempotency.Request{}, named(&idempotency.FieldError{Field: "the record's object key", Value: "empty", Rule: "is the event an S3 notification?"})
		}
		change := []string{o.Sequencer}
		if o.Sequencer == "" {
			change = []string{m.EventTime.UTC().Format(time.RFC3339Nano), m.ResponseElements["x-amz-request-id"]}
		}
		return idempotency.Request{
			Operation: operation, Scope: m.S3.Bucket.Name, Input: idempotency.AnyInput,
			Key: short("s3", append([]string{o.Key, o.VersionID, o.ETag, m.EventName}, change...)...),
		}, nil
	}
}

// AsyncRequest names the request of an asynchronous invocation, for [Event] or [Wrap]: the key is the invocation's request id,
// which Lambda keeps over its retries, and the scope the function's ARN. Who invokes it a second time makes a new request;
// it is for callers that have no identity to give.
func AsyncRequest[In any](operation string) func(context.Context, In) (idempotency.Request, error) {
	return func(ctx context.Context, _ In) (idempotency.Request, error) {
		lc, ok := lambdacontext.FromContext(ctx)
		if !ok || lc == nil {
			return idempotency.Request{}, named(&idempotency.FieldError{Field: "the context", Value: "not Lambda's", Rule: "must have the invocation's request id; see lambdacontext.NewContext"})
		}
		return idempotency.Request{Operation: operation, Scope: lc.InvokedFunctionArn, Key: lc.AwsRequestID}, nil
	}
}

func recordCount(source string, n int) error {
	return named(&idempotency.FieldError{Field: "the event's Records", Value: fmt.Sprint(n), Rule: source + " has one; name the request of several yourself"})
}

// short makes a key of several parts, whose lengths keep them apart: the parts themselves may be longer than a key may be.
func short(kind string, parts ...string) string {
	var joined strings.Builder
	for _, part := range parts {
		fmt.Fprintf(&joined, "%d:%s", len(part), part)
	}
	sum := sha256.Sum256([]byte(joined.String()))
	return kind + "-" + hex.EncodeToString(sum[:])
}
