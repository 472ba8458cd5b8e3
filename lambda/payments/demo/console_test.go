package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oncekey/oncekey/localtest"
)

// visitor is a test's browser, without a page.
type visitor struct {
	t   *testing.T
	url string
}

func visit(t *testing.T) visitor {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the function")
	}
	return visitor{t, regexp.MustCompile(`console.*(http://[^/]+)/`).FindStringSubmatch(served(t, "http-api"))[1]}
}

func (v visitor) ask(method, path string, headers ...string) (status int, header http.Header, body []byte) {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), method, v.url+path, strings.NewReader(order))
	if err != nil {
		v.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	if host := req.Header.Get("Host"); host != "" {
		req.Host = host
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if body, err = io.ReadAll(resp.Body); err != nil {
		v.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, body
}

// press returns what the client got.
func (v visitor) press(action string) string {
	v.t.Helper()
	status, _, body := v.ask(http.MethodPost, "/console/"+action)
	var e exchange
	v.read(body, &e)
	if (status == http.StatusOK) != (e.Error == "") {
		v.t.Errorf("%s: %d with the error %q", action, status, e.Error)
	}
	text := e.Error
	for _, g := range e.Got {
		text += fmt.Sprintf("%d x %s; ", g.Times, g.Says)
	}
	return strings.TrimSuffix(text, "; ")
}

func (v visitor) state() (s state) {
	v.t.Helper()
	status, _, body := v.ask(http.MethodGet, "/console/state")
	if status != http.StatusOK {
		v.t.Fatalf("the state: %d %s", status, body)
	}
	v.read(body, &s)
	return s
}

func (v visitor) read(text []byte, into any) {
	v.t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		v.t.Fatalf("%v: %s", err, text)
	}
}

// Each button, in a row: what the client gets, and what there is afterwards.
func TestConsole_Buttons(t *testing.T) {
	t.Parallel()
	v := visit(t)
	for i, c := range []struct {
		action, gets                         string
		charges, rows, records, before, lost int // before: leases to wait for; lost: replies so far
	}{
		{"again", "nothing was paid with the key console-1 yet: Pay comes first", 0, 0, 0, 0, 0},
		{"pay", "1 x " + receipt("ch_1", 1), 1, 1, 1, 0, 0},
		{"again", "1 x " + receipt("ch_1", 1) + ", replayed", 1, 1, 1, 0, 0},
		{"amount", "1 x 422 idempotency_key_reused", 1, 1, 1, 0, 0},
		{"pay", "1 x " + receipt("ch_2", 1), 2, 2, 2, 0, 0}, // with a key of its own
		{"key", "1 x the client's next payment has the key console-3", 2, 2, 2, 0, 0},
		{"amount", "nothing was paid with the key console-3 yet: Pay comes first", 2, 2, 2, 0, 0},
		{"flood", "1 x " + receipt("ch_3", 1) + "; 49 x " + inProgress, 3, 3, 3, 0, 0},
		{"lose-acquire", "1 x " + receipt("ch_4", 1), 4, 4, 4, 0, 1},
		{"lose-commit", "1 x " + receipt("ch_5", 1), 5, 5, 5, 0, 2},
		{"kill", "1 x " + functionDied, 6, 5, 6, 0, 2},
		{"again", "1 x " + inProgress, 6, 5, 6, 0, 2},
		{"reconcile", "1 x nothing to settle: no lease has ended without an outcome", 6, 5, 6, 0, 2},
		{"again", "1 x " + unknown, 6, 5, 6, 1, 2},
		{"reconcile", "1 x 1 completed", 6, 6, 6, 0, 2},
		{"again", "1 x " + receipt("ch_6", 1) + ", replayed", 6, 6, 6, 0, 2},
	} {
		if c.before > 0 {
			v.awaitLease()
		}
		if gets := v.press(c.action); gets != c.gets {
			t.Errorf("%d. %s: the client gets %q, want %q", i, c.action, gets, c.gets)
		}
		s := v.state()
		lost := 0
		for _, call := range s.Calls {
			if call.Err == localtest.ReplyLost.String() {
				lost++
			}
		}
		got := []int{s.Charged, len(s.Charges), s.Booked, len(s.Ledger), len(s.Records), lost}
		want := []int{c.charges, c.charges, c.rows, c.rows, c.records, c.lost}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%d. %s: charges %d (shown %d), rows %d (%d), records %d, replies lost %d; want %v",
				i, c.action, got[0], got[1], got[2], got[3], got[4], got[5], want)
		}
	}
}

// awaitLease waits until the newest record's lease has run down.
func (v visitor) awaitLease() {
	v.t.Helper()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	last := (serveTimeout + 3*time.Second).Seconds()
	for giveUp := time.Now().Add(2 * serveTimeout); time.Now().Before(giveUp); <-again.C {
		left := v.state().Records[0].LeaseLeft
		if left == nil || *left > last {
			v.t.Fatalf("the lease has %v s left, after %v s", left, last)
		}
		if last = *left; last < 0 {
			return
		}
	}
	v.t.Fatalf("the lease still has %v s", last)
}

