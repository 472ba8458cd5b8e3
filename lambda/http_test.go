package lambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

var errWrongForm = errors.New("headers in the form that the target group is not set to")

// atEachDoor runs the test behind every front door, with a table of its own.
func atEachDoor(t *testing.T, c lambda.HTTPConfig, test func(*testing.T, fixture, func(lambda.HTTPConfig, handling) gate)) {
	t.Helper()
	for name, open := range doors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, idempotency.Config{})
				test(t, f, func(more lambda.HTTPConfig, h handling) gate {
					merged := c
					if more.Request != nil {
						merged.Request = more.Request
					}
					if merged.Logger == nil {
						merged.Logger = slog.New(slog.DiscardHandler)
					}
					return open(t, f.Runner, merged, h)
				})
			})
		})
	}
}

// must is an answer without an error.
func must(t *testing.T, g gate, c call) reaction {
	t.Helper()
	r, err := g(localtest.Invocation(t, 10*time.Second), c)
	if err != nil {
		t.Fatalf("error %v", err)
	}
	return r
}

// wantProblem checks a row of the contract.
func wantProblem(t *testing.T, r reaction, status int, code string, retry bool) {
	t.Helper()
	var p struct {
		Type, Title, Code, Detail string
		Status                    int
	}
	if err := json.Unmarshal([]byte(r.body), &p); err != nil {
		t.Fatalf("%d %q: %v", r.status, r.body, err)
	}
	if r.status != status || p.Status != status || p.Code != code || r.header.Get("Content-Type") != "application/problem+json" || !strings.HasSuffix(p.Type, "#"+code) || p.Title == "" {
		t.Errorf("got %d %v %s; want %d %s", r.status, r.header, r.body, status, code)
	}
	if after := r.header.Get("Retry-After"); (after != "") != retry {
		t.Errorf("Retry-After %q, want one: %v", after, retry)
	}
	if r.header.Get("Idempotent-Replayed") != "" {
		t.Error("a problem is marked as a replay")
	}
}

func created(n int) reaction {
	return reaction{
		status: http.StatusCreated, body: fmt.Sprintf(`{"charge":"ch_%d"}`, n),
		header: http.Header{"Content-Type": {"application/json"}, "Location": {fmt.Sprint("/payments/", n)}, "Etag": {`"v1, v2"`}, "Set-Cookie": {"session=secret"}, "X-Request-Id": {"r1"}},
	}
}

// C38, C39: a replay is the same status, headers and body, without what is the first caller's alone.
func TestHTTP_Replay(t *testing.T) {
	t.Parallel()
	atEachDoor(t, lambda.HTTPConfig{}, func(t *testing.T, _ fixture, open func(lambda.HTTPConfig, handling) gate) {
		runs := 0
		g := open(lambda.HTTPConfig{}, func(context.Context, *lambda.HTTPRequest) (reaction, error) { runs++; return created(runs), nil })
		first := must(t, g, pay("k1"))
		if first.header.Get("X-Request-Id") != "r1" || first.header.Get("Idempotent-Replayed") != "" {
			t.Errorf("the first answer's headers: %v", first.header)
		}
		for _, key := range []string{"k1", `"k1"`, `"k1";v=1`} {
			again := must(t, g, pay(key))
			if again.status != first.status || again.body != first.body || again.header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("%s: %+v, want that of the first: %+v", key, again, first)
			}
			for _, name := range []string{"Content-Type", "Location", "Etag"} {
				if got, want := again.header.Values(name), first.header.Values(name); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
			for _, name := range []string{"Set-Cookie", "X-Request-Id"} {
				if again.header.Get(name) != "" {
					t.Errorf("%s was replayed", name)
				}
			}
		}
		if runs != 1 {
			t.Errorf("%d runs", runs)
		}
	})
}

