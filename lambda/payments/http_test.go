package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/lambda/payments/demo/frontdoor"
	"github.com/oncekey/oncekey/lambda/payments/internal/cardprocessor"
	"github.com/oncekey/oncekey/localtest"
)

// site is the example behind one front door.
type site struct {
	deployment
	t    *testing.T
	door frontdoor.Door
	url  string
}

func atEachFrontDoor(t *testing.T, test func(site)) {
	t.Helper()
	for _, name := range frontdoor.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(behindDoor(t, name))
		})
	}
}

func behindDoor(t *testing.T, name string, env ...string) site {
	t.Helper()
	door, err := frontdoor.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	d := deploy(t, append(env, "FRONT_DOOR="+name)...)
	return site{d, t, door, d.fn.Listen(door.FrontDoor) + "/payments"}
}

type reply struct {
	status int
	header http.Header
	body   string
}

func (s site) send(method, caller, key, body string) reply {
	s.t.Helper()
	return s.sendType("application/json", method, caller, key, body)
}

func (s site) sendType(contentType, method, caller, key, body string) reply {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set(s.door.CallerHeader, s.door.CallerPrefix+caller)
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(b)}
}

func (s site) pay(key, body string) reply {
	s.t.Helper()
	return s.send(http.MethodPost, "alice", key, body)
}

func (s site) wantCode(r reply, status int, code string) {
	s.t.Helper()
	var p struct{ Code string }
	if err := json.Unmarshal([]byte(r.body), &p); err != nil || r.status != status || p.Code != code {
		s.t.Errorf("got %d %s, want %d with %s", r.status, r.body, status, code)
	}
}

const order = `{"order":"17","amount":4990,"currency":"EUR","card":"card_visa"}`

// The story of a payment, over HTTP through each front door, with the real events in between.
func TestHTTP_Story(t *testing.T) {
	t.Parallel()
	atEachFrontDoor(t, func(s site) {
		first := s.pay("k1", order)
		if first.status != http.StatusCreated || first.body != `{"charge":"ch_1","order":"17","amount":4990,"currency":"EUR","attempt":1}` || first.header.Get("Content-Type") != "application/json" {
			s.t.Fatalf("first %+v", first)
		}
		for _, again := range []reply{s.pay("k1", order), s.pay(`"k1"`, order), s.send(http.MethodGet, "alice", "k1", "")} {
			if again.status != first.status || again.body != first.body || again.header.Get("Content-Type") != first.header.Get("Content-Type") || again.header.Get("Idempotent-Replayed") != "true" {
				s.t.Errorf("again %+v, want %+v", again, first)
			}
		}
		s.wantCode(s.pay("k1", strings.Replace(order, "4990", "1", 1)), 422, "idempotency_key_reused")
		s.wantCode(s.pay("", order), 400, "idempotency_key_missing")
		s.wantCode(s.pay("two words", order), 400, "idempotency_key_invalid")
		for range 2 { // not recorded, so without a mark
			for key, body := range map[string]string{"no JSON": "invalid_json", `{"order":"17"}`: "invalid_payment"} {
				r := s.pay(fmt.Sprint("k-", len(key)), key)
				s.wantCode(r, 400, body)
				if r.header.Get("Idempotent-Replayed") != "" {
					s.t.Errorf("a refusal was recorded: %+v", r)
				}
			}
		}
		for range 2 {
			s.wantCode(s.pay("k3", strings.Replace(order, "card_visa", cardprocessor.DeclinedCard, 1)), 402, "insufficient_funds")
		}
		s.wantCode(s.pay("k4", strings.Replace(order, "4990", "1000000", 1)), 402, "over_limit")
		s.wantCode(s.send(http.MethodGet, "bob", "k1", ""), 404, "idempotency_key_not_found")
		if other := s.send(http.MethodPost, "bob", "k1", order); other.status != http.StatusCreated || other.header.Get("Idempotent-Replayed") != "" {
			s.t.Errorf("another customer with the same key: %+v", other)
		}
		if s.cards.Charges() != 2 {
			s.t.Errorf("%d charges, want alice's and bob's", s.cards.Charges())
		}
	})
}