// The calls are shown with what each was billed.
func TestConsole_Bill(t *testing.T) {
	t.Parallel()
	localtest.OnlyEmbedded(t, "the bill")
	v := visit(t)
	v.press("pay")
	v.press("again")
	var units []float64
	for _, c := range v.state().Calls {
		units = append(units, c.Read, c.Write)
	}
	if want := []float64{0, 1, 0, 8, 0, 1, 1, 0, 1, 0, 0, 1}; !slices.Equal(units, want) {
		t.Errorf("read and write units by call are %v, want %v", units, want)
	}
}

func TestConsole_State(t *testing.T) {
	t.Parallel()
	v := visit(t)
	if _, header, body := v.ask(http.MethodGet, "/console/state"); strings.Contains(string(body), "null") || header.Get("Content-Type") != "application/json" {
		t.Errorf("before anything: %s %s, want JSON with lists", header.Get("Content-Type"), body)
	}
	v.press("pay")
	v.press("again")
	v.state()
	s := v.state() // which does not show what the first one has read
	if r := s.Records[0]; !regexp.MustCompile(`^create-payment#[0-9a-f]{64}$`).MatchString(r.ID) || r.Status != "COMPLETED" || r.Attempt != 1 ||
		r.LeaseLeft != nil || r.Ref != "order 17" || time.Until(r.WindowEnd) < 23*time.Hour {
		t.Errorf("the record is %+v", r)
	}
	if text := fmt.Sprintf("%+v", s.Records); strings.Contains(text, s.Key) {
		t.Errorf("the key %s is in the records: %s", s.Key, text)
	}
	if l := s.Ledger[0]; l != (ledgerRow{s.Charges[0].ID, "17", 4990, "EUR", 1}) {
		t.Errorf("the ledger has %+v for %+v", l, s.Charges[0])
	}
	if e := s.Exchanges[0]; e.What != "Pay again" || e.Number != 2 || !e.Got[0].Replayed || e.Got[0].Status != http.StatusCreated || !strings.HasPrefix(e.Got[0].Body, `{"charge":"ch_1"`) {
		t.Errorf("the newest exchange is %+v", e)
	}
	want := []callRow{
		{Operation: "PutItem", Table: "records", Err: "ConditionalCheckFailedException"},
		{Operation: "TransactWriteItems", Table: "records,ledger", Applied: true},
		{Operation: "UpdateItem", Table: "records", Applied: true},
		{Operation: "GetItem", Table: "ledger", Applied: true},
		{Operation: "GetItem", Table: "ledger", Applied: true},
		{Operation: "PutItem", Table: "records", Applied: true},
	}
	for i := range s.Calls {
		s.Calls[i].Read, s.Calls[i].Write = 0, 0 // these are another test's
	}
	if !slices.Equal(s.Calls, want) { // and none of the console's own
		t.Errorf("the calls are\n%v, want\n%v", s.Calls, want)
	}
}

// The console has "/" and what is below "/console/"; the front door answers the rest as if there were none.
func TestConsole_Paths(t *testing.T) {
	t.Parallel()
	v := visit(t)
	alice := []string{"Authorization", "Bearer alice", "Idempotency-Key", "k1", "Content-Type", "application/json"}
	for _, c := range []struct {
		method, path string
		headers      []string
		status       int
		has          string
	}{
		{http.MethodGet, "/", nil, http.StatusOK, "<title>oncekey console</title>"},
		{http.MethodPost, "/", alice, http.StatusNotFound, `{"message":"Not Found"}`}, // the gateway's own
		{http.MethodGet, "/console", alice, http.StatusNotFound, `{"message":"Not Found"}`},
		{http.MethodPost, "/payments", alice, http.StatusCreated, `{"charge":"ch_1"`},
		{http.MethodPost, "/console/bribe", nil, http.StatusNotFound, `{"error":"there is no action \"bribe\""}`},
		{http.MethodGet, "/console/pay", nil, http.StatusMethodNotAllowed, ""},
		{http.MethodPost, "/console/pay/more", nil, http.StatusNotFound, ""},
		{http.MethodPost, "/console/pay", []string{"Origin", "http://shop.example"}, http.StatusForbidden, "another origin"},
		{http.MethodPost, "/console/pay", []string{"Host", "rebound.example"}, http.StatusForbidden, "by the address"},
		{http.MethodGet, "/console/state", []string{"Host", "rebound.example"}, http.StatusForbidden, "by the address"},
		{http.MethodGet, "/", []string{"Host", "rebound.example"}, http.StatusForbidden, "by the address"},
	} {
		status, _, body := v.ask(c.method, c.path, c.headers...)
		if status != c.status || !strings.Contains(string(body), c.has) {
			t.Errorf("%s %s %v: %d %.100s, want %d and %q", c.method, c.path, c.headers, status, body, c.status, c.has)
		}
	}
	if s := v.state(); s.Charged != 1 {
		t.Errorf("%d charges, want the front door's alone", s.Charged)
	}
}
