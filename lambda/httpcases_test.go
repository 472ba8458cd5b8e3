package lambda_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// I11: two tenants of a function with tenant isolation never meet, in one scope and with one key, and nor does the look-up
// let one see what is the other's.
func TestHTTP_Tenants(t *testing.T) {
	t.Parallel()
	for name, scope := range map[string]func(context.Context, *lambda.HTTPRequest, *idempotency.Request) error{
		"the door's caller": nil,
		"all callers": func(_ context.Context, _ *lambda.HTTPRequest, req *idempotency.Request) error {
			req.Scope = idempotency.GlobalScope
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atEachDoor(t, lambda.HTTPConfig{Operation: "pay", Lookup: true, Request: scope}, func(t *testing.T, _ fixture, open func(lambda.HTTPConfig, handling) gate) {
				runs := 0
				g := open(lambda.HTTPConfig{}, func(context.Context, *lambda.HTTPRequest) (reaction, error) { runs++; return created(runs), nil })
				ask := func(tenant string, c call) reaction {
					r, err := g(lambdacontext.NewContext(localtest.Invocation(t, time.Second), &lambdacontext.LambdaContext{TenantID: tenant}), c)
					if err != nil {
						t.Fatal(err)
					}
					return r
				}
				lookup := pay("k").with(func(c *call) { c.method, c.body = "GET", "" })
				for i, tenant := range []string{"blue", "green", ""} {
					wantProblem(t, ask(tenant, lookup), http.StatusNotFound, "idempotency_key_not_found", false)
					for range 2 {
						if r := ask(tenant, pay("k")); r.body != created(i+1).body {
							t.Errorf("tenant %q got %+v", tenant, r)
						}
					}
					if r := ask(tenant, lookup); r.body != created(i+1).body {
						t.Errorf("the look-up of tenant %q got %+v", tenant, r)
					}
				}
				if runs != 3 {
					t.Errorf("%d runs", runs)
				}
			})
		})
	}
}

// C26: an event whose header is null, or an empty list, or that has no headers at all, has no key: refused, and never run on
// a key that all such requests would share.
func TestHTTP_NoKeyInTheEvent(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	logger := slog.New(slog.DiscardHandler)
	for file, door := range map[string]string{
		"apigw-request.json":                                "RESTAPI",
		"apigw-v2-request-iam.json":                         "HTTPAPI",
		"lambda-urls-request.json":                          "FunctionURL",
		"alb-lambda-target-request-headers-only.json":       "ALB",
		"alb-lambda-target-request-multivalue-headers.json": "ALB",
	} {
		for name, change := range map[string]func(event map[string]any){
			"null":       func(event map[string]any) { setHeader(event, nil, nil) },
			"empty":      func(event map[string]any) { setHeader(event, "", []any{""}) },
			"no values":  func(event map[string]any) { setHeader(event, nil, []any{}) },
			"no headers": func(event map[string]any) { delete(event, "headers"); delete(event, "multiValueHeaders") },
		} {
			event := eventFile[map[string]any](file)
			change(event)
			body, err := json.Marshal(event)
			if err != nil {
				t.Fatal(err)
			}
			send := eventDoors(f.Runner, lambda.HTTPConfig{Operation: "pay", Methods: []string{"GET", "POST"}, Logger: logger, Request: func(_ context.Context, _ *lambda.HTTPRequest, req *idempotency.Request) error {
				req.Scope = idempotency.GlobalScope
				return nil
			}})[door]
			if status, err := send(t.Context(), body); err != nil || status != http.StatusBadRequest {
				t.Errorf("%s, %s: status %d, %v", file, name, status, err)
			}
		}
	}
	if n := len(f.db.Calls("PutItem")); n != 0 {
		t.Errorf("%d records", n)
	}
}

// setHeader gives the key's header a value in whichever forms the event has headers.
func setHeader(event map[string]any, one, all any) {
	if h, ok := event["headers"].(map[string]any); ok {
		h["idempotency-key"] = one
	}
	if h, ok := event["multiValueHeaders"].(map[string]any); ok {
		h["idempotency-key"] = all
	}
}

// C27: scope and key are not run together, and a key in two scopes is two.
func TestHTTP_ScopeAndKeyAreApart(t *testing.T) {
	t.Parallel()
	atEachDoor(t, lambda.HTTPConfig{}, func(t *testing.T, _ fixture, open func(lambda.HTTPConfig, handling) gate) {
		runs := 0
		g := open(lambda.HTTPConfig{}, func(context.Context, *lambda.HTTPRequest) (reaction, error) { runs++; return created(runs), nil })
		for round := range 2 {
			for i, c := range []struct{ caller, key string }{{"a", "bc"}, {"ab", "c"}, {"a", "c"}, {"ab", "bc"}, {"a:b", "c"}, {"a", "b:c"}} {
				r := must(t, g, pay(c.key).with(func(to *call) { to.caller = c.caller }))
				if r.body != created(i+1).body || (r.header.Get("Idempotent-Replayed") == "true") != (round == 1) {
					t.Errorf("%+v got %+v", c, r)
				}
			}
		}
	})
}

