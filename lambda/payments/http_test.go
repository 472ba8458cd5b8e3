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

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/lambda/payments/internal/cardprocessor"
	"github.com/oncekey/oncekey/localtest"
)

// frontDoors are the ways in, each with who comes through it: the header Authorization is the caller's name.
var frontDoors = map[string]localtest.FrontDoor{
	"http-api": {Kind: localtest.HTTPAPI, Routes: []string{"POST /payments", "GET /payments"}, Authorize: func(r *http.Request) (localtest.Identity, error) {
		return localtest.Identity{Claims: map[string]string{"iss": "https://issuer.example", "sub": r.Header.Get("Authorization")}}, nil
	}},
	"rest-api": {Kind: localtest.RESTAPI, Routes: []string{"POST /payments", "GET /payments"}, Authorize: func(r *http.Request) (localtest.Identity, error) {
		return localtest.Identity{PrincipalID: r.Header.Get("Authorization")}, nil
	}},
	"function-url": {Kind: localtest.FunctionURL, Authorize: func(r *http.Request) (localtest.Identity, error) {
		return localtest.Identity{IAM: &events.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription{UserARN: "arn:aws:iam::000000000000:user/" + r.Header.Get("Authorization")}}, nil
	}},
	"alb": {Kind: localtest.ALB},
}

// site is the example behind one front door.
type site struct {
	deployment
	t   *testing.T
	url string
}

func atEachFrontDoor(t *testing.T, test func(site)) {
	t.Helper()
	for name, door := range frontDoors {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := deploy(t, "FRONT_DOOR="+name)
			test(site{d, t, d.fn.Listen(door) + "/payments"})
		})
	}
}

type reply struct {
	status int
	header http.Header
	body   string
}

func (s site) send(method, caller, key, body string) reply {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", caller)
	req.Header.Set("X-Amzn-Oidc-Identity", caller) // as an ALB's rule sets it
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
		if first.status != http.StatusCreated || first.body != `{"charge":"ch_1","order":"17","amount":4990,"currency":"EUR","attempt":1}` || first.header.Get("Location") != "/payments/ch_1" {
			s.t.Fatalf("first %+v", first)
		}
		for _, again := range []reply{s.pay("k1", order), s.pay(`"k1"`, order), s.send(http.MethodGet, "alice", "k1", "")} {
			if again.status != first.status || again.body != first.body || again.header.Get("Location") != "/payments/ch_1" || again.header.Get("Content-Type") != first.header.Get("Content-Type") || again.header.Get("Idempotent-Replayed") != "true" {
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
