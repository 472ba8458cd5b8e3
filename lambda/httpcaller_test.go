package lambda

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
)

// I11: who is calling, by what each authoriser leaves; two callers never share a name, and one has the same every time.
func TestCallers(t *testing.T) {
	t.Parallel()
	type authorizer2 = events.APIGatewayV2HTTPRequestContextAuthorizerDescription
	jwt := func(iss, sub string) *authorizer2 {
		return &authorizer2{JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: map[string]string{"iss": iss, "sub": sub}}}
	}
	iam := func(arn, cognito string) *authorizer2 {
		a := &events.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription{UserARN: arn}
		a.CognitoIdentity.IdentityID = cognito
		return &authorizer2{IAM: a}
	}
	const pool = "arn:aws:sts::1:assumed-role/Auth/CognitoIdentityCredentials"
	for name, c := range map[string]struct {
		a    *authorizer2
		want string
	}{
		"nobody":                {nil, ""},
		"JWT":                   {jwt("https://i", "alice"), "jwt:9:https://i:alice"},
		"JWT of another issuer": {jwt("https://j", "alice"), "jwt:9:https://j:alice"},
		"JWT without subject":   {jwt("https://i", ""), ""},
		"IAM user":              {iam("arn:aws:iam::1:user/alice", ""), "iam:arn:aws:iam::1:user/alice"},
		"role":                  {iam("arn:aws:sts::1:assumed-role/Orders/i-1", ""), "iam:arn:aws:sts::1:assumed-role/Orders"},
		"role, another session": {iam("arn:aws:sts::1:assumed-role/Orders/i-2", ""), "iam:arn:aws:sts::1:assumed-role/Orders"},
		"Cognito":               {iam(pool, "eu-west-1:alice"), "cognito:eu-west-1:alice"},
		"a pool without an id":  {iam(pool, ""), ""},
		"Lambda, principal":     {&authorizer2{Lambda: map[string]any{"principalId": "alice"}}, "authorizer:alice"},
		"Lambda, subject":       {&authorizer2{Lambda: map[string]any{"sub": "alice"}}, "authorizer:alice"},
		"Lambda, another type":  {&authorizer2{Lambda: map[string]any{"principalId": 7.0}}, ""},
	} {
		if got := callerOf2(c.a).ID; got != c.want {
			t.Errorf("HTTP API, %s: %q, want %q", name, got, c.want)
		}
	}
	rest := func(change func(*events.APIGatewayProxyRequestContext)) string {
		var c events.APIGatewayProxyRequestContext
		change(&c)
		return callerOf1(c).ID
	}
	for want, change := range map[string]func(*events.APIGatewayProxyRequestContext){
		"": func(*events.APIGatewayProxyRequestContext) {},
		"jwt:9:https://i:alice": func(c *events.APIGatewayProxyRequestContext) {
			c.Authorizer = map[string]any{"claims": map[string]any{"iss": "https://i", "sub": "alice"}}
		},
		"authorizer:alice": func(c *events.APIGatewayProxyRequestContext) { c.Authorizer = map[string]any{"principalId": "alice"} },
		"cognito:eu-west-1:alice": func(c *events.APIGatewayProxyRequestContext) {
			c.Identity.UserArn, c.Identity.CognitoIdentityID = pool, "eu-west-1:alice"
		},
		"iam:arn:aws:iam::1:user/bob": func(c *events.APIGatewayProxyRequestContext) { c.Identity.UserArn = "arn:aws:iam::1:user/bob" },
		"key:k2": func(c *events.APIGatewayProxyRequestContext) { // a pool without an id names nobody
			c.Identity.UserArn, c.Identity.Caller, c.Identity.APIKeyID = pool, "AROAEXAMPLE:CognitoIdentityCredentials", "k2"
		},
		"key:k1": func(c *events.APIGatewayProxyRequestContext) { c.Identity.APIKeyID = "k1" },
	} {
		if got := rest(change); got != want {
			t.Errorf("REST API: %q, want %q", got, want)
		}
	}
}

