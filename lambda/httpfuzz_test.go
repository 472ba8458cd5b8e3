package lambda_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// testdata are aws-lambda-go's event files, as AWS's documentation shows them.
func testdata(tb testing.TB, pattern string) map[string][]byte {
	tb.Helper()
	dir, err := exec.CommandContext(tb.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/aws/aws-lambda-go").Output()
	if err != nil {
		tb.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(dir)), "events", "testdata", pattern))
	if err != nil || len(files) == 0 {
		tb.Fatalf("no event files %s: %v", pattern, err)
	}
	found := map[string][]byte{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		found[filepath.Base(file)] = b
	}
	return found
}

// eventTo decodes an event and sends it through its door.
type eventTo func(ctx context.Context, event []byte) (status int, err error)

func eventDoors(r *idempotency.Runner, c lambda.HTTPConfig) map[string]eventTo {
	return map[string]eventTo{
		"HTTPAPI": decoding(lambda.HTTPAPI(r, c, func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
			return events.APIGatewayV2HTTPResponse{StatusCode: 201}, nil
		}), func(r events.APIGatewayV2HTTPResponse) int { return r.StatusCode }),
		"RESTAPI": decoding(lambda.RESTAPI(r, c, func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
			return events.APIGatewayProxyResponse{StatusCode: 201}, nil
		}), func(r events.APIGatewayProxyResponse) int { return r.StatusCode }),
		"FunctionURL": decoding(lambda.FunctionURL(r, c, func(context.Context, events.LambdaFunctionURLRequest) (events.LambdaFunctionURLResponse, error) {
			return events.LambdaFunctionURLResponse{StatusCode: 201}, nil
		}), func(r events.LambdaFunctionURLResponse) int { return r.StatusCode }),
		"ALB": decoding(lambda.ALB(r, c, func(context.Context, events.ALBTargetGroupRequest) (events.ALBTargetGroupResponse, error) {
			return events.ALBTargetGroupResponse{StatusCode: 201}, nil
		}), func(r events.ALBTargetGroupResponse) int { return r.StatusCode }),
	}
}

func decoding[In, Out any](h lambda.Handler[In, Out], status func(Out) int) eventTo {
	return func(ctx context.Context, event []byte) (int, error) {
		var in In
		if err := json.Unmarshal(event, &in); err != nil {
			return 0, nil //nolint:nilerr // Lambda would not hand it over
		}
		out, err := h(ctx, in)
		return status(out), err
	}
}

// AWS's own example events, with a key in them: who is calling, and by which door.
func TestHTTP_RealEvents(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	for file, c := range map[string]struct {
		door, caller string // "": nobody
	}{
		"apigw-request.json":                                {"RESTAPI", "authorizer:admin"},
		"apigw-v2-request-jwt-authorizer.json":              {"HTTPAPI", ""},
		"apigw-v2-request-iam.json":                         {"HTTPAPI", "cognito:"},
		"apigw-v2-request-lambda-authorizer.json":           {"HTTPAPI", ""},
		"apigw-v2-request-no-authorizer.json":               {"HTTPAPI", ""},
		"lambda-urls-request.json":                          {"FunctionURL", "iam:"},
		"alb-lambda-target-request-headers-only.json":       {"ALB", ""},
		"alb-lambda-target-request-multivalue-headers.json": {"ALB", ""},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			var event map[string]any
			if err := json.Unmarshal(testdata(t, file)[file], &event); err != nil {
				t.Fatal(err)
			}
			setKey(event, t.Name())
			body, err := json.Marshal(event)
			if err != nil {
				t.Fatal(err)
			}
			var seen *lambda.HTTPRequest
			h := eventDoors(f.Runner, lambda.HTTPConfig{Operation: "pay", Methods: []string{"GET", "POST"}, Request: func(_ context.Context, q *lambda.HTTPRequest, req *idempotency.Request) error {
				seen = q
				req.Scope = idempotency.GlobalScope
				return nil
			}})[c.door]
			if status, err := h(t.Context(), body); err != nil || status != 201 {
				t.Fatalf("status %d, %v", status, err)
			}
			if seen.Method == "" || seen.Path == "" || !strings.HasPrefix(seen.Caller.ID, c.caller) || (c.caller == "") != (seen.Caller.ID == "") {
				t.Errorf("request %+v; want the caller %q", seen, c.caller)
			}
		})
	}
}

// setKey puts the key into the event's headers, in whichever forms it has.
func setKey(event map[string]any, key string) {
	key = strings.Map(func(c rune) rune {
		if c == '/' || c == ',' {
			return '-'
		}
		return c
	}, key)
	if h, ok := event["headers"].(map[string]any); ok {
		h["idempotency-key"] = key
	}
	if h, ok := event["multiValueHeaders"].(map[string]any); ok {
		h["idempotency-key"] = []any{key}
	}
}

// No event makes a door panic, or run without a key.
func FuzzHTTPEvent(f *testing.F) {
	for _, pattern := range []string{"apigw-*request*.json", "lambda-urls-request.json", "alb-*.json"} {
		for _, event := range testdata(f, pattern) {
			f.Add(event)
		}
	}
	f.Add([]byte(`{"headers":{"Idempotency-Key":"k"},"body":"!","isBase64Encoded":true,"httpMethod":"POST","rawQueryString":"%zz","requestContext":{"http":{"method":"POST"}}}`))
	fix := newFixture(f, idempotency.Config{})
	doors := eventDoors(fix.Runner, lambda.HTTPConfig{Operation: "pay", Logger: slog.New(slog.DiscardHandler)})
	f.Fuzz(func(t *testing.T, event []byte) {
		for name, door := range doors {
			if _, err := door(localtest.Invocation(t, time.Minute), event); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