// C39: a body in base64 stays one.
func TestHTTP_ReplayBase64(t *testing.T) {
	t.Parallel()
	atEachDoor(t, lambda.HTTPConfig{}, func(t *testing.T, _ fixture, open func(lambda.HTTPConfig, handling) gate) {
		g := open(lambda.HTTPConfig{}, func(context.Context, *lambda.HTTPRequest) (reaction, error) {
			return reaction{status: 200, body: "AAH/", base64: true, header: http.Header{"Content-Type": {"image/png"}}}, nil
		})
		for range 2 {
			if r := must(t, g, pay("k")); r.body != "AAH/" || !r.base64 {
				t.Errorf("got %+v", r)
			}
		}
	})
}

// What binds a key to its request, and what does not.
func TestHTTP_Mismatch(t *testing.T) {
	t.Parallel()
	base := pay("k").with(func(c *call) { c.query = "a=1&b=2"; c.body = `{"amount":5,"to":"x"}` })
	for name, c := range map[string]struct {
		change func(*call)
		same   bool
	}{
		"nothing":             {func(*call) {}, true},
		"member order":        {func(c *call) { c.body = `{"to":"x", "amount":5.0}` }, true},
		"another header":      {func(c *call) { c.header.Set("User-Agent", "other") }, true},
		"body":                {func(c *call) { c.body = `{"amount":6,"to":"x"}` }, false},
		"path":                {func(c *call) { c.path = "/payments/2" }, false},
		"query":               {func(c *call) { c.query = "a=1&b=3" }, false},
		"method":              {func(c *call) { c.method = "PATCH" }, false},
		"content type":        {func(c *call) { c.header.Set("Content-Type", "text/plain") }, false},
		"base64 of the same":  {func(c *call) { c.base64 = true }, true},
		"number beyond float": {func(c *call) { c.body = `{"amount":5.00000000000000000001,"to":"x"}` }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atEachDoor(t, lambda.HTTPConfig{Operation: "pay"}, func(t *testing.T, _ fixture, open func(lambda.HTTPConfig, handling) gate) {
				runs := 0
				g := open(lambda.HTTPConfig{}, func(context.Context, *lambda.HTTPRequest) (reaction, error) { runs++; return created(runs), nil })
				must(t, g, base)
				second := must(t, g, base.with(c.change))
				if c.same {
					if second.header.Get("Idempotent-Replayed") != "true" {
						t.Errorf("got %+v, want a replay", second)
					}
				} else {
					wantProblem(t, second, http.StatusUnprocessableEntity, "idempotency_key_reused", false)
				}
				if runs != 1 {
					t.Errorf("%d runs", runs)
				}
			})
		})
	}
}

// C41 and the rest of what is refused before anything runs.
func TestHTTP_Refused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*call)
		config lambda.HTTPConfig
		status int
		code   string
	}{
		"no key":               {func(c *call) { c.header.Del("Idempotency-Key") }, lambda.HTTPConfig{}, 400, "idempotency_key_missing"},
		"empty key":            {func(c *call) { c.header.Set("Idempotency-Key", "") }, lambda.HTTPConfig{}, 400, "idempotency_key_invalid"},
		"long key":             {func(c *call) { c.header.Set("Idempotency-Key", strings.Repeat("k", 256)) }, lambda.HTTPConfig{}, 400, "idempotency_key_invalid"},
		"bare key, strict":     {func(*call) {}, lambda.HTTPConfig{Strict: true}, 400, "idempotency_key_invalid"},
		"checked key":          {func(*call) {}, lambda.HTTPConfig{CheckKey: func(string) error { return errors.New("must be a UUID") }}, 400, "idempotency_key_invalid"},
		"old key":              {func(c *call) { c.header.Set("Idempotency-Key", "00dc6acf-ac00-7cc3-98c4-dc0c0c07398f") }, lambda.HTTPConfig{OldestKey: 24 * time.Hour}, 412, "idempotency_key_expired"},
		"no base64":            {func(c *call) { c.base64, c.body = true, "!!" }, lambda.HTTPConfig{}, 400, "idempotency_request_unreadable"},
		"JSON with duplicates": {func(c *call) { c.body = `{"amount":5,"amount":6}` }, lambda.HTTPConfig{}, 400, "idempotency_request_unreadable"},
		"no caller":            {func(c *call) { c.caller = "" }, lambda.HTTPConfig{}, 500, "idempotency_misconfigured"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atEachDoor(t, c.config, func(t *testing.T, f fixture, open func(lambda.HTTPConfig, handling) gate) {
				if c.config.OldestKey != 0 {
					<-time.After(48 * time.Hour) // the bubble's clock begins in 2000
				}
				g := open(lambda.HTTPConfig{}, func(context.Context, *lambda.HTTPRequest) (reaction, error) {
					t.Error("it ran")
					return created(1), nil
				})
				wantProblem(t, must(t, g, pay("k").with(c.change)), c.status, c.code, false)
				if n := len(f.db.Calls("")); n != 0 {
					t.Errorf("%d calls to the table", n)
				}
			})
		})
	}
}

