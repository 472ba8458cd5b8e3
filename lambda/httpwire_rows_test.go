package lambda_test

import (
	"encoding/json"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/oncekey/oncekey/localtest"
)

// paying is a request for the order, with its name as the key.
func paying(order string, e errand) call {
	e.Order = order
	body, err := json.Marshal(e)
	if err != nil { // strings and numbers
		panic(err)
	}
	return pay(order).with(func(c *call) { c.body = string(body) })
}

func lookingUp(c call) call { return c.with(func(c *call) { c.method, c.body = "GET", "" }) }

// gatewayGivesUp is the one row that not every door has.
const gatewayGivesUp = "gateway-gives-up"

// wireRows are the contract's, each with an order of its own: they come one after another at each door.
var wireRows = []struct {
	order string
	test  func(t *testing.T, w *wire, order string)
}{
	{"refused", refusedOverTheWire},
	{"reused", func(t *testing.T, w *wire, order string) {
		ask(t, w.url, paying(order, errand{}))
		wantProblem(t, ask(t, w.url, paying(order, errand{Size: 1})), 422, "idempotency_key_reused", false)
		w.wantRuns(t, order, 1)
	}},
	{"replay", func(t *testing.T, w *wire, order string) {
		wantReplay(t, w, order, paying(order, errand{}), 201)
	}},
	{"declined", func(t *testing.T, w *wire, order string) {
		wantReplay(t, w, order, paying(order, errand{Status: 402}), 402)
	}},
	{"draw", func(t *testing.T, w *wire, order string) {
		c := paying(order, errand{Then: "draw"}).with(func(c *call) {
			c.body += "\xff\x00"
			c.header.Set("Content-Type", "application/octet-stream")
			c.header.Set("Accept", "application/octet-stream")
		})
		if first := wantReplay(t, w, order, c, 201); first.body != string(drawing()) {
			t.Errorf("the answer is %q", first.body)
		}
		wantProblem(t, ask(t, w.url, c.with(func(c *call) { c.body += "\xfe" })), 422, "idempotency_key_reused", false)
	}},
	{"look-up", func(t *testing.T, w *wire, order string) {
		c := paying(order, errand{})
		wantProblem(t, ask(t, w.url, lookingUp(c)), 404, "idempotency_key_not_found", false)
		first := ask(t, w.url, c)
		wantSame(t, ask(t, w.url, lookingUp(c)), first)
		head := ask(t, w.url, lookingUp(c).with(func(c *call) { c.method = "HEAD" }))
		if head.status != 201 || head.header.Get("Idempotent-Replayed") != "true" || head.header.Get("Location") != first.header.Get("Location") || head.body != "" {
			t.Errorf("HEAD got %+v", head)
		}
		wantProblem(t, ask(t, w.url, lookingUp(c).with(func(c *call) { c.caller = "bob" })), 404, "idempotency_key_not_found", false)
		w.wantRuns(t, order, 1)
	}},
	{"at-work", func(t *testing.T, w *wire, order string) {
		c := paying(order, errand{})
		wait, release := w.hold(t, order)
		first := sends(t, w.url, c)
		wait()
		wantProblem(t, ask(t, w.url, c), 409, "operation_in_progress", true)
		wantProblem(t, ask(t, w.url, lookingUp(c)), 409, "operation_in_progress", true)
		wantProblem(t, ask(t, w.url, paying(order, errand{Size: 1})), 422, "idempotency_key_reused", false) // C12
		release()
		answer := <-first
		wantSame(t, ask(t, w.url, c), answer)
		w.wantRuns(t, order, 1)
	}},
	{"lease-lost", func(t *testing.T, w *wire, order string) { // C03
		c := paying(order, errand{}).with(func(c *call) { c.header.Set("X-Rerun", "1") })
		wait, release := w.hold(t, order)
		first := sends(t, w.url, c)
		wait()
		winner := ask(t, w.late, c)
		if winner.status != 201 || winner.header.Get("Idempotent-Replayed") != "" {
			t.Errorf("the one that took over got %+v", winner)
		}
		release()
		wantSame(t, <-first, winner)
		w.wantRuns(t, order, 2)
	}},
	{"lost-track", func(t *testing.T, w *wire, order string) {
		wantUnknown(t, w.url, paying(order, errand{Then: "lose track"}))
		w.wantRuns(t, order, 1)
	}},
	{"no-answer-behind", func(t *testing.T, w *wire, order string) {
		wantUnknown(t, w.url, paying(order, errand{Status: 504}))
		w.wantRuns(t, order, 1)
	}},
	{"unavailable", func(t *testing.T, w *wire, order string) { // C40
		for n := range 2 {
			if r := ask(t, w.url, paying(order, errand{Status: 503})); r.status != 503 || r.header.Get("Idempotent-Replayed") != "" || r.header.Get("Set-Cookie") == "" {
				t.Errorf("got %+v", r)
			}
			w.wantRuns(t, order, n+1)
		}
	}},
	{"fails", func(t *testing.T, w *wire, order string) {
		for n := range 2 {
			if r := ask(t, w.url, paying(order, errand{Then: "fail"})); r.status != w.failed() {
				t.Errorf("got %+v", r)
			}
			w.wantRuns(t, order, n+1)
		}
	}},
	{"large", func(t *testing.T, w *wire, order string) { // C33
		c := paying(order, errand{Size: 500 << 10})
		first, again := ask(t, w.url, c), ask(t, w.url, c)
		if first.status != 201 || len(first.body) < 500<<10 {
			t.Errorf("got %d with %d bytes", first.status, len(first.body))
		}
		if again.status != 201 || again.body != first.body || again.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("the replay: %d with %d bytes", again.status, len(again.body))
		}
		w.wantRuns(t, order, 1)
	}},
	{"not-recorded", func(t *testing.T, w *wire, order string) { // C18
		t.Cleanup(w.db.ClearFaults) // also if this row fails
		w.db.Inject(localtest.Fault{Operation: "UpdateItem", Kind: localtest.AccessDenied, Times: -1})
		wantProblem(t, ask(t, w.url, paying(order, errand{})), 500, "outcome_not_recorded", false)
		w.db.ClearFaults()
		wantProblem(t, ask(t, w.url, paying(order, errand{})), 409, "operation_in_progress", true)
		w.wantRuns(t, order, 1)
	}},
	{"table-down", func(t *testing.T, w *wire, order string) { // C15
		t.Cleanup(w.db.ClearFaults)
		w.db.Inject(localtest.Fault{Kind: localtest.RequestLost, Times: -1})
		wantProblem(t, ask(t, w.url, paying(order, errand{})), 503, "idempotency_unavailable", true)
		wantProblem(t, ask(t, w.url, lookingUp(paying(order, errand{}))), 503, "idempotency_unavailable", true)
		w.db.ClearFaults()
		w.wantRuns(t, order, 0)
		if r := ask(t, w.url, paying(order, errand{})); r.status != 201 {
			t.Errorf("got %+v", r)
		}
	}},
	{"re-sent", reSentByTheTransport},
	{gatewayGivesUp, func(t *testing.T, w *wire, order string) { // C50
		hasty := w.door
		hasty.IntegrationTimeout = time.Second
		c := paying(order, errand{})
		wait, release := w.hold(t, order)
		first := sends(t, w.fn.Listen(hasty), c)
		wait()
		if r := <-first; r.status != http.StatusGatewayTimeout && r.status != http.StatusServiceUnavailable || strings.Contains(r.body, "code") {
			t.Errorf("got %+v", r)
		}
		wantProblem(t, ask(t, w.url, c), 409, "operation_in_progress", true)
		release()
		r := ask(t, w.url, c)
		for end := time.Now().Add(longEnough); r.status == 409 && time.Now().Before(end); r = ask(t, w.url, c) {
			runtime.Gosched()
		}
		if r.status != 201 || r.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("the retry got %+v", r)
		}
		w.wantRuns(t, order, 1)
	}},
	{"panics", func(t *testing.T, w *wire, order string) {
		if r := ask(t, w.url, paying(order, errand{Then: "panic"})); r.status != w.failed() {
			t.Errorf("got %+v", r)
		}
		wantProblem(t, ask(t, w.url, paying(order, errand{Then: "panic"})), 409, "outcome_unknown", false)
		w.wantRuns(t, order, 1)
	}},
	{"killed", func(t *testing.T, w *wire, order string) { // C09
		wait, _ := w.hold(t, order)
		first := sends(t, w.url, paying(order, errand{}))
		wait()
		w.fn.Kill()
		if r := <-first; r.status != w.failed() {
			t.Errorf("got %+v", r)
		}
		wantProblem(t, ask(t, w.url, paying(order, errand{})), 409, "operation_in_progress", true)
		wantUnknown(t, w.late, paying(order, errand{}))
		w.wantRuns(t, order, 1)
	}},
}

