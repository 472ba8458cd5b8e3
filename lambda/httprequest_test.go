package lambda_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// api is a handler behind an HTTP API that counts its runs and answers 201; log is what the wrapper has said.
func api(f fixture, c lambda.HTTPConfig) (g gate, runs *int, log *strings.Builder) {
	runs, log = new(int), &strings.Builder{}
	c.Logger = slog.New(slog.NewTextHandler(log, nil))
	return doors["HTTPAPI"](nil, f.Runner, c, func(context.Context, *lambda.HTTPRequest) (reaction, error) {
		*runs++
		return created(*runs), nil
	}), runs, log
}

// Under Rerun an answer that leaves open what happened goes to its client as it came, as does an error: asking again is
// right then, and "outcome_unknown" would say that it is not.
func TestHTTP_AmbiguousUnderRerun(t *testing.T) {
	t.Parallel()
	errGateway := errors.New("no answer")
	for name, open := range doors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, idempotency.Config{OnUnknown: idempotency.Rerun})
				runs := 0
				answers := []reaction{{status: 504, body: "too late"}, {}, created(3)}
				failures := []error{nil, idempotency.Unknown(errGateway), nil}
				if name == "Middleware" { // whose handlers return no error
					answers[1], failures[1] = reaction{status: 502}, nil
				}
				g := open(t, f.Runner, lambda.HTTPConfig{}, func(ctx context.Context, _ *lambda.HTTPRequest) (reaction, error) {
					runs++
					if (idempotency.AttemptFrom(ctx).Prior != nil) != (runs > 1) {
						t.Errorf("run %d: prior %v", runs, idempotency.AttemptFrom(ctx).Prior)
					}
					return answers[runs-1], failures[runs-1]
				})
				if r := must(t, g, pay("k")); r.status != 504 || r.body != "too late" {
					t.Errorf("the first one got %+v", r)
				}
				if r, err := g(localtest.Invocation(t, time.Second), pay("k")); err != failures[1] && err != errGateway || err == nil && r.status != 502 { //nolint:errorlint // untouched
					t.Errorf("the second one got %+v, %v", r, err)
				}
				for range 2 {
					if r := must(t, g, pay("k")); r.status != 201 || r.body != created(3).body || runs != 3 {
						t.Errorf("%+v after %d runs", r, runs)
					}
				}
			})
		})
	}
}

// A method is protected in whatever case it comes: a handler may compare it without.
func TestHTTP_MethodInAnyCase(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	g, runs, _ := api(f, lambda.HTTPConfig{Operation: "pay"})
	wantProblem(t, must(t, g, pay("k").with(func(c *call) { c.method = "post"; c.header.Del("Idempotency-Key") })), 400, "idempotency_key_missing", false)
	if *runs != 0 {
		t.Errorf("%d runs", *runs)
	}
}

// The guard against late arrivals: what says when a key was made, and what that means.
func TestHTTP_OldestKey(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	madeBefore := func(age time.Duration) func(*lambda.HTTPRequest, string) (time.Time, bool) {
		return func(*lambda.HTTPRequest, string) (time.Time, bool) { return time.Now().Add(-age), true }
	}
	for name, c := range map[string]struct {
		key    string
		madeAt func(*lambda.HTTPRequest, string) (time.Time, bool)
		status int
		code   string
	}{
		"UUIDv7 of 2022 in the future":  {"017f22e2-79b0-7cc3-98c4-dc0c0c07398f", nil, 400, "idempotency_key_invalid"}, // the bubble's year is 2000
		"UUIDv7 of 1998":                {"00cdbb6d-5400-7cc3-98c4-dc0c0c07398f", nil, 412, "idempotency_key_expired"},
		"says nothing":                  {"order-17", nil, 201, ""},
		"the request knows: old":        {"order-17", madeBefore(day + 1), 412, "idempotency_key_expired"},
		"the request knows: just right": {"order-17", madeBefore(day), 201, ""},
		"the request knows better":      {"00cdbb6d-5400-7cc3-98c4-dc0c0c07398f", madeBefore(0), 201, ""},
		"a clock a little ahead":        {"order-17", madeBefore(-5 * time.Minute), 201, ""},
		"a clock far ahead":             {"order-17", madeBefore(-5*time.Minute - 1), 400, "idempotency_key_invalid"},
		"the request does not know":     {"00cdbb6d-5400-7cc3-98c4-dc0c0c07398f", func(*lambda.HTTPRequest, string) (time.Time, bool) { return time.Time{}, false }, 201, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, idempotency.Config{})
				g, _, _ := api(f, lambda.HTTPConfig{OldestKey: day, MadeAt: c.madeAt})
				r := must(t, g, pay(c.key))
				if c.code != "" {
					wantProblem(t, r, c.status, c.code, false)
				} else if r.status != c.status {
					t.Errorf("got %+v", r)
				}
			})
		})
	}
}