// C37: two keys are none, unless the front door shows one of them only.
func TestHTTP_TwoKeys(t *testing.T) {
	t.Parallel()
	two := pay("a").with(func(c *call) { c.header["Idempotency-Key"] = []string{"a", "b"} })
	for name, open := range doors {
		f := newFixture(t, idempotency.Config{})
		r := must(t, open(t, f.Runner, lambda.HTTPConfig{}, func(context.Context, *lambda.HTTPRequest) (reaction, error) { return created(1), nil }), two)
		if name != "ALB" {
			wantProblem(t, r, http.StatusBadRequest, "idempotency_key_invalid", false)
		} else if r.status != http.StatusCreated {
			t.Errorf("ALB with single-value headers: %+v", r)
		}
	}
}

// Requests that take no key, and those that may do without.
func TestHTTP_Passes(t *testing.T) {
	t.Parallel()
	without := pay("k").with(func(c *call) { c.header.Del("Idempotency-Key") })
	for name, c := range map[string]struct {
		call   call
		config lambda.HTTPConfig
	}{
		"GET":           {pay("k").with(func(c *call) { c.method = "GET" }), lambda.HTTPConfig{}},
		"PUT":           {pay("k").with(func(c *call) { c.method = "PUT" }), lambda.HTTPConfig{}},
		"DELETE":        {pay("k").with(func(c *call) { c.method = "DELETE" }), lambda.HTTPConfig{}},
		"optional":      {without, lambda.HTTPConfig{Optional: true}},
		"other methods": {pay("k"), lambda.HTTPConfig{Methods: []string{"PUT"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			atEachDoor(t, c.config, func(t *testing.T, f fixture, open func(lambda.HTTPConfig, handling) gate) {
				runs := 0
				g := open(lambda.HTTPConfig{}, func(context.Context, *lambda.HTTPRequest) (reaction, error) { runs++; return created(runs), nil })
				for range 2 {
					must(t, g, c.call)
				}
				if n := len(f.db.Calls("")); runs != 2 || n != 0 {
					t.Errorf("%d runs, %d calls to the table", runs, n)
				}
			})
		})
	}
}

// C40: what is recorded, by status and preset: is there a second run, and what does the retry get?
func TestHTTP_Records(t *testing.T) {
	t.Parallel()
	const replay, rerun, unknown = "replay", "rerun", "unknown"
	for _, c := range []struct {
		status                     int
		byDefault, stripe, success string
	}{
		{200, replay, replay, replay},
		{204, replay, replay, replay},
		{303, replay, replay, rerun},
		{400, replay, replay, rerun},
		{401, rerun, replay, rerun},
		{402, replay, replay, rerun},
		{403, rerun, replay, rerun},
		{404, rerun, replay, rerun},
		{408, rerun, replay, rerun},
		{410, replay, replay, rerun},
		{421, rerun, replay, rerun},
		{423, rerun, replay, rerun},
		{424, rerun, replay, rerun},
		{425, rerun, replay, rerun},
		{409, rerun, replay, rerun},
		{422, replay, replay, rerun},
		{429, rerun, replay, rerun},
		{500, rerun, replay, rerun},
		{502, unknown, replay, unknown},
		{503, rerun, replay, rerun},
		{504, unknown, replay, unknown},
		{0, unknown, unknown, unknown},
		{700, unknown, unknown, unknown},
	} {
		for preset, want := range map[string]string{"default": c.byDefault, "stripe": c.stripe, "success": c.success} {
			t.Run(fmt.Sprint(preset, " ", c.status), func(t *testing.T) {
				t.Parallel()
				record := map[string]func(int) idempotency.Class{"stripe": lambda.RecordStripe, "success": lambda.RecordSuccess}[preset]
				atEachDoor(t, lambda.HTTPConfig{Record: record}, func(t *testing.T, _ fixture, open func(lambda.HTTPConfig, handling) gate) {
					runs := 0
					g := open(lambda.HTTPConfig{}, func(context.Context, *lambda.HTTPRequest) (reaction, error) {
						runs++
						return reaction{status: c.status, body: fmt.Sprint("run ", runs)}, nil
					})
					first, second := must(t, g, pay("k")), must(t, g, pay("k"))
					switch want {
					case unknown:
						wantProblem(t, first, 409, "outcome_unknown", false)
						wantProblem(t, second, 409, "outcome_unknown", false)
						return
					case replay:
						if runs != 1 || second.header.Get("Idempotent-Replayed") != "true" {
							t.Errorf("%d runs; %+v", runs, second)
						}
					case rerun:
						if runs != 2 || second.header.Get("Idempotent-Replayed") != "" {
							t.Errorf("%d runs; %+v", runs, second)
						}
					}
					if first.status != c.status || second.status != c.status || first.body != "run 1" || second.body != fmt.Sprint("run ", runs) {
						t.Errorf("first %+v, second %+v", first, second)
					}
				})
			})
		}
	}
}

// What the handler says of itself: it has not started; it does not know; it is done with an error.
func TestHTTP_HandlerSays(t *testing.T) {
	t.Parallel()
	errDeclined := errors.New("declined")
	atEachDoor(t, lambda.HTTPConfig{}, func(t *testing.T, _ fixture, open func(lambda.HTTPConfig, handling) gate) {
		var do handling
		runs := 0
		g := open(lambda.HTTPConfig{}, func(ctx context.Context, q *lambda.HTTPRequest) (reaction, error) { runs++; return do(ctx, q) })

		do = func(ctx context.Context, _ *lambda.HTTPRequest) (reaction, error) {
			lambda.NotStarted(ctx)
			return reaction{status: 400, body: "amount is missing"}, nil
		}
		for range 2 {
			if r := must(t, g, pay("not-started")); r.status != 400 || r.body != "amount is missing" {
				t.Errorf("not started: %+v", r)
			}
		}
		if runs != 2 {
			t.Errorf("not started: %d runs", runs)
		}

		do = func(context.Context, *lambda.HTTPRequest) (reaction, error) {
			return reaction{}, idempotency.Unknown(errDeclined)
		}
		for range 2 {
			wantProblem(t, must(t, g, pay("unknown")), 409, "outcome_unknown", false)
		}
		if runs != 3 {
			t.Errorf("unknown: %d runs", runs-2)
		}

		do = func(context.Context, *lambda.HTTPRequest) (reaction, error) { return reaction{}, errDeclined }
		for range 2 {
			if _, err := g(localtest.Invocation(t, time.Second), pay("released")); err != errDeclined { //nolint:errorlint // untouched
				t.Errorf("released: %v", err)
			}
		}
		if runs != 5 {
			t.Errorf("released: %d runs", runs-3)
		}

		do = func(context.Context, *lambda.HTTPRequest) (reaction, error) {
			return reaction{}, idempotency.Terminal(errDeclined)
		}
		for range 2 {
			if _, err := g(localtest.Invocation(t, time.Second), pay("terminal")); err == nil || !strings.Contains(err.Error(), "declined") {
				t.Errorf("terminal: %v", err)
			}
		}
		if runs != 6 {
			t.Errorf("terminal: %d runs", runs-5)
		}

		// Its own request of the protocol that failed is the handler's error, not this request's state.
		do = func(context.Context, *lambda.HTTPRequest) (reaction, error) {
			return reaction{}, idempotency.Safe(&idempotency.StateError{Err: idempotency.ErrMismatch})
		}
		if _, err := g(localtest.Invocation(t, time.Second), pay("nested")); !errors.Is(err, idempotency.ErrMismatch) {
			t.Errorf("nested: %v", err)
		}
	})
}

// The states of the record, as clients hear of them.
func TestHTTP_States(t *testing.T) {
	t.Parallel()
	atEachDoor(t, lambda.HTTPConfig{}, func(t *testing.T, f fixture, open func(lambda.HTTPConfig, handling) gate) {
		g := open(lambda.HTTPConfig{}, func(ctx context.Context, q *lambda.HTTPRequest) (reaction, error) {
			if string(q.Body) == `{"slow":1}` {
				<-ctx.Done()
				return reaction{}, ctx.Err()
			}
			return created(1), nil
		})
		slow := pay("slow").with(func(c *call) { c.body = `{"slow":1}` })
		var first reaction
		done := make(chan struct{})
		go func() {
			defer close(done)
			first, _ = g(localtest.Invocation(t, 10*time.Second), slow)
		}()
		synctest.Wait()
		wantProblem(t, must(t, g, slow), 409, "operation_in_progress", true)
		<-done
		wantProblem(t, first, 409, "outcome_unknown", false) // of this very run: its time was over
		wantProblem(t, must(t, g, slow), 409, "outcome_unknown", false)

		f.db.Inject(localtest.Fault{Kind: localtest.AccessDenied, Times: -1})
		wantProblem(t, must(t, g, pay("denied")), 503, "idempotency_unavailable", true)
		f.db.ClearFaults()

		f.db.Inject(localtest.Fault{Operation: "UpdateItem", Kind: localtest.AccessDenied, Times: -1})
		wantProblem(t, must(t, g, pay("not-recorded")), 500, "outcome_not_recorded", false)
		f.db.ClearFaults()

		short, err := g(localtest.Invocation(t, 20*time.Millisecond), pay("no-time"))
		if err != nil {
			t.Fatal(err)
		}
		wantProblem(t, short, 503, "idempotency_unavailable", true)
	})
}

// 100 at once: one charge, and otherwise replays or 409s. Two tenants with one key never meet (I11).
func TestHTTP_AtOnce(t *testing.T) {
	t.Parallel()
	atEachDoor(t, lambda.HTTPConfig{}, func(t *testing.T, _ fixture, open func(lambda.HTTPConfig, handling) gate) {
		var charges atomic.Int32
		g := open(lambda.HTTPConfig{}, func(context.Context, *lambda.HTTPRequest) (reaction, error) {
			<-time.After(time.Second)
			return created(int(charges.Add(1))), nil
		})
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				<-time.After(time.Duration(i) * 20 * time.Millisecond)
				r, err := g(localtest.Invocation(t, 10*time.Second), pay("k"))
				if err != nil || r.status != 201 && r.status != 409 {
					t.Errorf("%+v, %v", r, err)
				}
			})
		}
		all.Wait()
		if charges.Load() != 1 {
			t.Errorf("%d charges", charges.Load())
		}
		other := must(t, g, pay("k").with(func(c *call) { c.caller = "bob" }))
		if other.header.Get("Idempotent-Replayed") != "" || charges.Load() != 2 {
			t.Errorf("another tenant got %+v", other)
		}
	})
}