// Every row of the contract over real HTTP, through each front door.
func TestWire(t *testing.T) {
	t.Parallel()
	for name := range wireDoors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t, name)
			for _, row := range wireRows {
				if row.order == gatewayGivesUp && w.door.Kind != localtest.RESTAPI && w.door.Kind != localtest.HTTPAPI {
					continue // a function URL and an ALB wait for as long as the function may run
				}
				t.Run(row.order, func(t *testing.T) { row.test(t, w, row.order) })
			}
		})
	}
}

// What is refused before anything is asked of the table.
func refusedOverTheWire(t *testing.T, w *wire, order string) {
	t.Helper()
	w.db.ResetCalls()
	for name, c := range map[string]struct {
		change func(*call)
		status int
		code   string
	}{
		"no key":      {func(c *call) { c.header.Del("Idempotency-Key") }, 400, "idempotency_key_missing"},
		"two words":   {func(c *call) { c.header.Set("Idempotency-Key", "two words") }, 400, "idempotency_key_invalid"},
		"empty":       {func(c *call) { c.header.Set("Idempotency-Key", "") }, 400, "idempotency_key_invalid"},
		"no ASCII":    {func(c *call) { c.header.Set("Idempotency-Key", "clé") }, 400, "idempotency_key_invalid"},
		"no string":   {func(c *call) { c.header.Set("Idempotency-Key", `"unclosed`) }, 400, "idempotency_key_invalid"},
		"a list":      {func(c *call) { c.header.Set("Idempotency-Key", `"a", "b"`) }, 400, "idempotency_key_invalid"},
		"256 bytes":   {func(c *call) { c.header.Set("Idempotency-Key", strings.Repeat("k", 256)) }, 400, "idempotency_key_invalid"},
		"of 2022":     {func(c *call) { c.header.Set("Idempotency-Key", "017f22e2-79b0-7cc3-98c4-dc0c0c07398f") }, 412, "idempotency_key_expired"},
		"no caller":   {func(c *call) { c.caller = "" }, 500, "idempotency_misconfigured"},
		"two members": {func(c *call) { c.body = `{"order":"a","order":"b"}` }, 400, "idempotency_request_unreadable"},
	} {
		r := ask(t, w.url, paying(order, errand{}).with(c.change))
		wantProblem(t, r, c.status, c.code, false)
		if strings.Contains(r.body, "HTTPConfig") || t.Failed() {
			t.Fatalf("%s: got %+v", name, r)
		}
	}
	w.wantRuns(t, order, 0)
	if calls := w.db.Calls(""); len(calls) != 0 {
		t.Errorf("%d calls to the table", len(calls))
	}
	// Of two headers an ALB hands over the last one only, unless it is set to all.
	two := ask(t, w.url, paying(order, errand{}).with(func(c *call) { c.header["Idempotency-Key"] = []string{"a", "b"} }))
	if w.door.Kind == localtest.ALB && !w.door.MultiValueHeaders {
		if two.status != 201 {
			t.Errorf("two keys: %+v", two)
		}
	} else {
		wantProblem(t, two, 400, "idempotency_key_invalid", false)
	}
}

