package httpclient_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency/httpclient"
)

var uuid7 = regexp.MustCompile(`^"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"$`)

func TestRoundTrip_Key(t *testing.T) {
	t.Parallel()
	send := func(ctx context.Context, headers ...string) string {
		s := &script{answers: []answer{ok}}
		if _, err := post(ctx, t, transport(t, s), headers...); err != nil {
			t.Error(err)
		}
		return s.keys[0]
	}
	one, two := send(t.Context()), send(t.Context())
	if !uuid7.MatchString(one) || one == two {
		t.Errorf("fresh keys %s and %s", one, two)
	}
	ctx := httpclient.WithKey(t.Context(), `order "7" \ 8`)
	if got := send(ctx); got != `"order \"7\" \\ 8"` {
		t.Errorf("the context's key is sent as %s", got)
	}
	if got := send(ctx, "Idempotency-Key", "mine"); got != "mine" {
		t.Errorf("the request's own key is sent as %s", got)
	}
	s := &script{answers: []answer{ok}}
	if _, err := post(httpclient.WithKey(t.Context(), "o-7"), t, transport(t, s, func(c *httpclient.Config) { c.Unquoted = true })); err != nil || s.keys[0] != "o-7" {
		t.Errorf("unquoted: %v, %v", s.keys, err)
	}
	for _, bad := range []string{"", "caf\u00e9", "a\nb", strings.Repeat("k", 256)} {
		s := &script{answers: []answer{ok}}
		if _, err := post(httpclient.WithKey(t.Context(), bad), t, transport(t, s)); err == nil || len(s.keys) != 0 {
			t.Errorf("key %q was sent", bad)
		}
	}
}

// A request's own key is that which it would send, in whatever spelling; the same with every try.
func TestRoundTrip_OwnKey(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		own   http.Header
		fresh bool
	}{
		"one":                {http.Header{"Idempotency-Key": {"a"}}, false},
		"an empty one":       {http.Header{"Idempotency-Key": {""}}, false},
		"two":                {http.Header{"Idempotency-Key": {"a", "b"}}, false},
		"lower case":         {http.Header{"idempotency-key": {"a"}}, false},
		"upper case":         {http.Header{"IDEMPOTENCY-KEY": {"a"}}, false},
		"two spellings":      {http.Header{"Idempotency-Key": {"a"}, "idempotency-key": {"b"}}, false},
		"no values":          {http.Header{"Idempotency-Key": {}}, true},
		"nil values":         {http.Header{"Idempotency-Key": nil}, true},
		"no values, lower":   {http.Header{"idempotency-key": {}}, true},
		"no values, and one": {http.Header{"Idempotency-Key": {}, "idempotency-key": {"a"}}, false},
		"no headers at all":  {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var sent []http.Header
				s := &script{answers: []answer{reset, ok}}
				req := charge(t.Context(), t, "http://payments.example/charges")
				req.Header = c.own.Clone()
				if _, err := transport(t, roundTrip(func(r *http.Request) (*http.Response, error) {
					sent = append(sent, r.Header)
					return s.RoundTrip(r)
				})).RoundTrip(req); err != nil {
					t.Fatal(err)
				}
				if len(sent) != 2 || !reflect.DeepEqual(sent[0], sent[1]) {
					t.Fatalf("sent %v, want the same twice", sent)
				}
				if c.fresh && !uuid7.MatchString(sent[0].Get("Idempotency-Key")) {
					t.Errorf("sent %v, want a fresh key", sent[0])
				}
				if !c.fresh && !reflect.DeepEqual(sent[0], c.own) {
					t.Errorf("sent %v, want %v as it is", sent[0], c.own)
				}
				if !reflect.DeepEqual(req.Header, c.own) {
					t.Errorf("the caller's request has %v, had %v", req.Header, c.own)
				}
			})
		})
	}
}

// The caller's request is not changed, and the response tells the key.
func TestRoundTrip_LeavesTheRequest(t *testing.T) {
	t.Parallel()
	s := &script{answers: []answer{ok}}
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://x/", nil)
	resp, err := transport(t, s).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if len(req.Header) != 0 || resp.Request.Header.Get("Idempotency-Key") != s.keys[0] {
		t.Errorf("request %v, response's request %v", req.Header, resp.Request.Header)
	}
}

func TestRoundTrip_OtherMethodsPass(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"GET", "HEAD", "PUT", "DELETE", "OPTIONS"} {
		s := &script{answers: []answer{plain(503), ok}}
		req := httptest.NewRequestWithContext(t.Context(), method, "http://x/", nil)
		resp, err := transport(t, s).RoundTrip(req)
		if err != nil || resp.StatusCode != http.StatusServiceUnavailable || s.keys[0] != "" {
			t.Errorf("%s: %v, %v, key %q", method, resp.StatusCode, err, s.keys[0])
		}
	}
}

// A redirect that keeps the method is the same logical request, also behind a Base that does not say what it answers.
func TestRoundTrip_KeyOverRedirects(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		s := &script{answers: []answer{plain(status, "Location", "/v2/charges"), ok}}
		resp, err := post(t.Context(), t, transport(t, roundTrip(func(r *http.Request) (*http.Response, error) {
			resp, err := s.RoundTrip(r)
			resp.Request = nil
			return resp, err
		})))
		if err != nil || resp.StatusCode != http.StatusCreated || len(s.keys) != 2 || s.keys[0] != s.keys[1] || s.bodies[1] != "body" {
			t.Errorf("%d: %v, %v with keys %q and bodies %q", status, resp, err, s.keys, s.bodies)
		}
	}
}

// One that does not is another request.
func TestRoundTrip_SeeOther(t *testing.T) {
	t.Parallel()
	s := &script{answers: []answer{plain(http.StatusSeeOther, "Location", "/charges/7"), ok}}
	if _, err := post(t.Context(), t, transport(t, s)); err != nil || len(s.keys) != 2 || s.keys[1] != "" {
		t.Errorf("keys %q, %v", s.keys, err)
	}
}

// A key begins with the time at which it was made.
func TestNewKey_Time(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first := httpclient.NewKey()
		time.Sleep(time.Millisecond) //nolint:forbidigo // virtual
		if second := httpclient.NewKey(); second[:13] <= first[:13] || len(second) != 36 {
			t.Errorf("%s after %s", second, first)
		}
	})
}