// A Wait of HTTPConfig.Request's is bound like the setting: the gateway would have given up.
func TestHTTP_WaitOfRequestIsBound(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	g, runs, log := api(f, lambda.HTTPConfig{Request: func(_ context.Context, _ *lambda.HTTPRequest, req *idempotency.Request) error {
		req.Wait = 21 * time.Second
		return nil
	}})
	wantProblem(t, must(t, g, pay("k")), 500, "idempotency_misconfigured", false)
	if *runs != 0 || !strings.Contains(log.String(), "Wait to 21s: must be at most 20s") {
		t.Errorf("%d runs; log %s", *runs, log)
	}
}

// Requests that look alike when they are decoded, and are not.
func TestHTTP_MismatchOfLookalikes(t *testing.T) {
	t.Parallel()
	base := pay("k").with(func(c *call) { c.query = "a=%zz"; c.header.Set("Content-Type", "application/json; charset=utf-8") })
	for name, c := range map[string]struct {
		change func(*call)
		same   bool
	}{
		"a query that cannot be decoded, and one that can": {func(c *call) { c.query = "=a%3D%25zz" }, false},
		"two that cannot":          {func(c *call) { c.query = "a=%zy" }, false},
		"another kind of JSON":     {func(c *call) { c.header.Set("Content-Type", "application/merge-patch+json") }, false},
		"another charset":          {func(c *call) { c.header.Set("Content-Type", "Application/JSON") }, true},
		"no content type":          {func(c *call) { c.header.Del("Content-Type") }, false},
		"the same, twice as text ": {func(*call) {}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, _, _ := api(newFixture(t, idempotency.Config{}), lambda.HTTPConfig{Operation: "pay"})
			must(t, g, base)
			if r := must(t, g, base.with(c.change)); (r.status == 201) != c.same {
				t.Errorf("got %+v", r)
			}
		})
	}
}

// A fingerprint that a release changes refuses every retry over the deploy: these are fixed.
func TestHTTP_FingerprintIsFixed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*events.APIGatewayV2HTTPRequest)
		want   string
	}{
		"JSON":     {func(*events.APIGatewayV2HTTPRequest) {}, "v1:9c64762502f3e75a214e93e9a398d44409ab37268f175da41767c8fc0b2b926a"},
		"bytes":    {func(e *events.APIGatewayV2HTTPRequest) { e.Headers["content-type"] = "text/plain" }, "v1:86170acc903f91602c5c7f5e27b33388904d59313b2a8ed5a905f9a4d855256c"},
		"no query": {func(e *events.APIGatewayV2HTTPRequest) { e.RawQueryString, e.PathParameters = "", nil }, "v1:2bf2b0178dd42400139ff5df5e8b0a2e239508fe21534002d2107795d2e6b61b"},
	} {
		f := newFixture(t, idempotency.Config{})
		h := lambda.HTTPAPI(f.Runner, lambda.HTTPConfig{}, func(context.Context, events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
			return events.APIGatewayV2HTTPResponse{StatusCode: 201}, nil
		})
		e := events.APIGatewayV2HTTPRequest{
			RouteKey: "POST /accounts/{id}/payments", RawPath: "/accounts/a%20b/payments", RawQueryString: "currency=EUR&tag=a&tag=b",
			PathParameters: map[string]string{"id": "a b"}, Body: `{"amount":4990,"to":"x"}`,
			Headers: map[string]string{"idempotency-key": "k", "content-type": "application/json"},
		}
		e.RequestContext.HTTP.Method = "POST"
		e.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
			JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: map[string]string{"iss": "https://issuer.example", "sub": "alice"}},
		}
		c.change(&e)
		if r, err := h(t.Context(), e); err != nil || r.StatusCode != http.StatusCreated {
			t.Fatalf("%+v, %v", r, err)
		}
		out, err := f.db.Client().Scan(t.Context(), &dynamodb.ScanInput{TableName: &f.table})
		if err != nil || len(out.Items) != 1 {
			t.Fatalf("%v, %v", out, err)
		}
		item := out.Items[0]
		if got := item["validation"].(*types.AttributeValueMemberS).Value; got != c.want {
			t.Errorf("%s: fingerprint %q, want %q", name, got, c.want)
		}
		const id = "POST /accounts/{id}/payments#64d4d898530fff786a25a7e1d6056422f76ba62350df35be0d6d131223e477c3"
		if got := item["id"].(*types.AttributeValueMemberS).Value; got != id {
			t.Errorf("%s: id %q, want %q", name, got, id)
		}
	}
}