// C50: the gateway gives up, the function goes on and completes; a retry in between waits, a later one replays.
func TestHTTP_Waits(t *testing.T) {
	t.Parallel()
	atEachDoor(t, lambda.HTTPConfig{Wait: 20 * time.Second}, func(t *testing.T, _ fixture, open func(lambda.HTTPConfig, handling) gate) {
		g := open(lambda.HTTPConfig{}, func(context.Context, *lambda.HTTPRequest) (reaction, error) {
			<-time.After(35 * time.Second)
			return created(1), nil
		})
		go func() { _, _ = g(localtest.Invocation(t, time.Minute), pay("k")) }()
		<-time.After(29 * time.Second)
		r, err := g(localtest.Invocation(t, time.Minute), pay("k"))
		if err != nil || r.status != 201 || r.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

func TestHTTP_Lookup(t *testing.T) {
	t.Parallel()
	atEachDoor(t, lambda.HTTPConfig{Operation: "pay", Lookup: true}, func(t *testing.T, _ fixture, open func(lambda.HTTPConfig, handling) gate) {
		g := open(lambda.HTTPConfig{}, func(context.Context, *lambda.HTTPRequest) (reaction, error) {
			<-time.After(time.Second)
			return created(1), nil
		})
		ask := func(key string) reaction {
			return must(t, g, pay(key).with(func(c *call) { c.method, c.body = "GET", "" }))
		}
		wantProblem(t, ask("k"), 404, "idempotency_key_not_found", false)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = g(localtest.Invocation(t, time.Minute), pay("k"))
		}()
		synctest.Wait()
		wantProblem(t, ask("k"), 409, "operation_in_progress", true)
		<-done
		head := must(t, g, pay("k").with(func(c *call) { c.method, c.body = "HEAD", "" }))
		if head.status != 201 || head.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("HEAD: %+v", head)
		}
		plain := must(t, g, pay("k").with(func(c *call) { c.method, c.body = "GET", ""; c.header.Del("Idempotency-Key") }))
		if plain.status != 201 || plain.header.Get("Idempotent-Replayed") != "" {
			t.Errorf("a GET without a key is the handler's: %+v", plain)
		}
		if r := ask("k"); r.status != 201 || r.body != created(1).body || r.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("got %+v", r)
		}
	})
}