// C38, C39: the same status, bytes and headers, without what is the first caller's own; the key in each of its forms.
func wantReplay(t *testing.T, w *wire, order string, c call, status int) reaction {
	t.Helper()
	first := ask(t, w.url, c)
	if first.status != status || first.header.Get("Set-Cookie") == "" || first.header.Get("Idempotent-Replayed") != "" || first.header.Get("X-Request-Id") != "r1" {
		t.Errorf("the first answer: %+v", first)
	}
	for _, key := range []string{order, `"` + order + `"`, `"` + order + `";v=1`} {
		wantSame(t, ask(t, w.url, c.with(func(c *call) { c.header.Set("Idempotency-Key", key) })), first)
	}
	w.wantRuns(t, order, 1)
	return first
}

func wantSame(t *testing.T, replay, first reaction) {
	t.Helper()
	if replay.status != first.status || replay.body != first.body || replay.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("replay %d %v %q, want that of %d %q", replay.status, replay.header, replay.body, first.status, first.body)
	}
	for _, name := range []string{"Content-Type", "Location", "Etag", "Link"} {
		got, want := replay.header.Values(name), first.header.Values(name)
		if strings.Join(got, "|") != strings.Join(want, "|") || len(want) == 0 {
			t.Errorf("%s %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"Set-Cookie", "X-Request-Id"} {
		if replay.header.Get(name) != "" {
			t.Errorf("%s was replayed", name)
		}
	}
}

// wantUnknown: of this very run, if there is one, and found.
func wantUnknown(t *testing.T, url string, c call) {
	t.Helper()
	for range 2 {
		r := ask(t, url, c)
		wantProblem(t, r, 409, "outcome_unknown", false)
		if r.header.Get("Set-Cookie") != "" {
			t.Errorf("the handler's answer is in %+v", r)
		}
	}
	wantProblem(t, ask(t, url, lookingUp(c)), 409, "outcome_unknown", false)
}