// C12, C24: another payload is found out while the first one is at work, by whoever waits, too, and at once; and it leaves
// no trace.
func TestHTTP_MismatchInProgress(t *testing.T) {
	t.Parallel()
	for _, wait := range []time.Duration{0, 20 * time.Second} {
		t.Run(fmt.Sprint("wait ", wait), func(t *testing.T) {
			t.Parallel()
			atEachDoor(t, lambda.HTTPConfig{Wait: wait}, func(t *testing.T, _ fixture, open func(lambda.HTTPConfig, handling) gate) {
				g := open(lambda.HTTPConfig{}, func(context.Context, *lambda.HTTPRequest) (reaction, error) {
					<-time.After(5 * time.Second)
					return created(1), nil
				})
				first := make(chan reaction, 1)
				go func() {
					r, _ := g(localtest.Invocation(t, time.Minute), pay("k"))
					first <- r
				}()
				synctest.Wait()
				other := pay("k").with(func(c *call) { c.body = `{"amount":6}` })
				began := time.Now()
				wantProblem(t, must(t, g, other), http.StatusUnprocessableEntity, "idempotency_key_reused", false)
				if took := time.Since(began); took != 0 {
					t.Errorf("it took %v", took)
				}
				if r := <-first; r.status != http.StatusCreated || r.body != created(1).body {
					t.Errorf("the first one got %+v", r)
				}
				wantProblem(t, must(t, g, other), http.StatusUnprocessableEntity, "idempotency_key_reused", false)
				if r := must(t, g, pay("k")); r.body != created(1).body || r.header.Get("Idempotent-Replayed") != "true" {
					t.Errorf("the retry got %+v", r)
				}
			})
		})
	}
}

// C24: a look-up has no payload to compare. It is no way around the comparison for those that have, and another caller
// finds nothing by it.
func TestHTTP_LookupIsNoWayAround(t *testing.T) {
	t.Parallel()
	atEachDoor(t, lambda.HTTPConfig{Operation: "pay", Lookup: true}, func(t *testing.T, _ fixture, open func(lambda.HTTPConfig, handling) gate) {
		runs := 0
		g := open(lambda.HTTPConfig{}, func(context.Context, *lambda.HTTPRequest) (reaction, error) { runs++; return created(runs), nil })
		lookup := pay("k").with(func(c *call) { c.method, c.body = "GET", "" })
		wantProblem(t, must(t, g, lookup), http.StatusNotFound, "idempotency_key_not_found", false)
		must(t, g, pay("k"))
		for range 2 {
			if r := must(t, g, lookup); r.body != created(1).body {
				t.Errorf("the look-up got %+v", r)
			}
			wantProblem(t, must(t, g, pay("k").with(func(c *call) { c.body = "" })), http.StatusUnprocessableEntity, "idempotency_key_reused", false)
			wantProblem(t, must(t, g, lookup.with(func(c *call) { c.caller = "bob" })), http.StatusNotFound, "idempotency_key_not_found", false)
		}
		if runs != 1 {
			t.Errorf("%d runs", runs)
		}
	})
}

// C16: whoever asked is gone when the handler returns. Its outcome is recorded all the same, and is the retry's answer.
func TestHTTP_ClientGoneAfterTheHandler(t *testing.T) {
	t.Parallel()
	atEachDoor(t, lambda.HTTPConfig{}, func(t *testing.T, _ fixture, open func(lambda.HTTPConfig, handling) gate) {
		runs := 0
		ctx, cancel := context.WithCancel(localtest.Invocation(t, time.Minute))
		g := open(lambda.HTTPConfig{}, func(context.Context, *lambda.HTTPRequest) (reaction, error) {
			runs++
			cancel()
			return created(runs), nil
		})
		if r, err := g(ctx, pay("k")); err != nil || r.status != http.StatusCreated || r.body != created(1).body {
			t.Errorf("the first one got %+v, %v", r, err)
		}
		if r := must(t, g, pay("k")); r.status != http.StatusCreated || r.body != created(1).body || r.header.Get("Idempotent-Replayed") != "true" || runs != 1 {
			t.Errorf("the retry got %+v after %d runs", r, runs)
		}
	})
}