// What cannot be right is said when the first request comes, to the log and not to the client.
func TestHTTP_Misconfigured(t *testing.T) {
	t.Parallel()
	r := newFixture(t, idempotency.Config{}).Runner
	for want, c := range map[string]lambda.HTTPConfig{
		"HTTPConfig.Reused is 400":                  {Reused: 400},
		"HTTPConfig.Wait is 21s":                    {Wait: 21 * time.Second},
		"HTTPConfig.OldestKey is -1ns":              {OldestKey: -1},
		"HTTPConfig.Lookup is set: needs Operation": {Lookup: true},
		"HTTPConfig.Headers is set-cookie":          {Headers: []string{"set-cookie"}},
	} {
		for name, open := range doors {
			if c.Lookup && name != "HTTPAPI" && name != "RESTAPI" {
				continue // the tests' other doors set Operation
			}
			var log strings.Builder
			c.Logger = slog.New(slog.NewTextHandler(&log, nil))
			wantProblem(t, must(t, open(t, r, c, func(context.Context, *lambda.HTTPRequest) (reaction, error) { return reaction{}, nil }), pay("k")), 500, "idempotency_misconfigured", false)
			if !strings.Contains(log.String(), want) {
				t.Errorf("%s: log %s, want %s", name, &log, want)
			}
		}
	}
	var log strings.Builder
	g := doors["HTTPAPI"](t, r, lambda.HTTPConfig{Logger: slog.New(slog.NewTextHandler(&log, nil))}, func(context.Context, *lambda.HTTPRequest) (reaction, error) {
		t.Error("it ran")
		return reaction{}, nil
	})
	nobody := pay("secret-key").with(func(c *call) { c.caller = "" })
	res := must(t, g, nobody)
	wantProblem(t, res, 500, "idempotency_misconfigured", false)
	if !strings.Contains(log.String(), "HTTPConfig.Request") || strings.Contains(res.body, "HTTPConfig") || strings.Contains(log.String(), "secret-key") {
		t.Errorf("log %s\nclient %s", &log, res.body)
	}
}