// Many at once: one charge, and everybody hears of it or is told to come back.
func TestHTTP_AtOnce(t *testing.T) {
	t.Parallel()
	atEachFrontDoor(t, func(s site) {
		var mu sync.Mutex
		var statuses []int
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				r := s.pay("k", order)
				mu.Lock()
				defer mu.Unlock()
				statuses = append(statuses, r.status)
				if r.status == http.StatusConflict && r.header.Get("Retry-After") == "" {
					s.t.Errorf("no Retry-After: %+v", r)
				}
			})
		}
		all.Wait()
		if slices.ContainsFunc(statuses, func(n int) bool { return n != http.StatusCreated && n != http.StatusConflict }) || s.cards.Charges() != 1 {
			s.t.Errorf("%d charges; statuses %s", s.cards.Charges(), fmt.Sprint(statuses))
		}
	})
}

// What does not count as text arrives in base64 (at a REST API only if it is set so), and is a payment all the same.
func TestHTTP_Base64(t *testing.T) {
	t.Parallel()
	atEachFrontDoor(t, func(s site) {
		r := s.sendType("application/octet-stream", http.MethodPost, "alice", "k1", order)
		if r.status != http.StatusCreated || s.cards.Charges() != 1 {
			s.t.Errorf("got %+v and %d charges, want a receipt and 1", r, s.cards.Charges())
		}
	})
}

func TestAsk_OtherMethods(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, code, allow string
		status              int
	}{
		{http.MethodPut, "method_not_allowed", "GET, HEAD, POST", http.StatusMethodNotAllowed},
		{http.MethodPatch, "method_not_allowed", "GET, HEAD, POST", http.StatusMethodNotAllowed},
		{http.MethodDelete, "method_not_allowed", "GET, HEAD, POST", http.StatusMethodNotAllowed},
	} {
		a, err := payments{}.ask(t.Context(), &lambda.HTTPRequest{Method: c.method})
		if err != nil || a.status != c.status || a.headers["Allow"] != c.allow || !strings.Contains(a.body, c.code) {
			t.Errorf("%s: %+v, %v, want %d %s, Allow: %s", c.method, a, err, c.status, c.code, c.allow)
		}
	}
}

// A refused PATCH leaves its key free for the payment.
func TestHTTP_PatchTakesNoKey(t *testing.T) {
	t.Parallel()
	s := behindDoor(t, "function-url") // has no routes, which would refuse it
	if r := s.send(http.MethodPatch, "alice", "k1", order); r.status != http.StatusMethodNotAllowed || r.header.Get("Allow") == "" {
		t.Errorf("PATCH: %+v, want 405 with Allow", r)
	}
	if r := s.pay("k1", order); r.status != http.StatusCreated {
		t.Errorf("POST with the same key: %+v, want 201", r)
	}
}

// Whoever is not named by the listener's rule alone is nobody.
func TestHTTP_ALBCallerIsOne(t *testing.T) {
	t.Parallel()
	for want, identities := range map[string][]string{"alice": {"alice"}, "": {"alice", "bob"}} {
		q := &lambda.HTTPRequest{Header: http.Header{"X-Amzn-Oidc-Identity": identities}}
		var req idempotency.Request
		if err := scopeOfALB(t.Context(), q, &req); err != nil || req.Scope != want {
			t.Errorf("%q: scope %q, %v, want %q", identities, req.Scope, err, want)
		}
	}
}

// Booking is refused when the card is charged: the outcome of this very run is unknown, and the client hears so.
func TestHTTP_RefusedBookingIsAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	s := behindDoor(t, "http-api")
	s.db.Inject(localtest.Fault{Operation: "TransactWriteItems", Kind: localtest.AccessDenied})
	for range 2 {
		s.wantCode(s.pay("k1", order), http.StatusConflict, "outcome_unknown")
	}
}

// The charge may have been made: no retry makes another one.
func TestHTTP_UnclearChargeIsNotRepeated(t *testing.T) {
	t.Parallel()
	s := behindDoor(t, "http-api", "CARD_PROCESSOR_URL=http://127.0.0.1:1")
	for range 2 {
		s.wantCode(s.pay("k1", order), http.StatusConflict, "outcome_unknown")
	}
}
