package lambda_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

var errWrongForm = errors.New("headers in the form that the target group is not set to")

// atEachDoor runs the test behind every front door, with a table of its own.
func atEachDoor(t *testing.T, c lambda.HTTPConfig, test func(*testing.T, fixture, func(lambda.HTTPConfig, handling) gate)) {
	t.Helper()
	for name := range doors {
		atDoor(t, name, c, test)
	}
}

// atEventDoors leaves out the one door that has no event: for what only an event, or a handler of one, can have.
func atEventDoors(t *testing.T, c lambda.HTTPConfig, test func(*testing.T, fixture, func(lambda.HTTPConfig, handling) gate)) {
	t.Helper()
	for name := range doors {
		if name != middleware {
			atDoor(t, name, c, test)
		}
	}
}

// doorsFor are the event doors if it is about events alone, and else all.
func doorsFor(events bool) func(*testing.T, lambda.HTTPConfig, func(*testing.T, fixture, func(lambda.HTTPConfig, handling) gate)) {
	if events {
		return atEventDoors
	}
	return atEachDoor
}

func atDoor(t *testing.T, name string, c lambda.HTTPConfig, test func(*testing.T, fixture, func(lambda.HTTPConfig, handling) gate)) {
	t.Helper()
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
				return doors[name](t, f.Runner, merged, h)
			})
		})
	})
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
		events bool // of events alone
	}{
		"nothing":             {func(*call) {}, true, false},
		"member order":        {func(c *call) { c.body = `{"to":"x", "amount":5.0}` }, true, false},
		"another header":      {func(c *call) { c.header.Set("User-Agent", "other") }, true, false},
		"body":                {func(c *call) { c.body = `{"amount":6,"to":"x"}` }, false, false},
		"path":                {func(c *call) { c.path = "/payments/2" }, false, false},
		"query":               {func(c *call) { c.query = "a=1&b=3" }, false, false},
		"method":              {func(c *call) { c.method = "PATCH" }, false, false},
		"content type":        {func(c *call) { c.header.Set("Content-Type", "text/plain") }, false, false},
		"base64 of the same":  {func(c *call) { c.base64 = true }, true, true},
		"number beyond float": {func(c *call) { c.body = `{"amount":5.00000000000000000001,"to":"x"}` }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doorsFor(c.events)(t, lambda.HTTPConfig{Operation: "pay"}, func(t *testing.T, _ fixture, open func(lambda.HTTPConfig, handling) gate) {
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

// C41, C26 and the rest of what is refused before anything runs.
func TestHTTP_Refused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*call)
		config lambda.HTTPConfig
		status int
		code   string
		events bool // of events alone
	}{
		"no key":               {func(c *call) { c.header.Del("Idempotency-Key") }, lambda.HTTPConfig{}, 400, "idempotency_key_missing", false},
		"empty key":            {func(c *call) { c.header.Set("Idempotency-Key", "") }, lambda.HTTPConfig{}, 400, "idempotency_key_invalid", false},
		"blank key":            {func(c *call) { c.header.Set("Idempotency-Key", " \t") }, lambda.HTTPConfig{}, 400, "idempotency_key_invalid", false},
		"empty quoted key":     {func(c *call) { c.header.Set("Idempotency-Key", `""`) }, lambda.HTTPConfig{}, 400, "idempotency_key_invalid", false},
		"no headers":           {func(c *call) { c.header = http.Header{} }, lambda.HTTPConfig{}, 400, "idempotency_key_missing", false},
		"key taken away":       {func(*call) {}, lambda.HTTPConfig{Request: withoutKey}, 500, "idempotency_misconfigured", false},
		"long key":             {func(c *call) { c.header.Set("Idempotency-Key", strings.Repeat("k", 256)) }, lambda.HTTPConfig{}, 400, "idempotency_key_invalid", false},
		"bare key, strict":     {func(*call) {}, lambda.HTTPConfig{Strict: true}, 400, "idempotency_key_invalid", false},
		"checked key":          {func(*call) {}, lambda.HTTPConfig{CheckKey: func(string) error { return errors.New("must be a UUID") }}, 400, "idempotency_key_invalid", false},
		"old key":              {func(c *call) { c.header.Set("Idempotency-Key", "00dc6acf-ac00-7cc3-98c4-dc0c0c07398f") }, lambda.HTTPConfig{OldestKey: 24 * time.Hour}, 412, "idempotency_key_expired", false},
		"no base64":            {func(c *call) { c.base64, c.body = true, "!!" }, lambda.HTTPConfig{}, 400, "idempotency_request_unreadable", true},
		"JSON with duplicates": {func(c *call) { c.body = `{"amount":5,"amount":6}` }, lambda.HTTPConfig{}, 400, "idempotency_request_unreadable", false},
		"no caller":            {func(c *call) { c.caller = "" }, lambda.HTTPConfig{}, 500, "idempotency_misconfigured", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doorsFor(c.events)(t, c.config, func(t *testing.T, f fixture, open func(lambda.HTTPConfig, handling) gate) {
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

// withoutKey is a mistake of a user's: whatever it was, the key is gone.
func withoutKey(_ context.Context, _ *lambda.HTTPRequest, req *idempotency.Request) error {
	req.Scope, req.Key = "alice", ""
	return nil
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
		{202, replay, replay, replay},
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
				// A net/http handler's answer always has a status.
				doorsFor(c.status == 0)(t, lambda.HTTPConfig{Record: record}, func(t *testing.T, _ fixture, open func(lambda.HTTPConfig, handling) gate) {
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