// What cannot be handed out is said so, and is no answer of its own.
func TestHTTP_Unreplayable(t *testing.T) {
	t.Parallel()
	atEachDoor(t, lambda.HTTPConfig{}, func(t *testing.T, f fixture, open func(lambda.HTTPConfig, handling) gate) {
		g := open(lambda.HTTPConfig{}, func(context.Context, *lambda.HTTPRequest) (reaction, error) {
			return reaction{status: 200, body: strings.Repeat("x", 400<<10)}, nil
		})
		if r := must(t, g, pay("large")); r.status != 200 || len(r.body) != 400<<10 {
			t.Errorf("the first answer: %d with %d bytes", r.status, len(r.body))
		}
		wantProblem(t, must(t, g, pay("large")), 409, "outcome_not_stored", false)

		small := open(lambda.HTTPConfig{}, func(context.Context, *lambda.HTTPRequest) (reaction, error) { return created(1), nil })
		must(t, small, pay("damaged"))
		out, err := f.db.Client().Scan(t.Context(), &dynamodb.ScanInput{TableName: &f.table})
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range out.Items {
			item["data"] = &types.AttributeValueMemberS{Value: `"no answer"`}
			if _, err := f.db.Client().PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &f.table, Item: item}); err != nil {
				t.Fatal(err)
			}
		}
		wantProblem(t, must(t, small, pay("damaged")), 500, "outcome_unreadable", false)
	})
}