// The operation is method and route, unless the route stands for several; net/http's patterns are other ones than API
// Gateway's.
func TestOperation(t *testing.T) {
	t.Parallel()
	for route, want := range map[string]string{
		"POST /payments/{id}": "POST /payments/{id}",
		"ANY /payments":       "POST /payments",
		"POST /":              "POST /",
		"":                    "",
		"$default":            "",
		"ANY /{proxy+}":       "",
		"POST /files/{path+}": "",
	} {
		if got := operation("POST", route); got != want {
			t.Errorf("%q: %q, want %q", route, got, want)
		}
	}
	for pattern, want := range map[string]string{
		"POST /payments/{id}":        "POST /payments/{id}",
		"POST  /payments":            "POST /payments",
		"/payments":                  "POST /payments",
		"POST shop.example/pay":      "POST shop.example/pay",
		"POST /{$}":                  "POST /{$}",
		"":                           "",
		"/":                          "",
		"POST /":                     "",
		"POST /files/":               "",
		"POST shop.example/":         "",
		"POST /files/{rest...}":      "",
		"POST /files/{id}/{rest...}": "",
	} {
		if got := operation("POST", routeOf(pattern)); got != want {
			t.Errorf("net/http's %q: %q, want %q", pattern, got, want)
		}
	}
}

// Two requests whose decoded paths are the same differ in the parameters.
func TestInput_PathParameters(t *testing.T) {
	t.Parallel()
	one := inputOf(&HTTPRequest{Path: "/move/a/b/c", PathParameters: map[string]string{"from": "a/b", "to": "c"}})
	two := inputOf(&HTTPRequest{Path: "/move/a/b/c", PathParameters: map[string]string{"from": "a", "to": "b/c"}})
	if one.PathParameters["from"] == two.PathParameters["from"] {
		t.Error("the parameters are not part of the fingerprint")
	}
}

func TestProblem_RetryAfterIsBounded(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]string{0: "1", 1400 * time.Millisecond: "1", 1600 * time.Millisecond: "2", time.Hour: "30"} {
		if got := problemInProgress.response("", wait).Headers.Get("Retry-After"); got != want {
			t.Errorf("%v: Retry-After %s, want %s", wait, got, want)
		}
	}
	if problemReused.response("", time.Hour).Headers.Get("Retry-After") != "" {
		t.Error("a reused key is to be tried again")
	}
}

// A wrapper that gets another door's events must not let them pass as requests that take no key.
func TestHTTP_AnotherDoorsEvent(t *testing.T) {
	t.Parallel()
	w := &web{cfg: HTTPConfig{Methods: []string{"POST"}, Optional: true, Lookup: true}}
	if q := (&HTTPRequest{}); w.passes(q) {
		t.Error("passes")
	}
	if _, err := w.key(&HTTPRequest{Header: http.Header{keyHeader: {"k"}}}); err == nil || !strings.Contains(err.Error(), "the event has no method") {
		t.Errorf("got %v", err)
	}
}

// An error with several sentinels in its tree is the same one for an HTTP client as for an invoker (errorType). One that says
// that something may have run, such as a handler whose own inner operation was unavailable, is no other.
func TestProblem_OfSeveral(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		inner, outer error
		want         problem
	}{
		{idempotency.ErrUnavailable, idempotency.ErrInProgress, problemUnavailable},
		{idempotency.ErrNotRecorded, idempotency.ErrUnavailable, problemNotRecorded},
		{idempotency.ErrNotRecorded, idempotency.ErrNoTime, problemNotRecorded},
		{idempotency.ErrNotRecorded, idempotency.ErrLeaseLost, problemNotRecorded},
		{idempotency.ErrLeaseLost, idempotency.ErrUnavailable, problemInProgress},
	} {
		for _, err := range []error{fmt.Errorf("%w: %w", tt.outer, tt.inner), fmt.Errorf("%w: %w", tt.inner, tt.outer)} {
			if p := stateOf(err).problem; p != tt.want {
				t.Errorf("%v is %s, want %s", err, p.code, tt.want.code)
			}
		}
	}
}
