package lambda_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// What is the server's fault is told to its log, and not to the client; and what a setting leaves open is the safe thing.

// The Runner's Wait is not that of a gateway's client: without HTTPConfig.Wait a duplicate does not wait.
func TestHTTP_RunnersWaitIsNotTheDoors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, idempotency.Config{Wait: 5 * time.Minute})
		g := doors["HTTPAPI"](t, f.Runner, lambda.HTTPConfig{}, func(context.Context, *lambda.HTTPRequest) (reaction, error) {
			<-time.After(time.Minute)
			return created(1), nil
		})
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = g(localtest.Invocation(t, 10*time.Minute), pay("k"))
		}()
		synctest.Wait()
		began := time.Now()
		wantProblem(t, must(t, g, pay("k")), 409, "operation_in_progress", true)
		if waited := time.Since(began); waited != 0 {
			t.Errorf("waited for %v", waited)
		}
		<-done
	})
}

// Retry-After keeps the protocol's jitter, so that refused duplicates do not come back together.
func TestHTTP_RetryAfterHasJitter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, idempotency.Config{})
		f.db.Inject(localtest.Fault{Kind: localtest.AccessDenied, Times: -1})
		g, _, _ := api(f, lambda.HTTPConfig{})
		seen := map[string]int{}
		for range 200 {
			seen[must(t, g, pay("k")).header.Get("Retry-After")]++
		}
		if len(seen) != 2 || seen["1"] < 20 || seen["2"] < 20 {
			t.Errorf("Retry-After %v, want 1 and 2", seen)
		}
	})
}

// wrapping is an error of the user's own around one of the protocol's.
type wrapping struct{ error }

func (e wrapping) Unwrap() error { return e.error }

// A failure that Config.Failure rebuilds is the user's, whatever it has inside: it is neither the state of this request nor a
// word about its body.
func TestHTTP_RebuiltFailure(t *testing.T) {
	t.Parallel()
	for _, inner := range []error{
		&idempotency.StateError{Err: idempotency.ErrInProgress},
		&idempotency.FieldError{Field: "Request.Input", Value: "x", Rule: "secret"},
	} {
		own := wrapping{inner}
		f := newFixture(t, idempotency.Config{Failure: func(*idempotency.Failure) error { return own }})
		g := doors["HTTPAPI"](t, f.Runner, lambda.HTTPConfig{}, func(context.Context, *lambda.HTTPRequest) (reaction, error) {
			return reaction{}, idempotency.Terminal(own)
		})
		for range 2 {
			if r, err := g(t.Context(), pay("k")); err != own { //nolint:errorlint // untouched
				t.Errorf("got %+v, %v", r, err)
			}
		}
	}
}

// An Input of HTTPConfig.Request's that cannot be compared is a mistake of the server's.
func TestHTTP_InputOfRequest(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	g, runs, log := api(f, lambda.HTTPConfig{Request: func(_ context.Context, _ *lambda.HTTPRequest, req *idempotency.Request) error {
		req.Input = struct{ F func() }{func() {}}
		return nil
	}})
	r := must(t, g, pay("k"))
	wantProblem(t, r, 500, "idempotency_misconfigured", false)
	if *runs != 0 || strings.Contains(r.body, "Input") || !strings.Contains(log.String(), "Input.F") {
		t.Errorf("%d runs; client %s; log %s", *runs, r.body, log)
	}
}

// A Record that knows no class of a status leaves it to the default, which does not pin a 503.
func TestHTTP_RecordWithoutAClass(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	runs := 0
	g := doors["HTTPAPI"](t, f.Runner, lambda.HTTPConfig{Record: func(int) idempotency.Class { return 0 }}, func(context.Context, *lambda.HTTPRequest) (reaction, error) {
		runs++
		return reaction{status: []int{503, 201}[runs-1]}, nil
	})
	for _, want := range []int{503, 201, 201} {
		if r := must(t, g, pay("k")); r.status != want {
			t.Errorf("status %d, want %d", r.status, want)
		}
	}
}

// The log has what a person needs to look for an unknown: which operation, which business object, what the handler said.
func TestHTTP_LogOfAnUnknown(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	var log strings.Builder
	c := lambda.HTTPConfig{Logger: slog.New(slog.NewTextHandler(&log, nil)), Request: func(_ context.Context, _ *lambda.HTTPRequest, req *idempotency.Request) error {
		req.Ref = "order 17"
		return nil
	}}
	g := doors["HTTPAPI"](t, f.Runner, c, func(context.Context, *lambda.HTTPRequest) (reaction, error) {
		return reaction{status: 504, body: "secret"}, nil
	})
	wantProblem(t, must(t, g, pay("secret-key")), 409, "outcome_unknown", false)
	for _, want := range []string{`operation="POST /payments"`, `ref="order 17"`, "504", "record POST /payments#", "attempt 1"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %s: %s", want, &log)
		}
	}
	if strings.Contains(log.String(), "secret") {
		t.Errorf("log %s", &log)
	}
}

// The list of methods is the wrapper's from the moment that it is made.
func TestHTTP_CopiesMethods(t *testing.T) {
	t.Parallel()
	methods := []string{"POST"}
	g, runs, _ := api(newFixture(t, idempotency.Config{}), lambda.HTTPConfig{Methods: methods})
	methods[0] = "PUT"
	for range 2 {
		must(t, g, pay("k"))
	}
	if *runs != 1 {
		t.Errorf("%d runs", *runs)
	}
}

// A request that takes no key goes to the handler as it is, also with a body that cannot be decoded.
func TestHTTP_PassesUnread(t *testing.T) {
	t.Parallel()
	g, runs, _ := api(newFixture(t, idempotency.Config{}), lambda.HTTPConfig{})
	must(t, g, pay("k").with(func(c *call) { c.method, c.base64, c.body = "PUT", true, "!!" }))
	if *runs != 1 {
		t.Errorf("%d runs", *runs)
	}
}

// A setting that is wrong is told when the wrapper is made, before the first payment comes.
func TestHTTP_MisconfiguredIsToldAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	for want, c := range map[string]lambda.HTTPConfig{
		"HTTPConfig.Headers is":           {Headers: []string{"a b"}},
		"HTTPConfig.Methods is POST, get": {Methods: []string{"POST", "get"}, Lookup: true, Operation: "pay"},
		"HTTPConfig.MadeAt is set":        {MadeAt: func(*lambda.HTTPRequest, string) (made time.Time, ok bool) { return }},
		"HTTPConfig.Methods is an empty":  {Methods: []string{}},
		"names of methods":                {Methods: []string{"POST", "FETCH IT"}},
	} {
		_, _, log := api(f, c)
		if !strings.Contains(log.String(), want) {
			t.Errorf("log %s, want %s", log, want)
		}
		log.Reset()
		c.Logger = slog.New(slog.NewTextHandler(log, nil))
		lambda.Middleware(f.Runner, c)(http.NotFoundHandler())
		if !strings.Contains(log.String(), want) {
			t.Errorf("middleware: log %s, want %s", log, want)
		}
	}
}

func TestTimedKey(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]bool{"017f22e2-79b0-7cc3-98c4-dc0c0c07398f": true, "01ARZ3NDEKTSV4RRFFQ69G5FAV": true, "8e03978e-40d5-43dd-bc93-6894a57f9324": false, "order-17": false} {
		if err := lambda.TimedKey(key); (err == nil) != want || err != nil && strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
	}
}