// An error of the handler's is its own, of whatever type: also one that cannot be compared.
func TestHTTP_UncomparableError(t *testing.T) {
	t.Parallel()
	own := listError{"a"}
	atEachDoor(t, lambda.HTTPConfig{}, func(t *testing.T, _ fixture, open func(lambda.HTTPConfig, handling) gate) {
		for key, err := range map[string]error{"plain": own, "safe": idempotency.Safe(own), "terminal": idempotency.Terminal(own)} {
			g := open(lambda.HTTPConfig{}, func(context.Context, *lambda.HTTPRequest) (reaction, error) { return reaction{}, err })
			_, got := g(localtest.Invocation(t, time.Second), pay(key))
			if _, is := got.(listError); !is { //nolint:errorlint // untouched
				t.Errorf("%s: %v", key, got)
			}
		}
		g := open(lambda.HTTPConfig{}, func(context.Context, *lambda.HTTPRequest) (reaction, error) {
			return reaction{}, idempotency.Unknown(own)
		})
		wantProblem(t, must(t, g, pay("unknown")), 409, "outcome_unknown", false)
	})
}

type listError []string

func (e listError) Error() string { return strings.Join(e, ", ") }

func TestHTTP_ReusedAsConflict(t *testing.T) {
	t.Parallel()
	atEachDoor(t, lambda.HTTPConfig{Reused: 409}, func(t *testing.T, _ fixture, open func(lambda.HTTPConfig, handling) gate) {
		g := open(lambda.HTTPConfig{}, func(context.Context, *lambda.HTTPRequest) (reaction, error) { return created(1), nil })
		must(t, g, pay("k"))
		wantProblem(t, must(t, g, pay("k").with(func(c *call) { c.body = "other" })), 409, "idempotency_key_reused", false)
	})
}
