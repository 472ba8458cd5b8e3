package lambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// BenchmarkHTTP is what the HTTP contract adds to Wrap: first runs with a KB of JSON in and half a KB out.
func BenchmarkHTTP(b *testing.B) {
	body, answer := `{"text":"`+strings.Repeat("x", 1000)+`"}`, `{"text":"`+strings.Repeat("y", 480)+`"}`
	sides(b, "http", func(s benchSide) func(n int) error {
		h := lambda.HTTPAPI(s.Runner, lambda.HTTPConfig{Operation: "pay", Request: func(_ context.Context, _ *lambda.HTTPRequest, r *idempotency.Request) error {
			r.Scope = "alice"
			return nil
		}}, func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
			return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusCreated, Headers: map[string]string{"Content-Type": "application/json"}, Body: answer}, nil
		})
		return func(n int) error {
			e := events.APIGatewayV2HTTPRequest{
				RouteKey: "POST /payments", RawPath: "/payments", Body: body,
				Headers: map[string]string{"content-type": "application/json", "idempotency-key": strconv.Itoa(n)},
			}
			e.RequestContext.HTTP.Method = http.MethodPost
			r, err := h(s.ctx, e)
			if err == nil && r.StatusCode != http.StatusCreated {
				err = errors.New(r.Body)
			}
			return err
		}
	}, "wrap", func(s benchSide) func(n int) error {
		var key string
		h := lambda.Wrap(s.Runner, func(_ context.Context, e json.RawMessage) (idempotency.Request, error) {
			return idempotency.Request{Operation: "pay", Scope: "alice", Key: key, Input: e}, nil
		}, func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(answer), nil
		})
		return func(n int) error {
			key = strconv.Itoa(n)
			_, err := h(s.ctx, json.RawMessage(body))
			return err
		}
	})
}

// BenchmarkSQS is what a batch adds to the requests that it is made of.
func BenchmarkSQS(b *testing.B) {
	for _, size := range []int{1, 10} {
		deliver := func(do func([]events.SQSMessage) error) func(int) error {
			messages := make([]events.SQSMessage, size)
			return func(n int) error {
				for i := range messages {
					messages[i] = sqsMessage(strconv.Itoa(n*size+i), `{"order":17}`)
				}
				return do(messages)
			}
		}
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			sides(b, "sqs", func(s benchSide) func(n int) error {
				h := lambda.SQS(s.Runner, lambda.Batch{Operation: "ship"}, nil, func(context.Context, events.SQSMessage) error { return nil })
				return deliver(func(messages []events.SQSMessage) error {
					out, err := h(s.ctx, events.SQSEvent{Records: messages})
					if len(out.BatchItemFailures) > 0 {
						return fmt.Errorf("failed %v", out.BatchItemFailures)
					}
					return err
				})
			}, "do", func(s benchSide) func(n int) error {
				return deliver(func(messages []events.SQSMessage) error {
					for _, m := range messages {
						req := idempotency.Request{Operation: "ship", Scope: m.EventSourceARN, Key: m.MessageId, Input: m.Body}
						_, err := idempotency.Do(s.ctx, s.Runner, req, func(context.Context) (struct{}, error) { return struct{}{}, nil })
						if err != nil {
							return err
						}
					}
					return nil
				})
			})
		})
	}
}

// BenchmarkSQS_Loop is what the loop itself costs: a batch of the largest size of which nothing can be read, so that the table
// is not asked.
func BenchmarkSQS_Loop(b *testing.B) {
	f := newFixture(b, idempotency.Config{})
	messages := make([]events.SQSMessage, largest)
	for i := range messages {
		messages[i] = sqsMessage(strconv.Itoa(i), "{")
	}
	for _, concurrency := range []int{1, 16} {
		b.Run(fmt.Sprintf("concurrency=%d", concurrency), func(b *testing.B) {
			cfg := lambda.Batch{Operation: "ship", Concurrency: concurrency, Undecodable: func(context.Context, string, error) bool { return true }}
			h := lambda.SQSBody(f.Runner, cfg, nil, func(context.Context, order) error { return nil })
			b.ReportAllocs()
			for b.Loop() {
				if _, err := h(b.Context(), events.SQSEvent{Records: messages}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/largest, "ns/message")
		})
	}
}

// benchSide is what one side of a comparison works with.
type benchSide struct {
	fixture
	ctx context.Context //nolint:containedctx // that of every request: what it costs is not what is measured
}

// sides measures first runs of two ways to do the same; the function that each returns makes the n-th request. server=none
// answers as DynamoDB does to a first run, without reading the request.
func sides(b *testing.B, one string, first func(benchSide) func(int) error, other string, second func(benchSide) func(int) error) {
	b.Helper()
	for _, server := range []string{"none", "embedded"} {
		for _, side := range []struct {
			by   string
			make func(benchSide) func(int) error
		}{{one, first}, {other, second}} {
			b.Run("server="+server+"/by="+side.by, func(b *testing.B) {
				s := benchSide{newFixture(b, idempotency.Config{}), localtest.Invocation(b, 15*time.Minute)}
				if server == "none" {
					r, err := idempotency.New(s.db.Client(func(o *dynamodb.Options) { o.HTTPClient = silence{} }), idempotency.Config{Table: s.table})
					if err != nil {
						b.Fatal(err)
					}
					s.Runner = r
				}
				do := side.make(s)
				n := 0
				b.ReportAllocs()
				for b.Loop() {
					n++
					if err := do(n); err != nil {
						b.Fatal(err)
					}
					s.db.ResetCalls()
				}
			})
		}
	}
}

// silence answers everything with nothing.
type silence struct{}

// Do implements [dynamodb.HTTPClient].
func (silence) Do(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Request: r, ContentLength: 2, Body: io.NopCloser(strings.NewReader("{}")),
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "X-Amz-Crc32": {"2745614147"}},
	}, nil
}
