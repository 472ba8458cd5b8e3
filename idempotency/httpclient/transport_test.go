package httpclient_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency/httpclient"
)

// script is a server that gives its answers one after the other, the last one for ever.
type script struct {
	answers []answer

	keys, bodies []string
	times        []time.Time
}

type answer struct {
	status  int
	headers http.Header
	body    string
	err     error
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
		_ = r.Body.Close()
	}
	s.keys = append(s.keys, r.Header.Get("Idempotency-Key"))
	s.bodies = append(s.bodies, string(body))
	s.times = append(s.times, time.Now())
	a := s.answers[min(len(s.keys), len(s.answers))-1]
	if a.err != nil {
		return nil, a.err
	}
	header := a.headers.Clone()
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{StatusCode: a.status, Header: header, Body: io.NopCloser(strings.NewReader(a.body)), Request: r}, nil
}

func problem(status int, code string, headers ...string) answer {
	h := http.Header{"Content-Type": {"application/problem+json; charset=utf-8"}}
	for i := 0; i < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return answer{status: status, headers: h, body: `{"title":"t","code":"` + code + `"}`}
}

func plain(status int, headers ...string) answer {
	a := problem(status, "", headers...)
	a.headers.Set("Content-Type", "text/plain")
	a.body = "plain"
	return a
}

var (
	ok    = plain(http.StatusCreated)
	reset = answer{err: &url.Error{Op: "Post", URL: "http://x", Err: syscall.ECONNRESET}}
)

func transport(t *testing.T, s http.RoundTripper, change ...func(*httpclient.Config)) *httpclient.Transport {
	t.Helper()
	cfg := httpclient.Config{Base: s}
	for _, f := range change {
		f(&cfg)
	}
	tr, err := httpclient.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func post(ctx context.Context, t *testing.T, rt http.RoundTripper, headers ...string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://payments.example/charges", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return (&http.Client{Transport: rt}).Do(req)
}

// Every row of the package comment's table: the answer, and how many tries it takes to get another one.
func TestRoundTrip_AsksAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first answer
		again bool
	}{
		"reset":                 {reset, true},
		"broken off":            {answer{err: io.ErrUnexpectedEOF}, true},
		"untrusted certificate": {answer{err: &url.Error{Op: "Post", URL: "x", Err: &tls.CertificateVerificationError{Err: errors.New("unknown authority")}}}, false},
		"200":                   {plain(200), false},
		"201":                   {plain(201), false},
		"400":                   {plain(400), false},
		"400 key missing":       {problem(400, "idempotency_key_missing"), false},
		"401":                   {plain(401), false},
		"402":                   {plain(402), false},
		"404":                   {plain(404), false},
		"408":                   {plain(408), true},
		"409":                   {plain(409), false},
		"409 in progress":       {problem(409, "operation_in_progress", "Retry-After", "1"), true},
		"409 not yet":           {plain(409, "Retry-After", "1"), true},
		"409 unknown":           {problem(409, "outcome_unknown", "Retry-After", "1"), false},
		"412 expired":           {problem(412, "idempotency_key_expired"), false},
		"422 reused":            {problem(422, "idempotency_key_reused"), false},
		"425":                   {plain(425), true},
		"429":                   {plain(429), true},
		"500":                   {plain(500), true},
		"500 not recorded":      {problem(500, "outcome_not_recorded"), false},
		"500 replayed":          {plain(500, "Idempotent-Replayed", "true"), false},
		"500 unreadable":        {problem(500, "outcome_unreadable"), false},
		"500 misconfigured":     {problem(500, "idempotency_misconfigured"), false},
		"500 other code":        {problem(500, "database_down"), true},
		"501":                   {plain(501), false},
		"502":                   {plain(502), true},
		"503 unavailable":       {problem(503, "idempotency_unavailable", "Retry-After", "1"), true},
		"504":                   {plain(504), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &script{answers: []answer{c.first, ok}}
				resp, err := post(t.Context(), t, transport(t, s))
				want, tries := c.first, 1
				if c.again {
					want, tries = ok, 2
				}
				if len(s.keys) != tries {
					t.Fatalf("%d tries, want %d", len(s.keys), tries)
				}
				if want.err != nil {
					if !errors.Is(err, errors.Unwrap(want.err)) {
						t.Errorf("error %v, want %v", err, want.err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				if err != nil || resp.StatusCode != want.status || string(body) != want.body {
					t.Errorf("got %d %q, %v; want %d %q", resp.StatusCode, body, err, want.status, want.body)
				}
				for i := range s.keys {
					if s.keys[i] == "" || s.keys[i] != s.keys[0] || s.bodies[i] != "body" {
						t.Errorf("try %d had key %s and body %q", i, s.keys[i], s.bodies[i])
					}
				}
			})
		})
	}
}

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

// A body that can be read once is refused before anything is sent.
func TestRoundTrip_BodyOnce(t *testing.T) {
	t.Parallel()
	s := &script{answers: []answer{ok}}
	closed := &closing{Reader: bytes.NewReader([]byte("x"))}
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://x/", nil)
	req.Body, req.GetBody = closed, nil
	if _, err := transport(t, s).RoundTrip(req); !errors.Is(err, httpclient.ErrBody) || len(s.keys) != 0 || !closed.closed {
		t.Errorf("%v after %d tries; closed %v", err, len(s.keys), closed.closed)
	}
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }

// How long it waits: as the server says, else with growing jitter; and when it gives up.
func TestRoundTrip_Waits(t *testing.T) {
	t.Parallel()
	t.Run("as the server says", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			date := time.Now().Add(8 * time.Second).UTC().Format(http.TimeFormat)
			s := &script{answers: []answer{plain(503, "Retry-After", "3"), plain(503, "Retry-After", date), ok}}
			if _, err := post(t.Context(), t, transport(t, s)); err != nil {
				t.Fatal(err)
			}
			if first, second := s.times[1].Sub(s.times[0]), s.times[2].Sub(s.times[0]); first != 3*time.Second || second < 8*time.Second || second > 9*time.Second {
				t.Errorf("tried again after %v and %v, want 3s and 8s", first, second)
			}
		})
	})
	t.Run("until the budget is used up", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := &script{answers: []answer{plain(503)}}
			began := time.Now()
			resp, err := post(t.Context(), t, transport(t, s))
			if err != nil || resp.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("got %v, %v, want the last answer", resp, err)
			}
			if took := time.Since(began); took > time.Minute || took < 30*time.Second || len(s.keys) < 10 || len(s.keys) > 200 {
				t.Errorf("%d tries in %v", len(s.keys), took)
			}
		})
	})
	t.Run("not longer than the context", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := &script{answers: []answer{plain(503, "Retry-After", "20")}}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			began := time.Now()
			resp, err := post(ctx, t, transport(t, s))
			if err != nil || resp.StatusCode != http.StatusServiceUnavailable || len(s.keys) != 1 || time.Since(began) != 0 {
				t.Errorf("got %v, %v after %d tries and %v", resp, err, len(s.keys), time.Since(began))
			}
		})
	})
	t.Run("not for a wait beyond all bounds", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			for _, after := range []string{"3600", "2147483648", "99999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"} {
				s := &script{answers: []answer{plain(503, "Retry-After", after)}}
				if resp, err := post(t.Context(), t, transport(t, s)); err != nil || resp.StatusCode != http.StatusServiceUnavailable || len(s.keys) != 1 {
					t.Errorf("%s: %v, %v after %d tries", after, resp, err, len(s.keys))
				}
			}
		})
	})
	t.Run("not for a body that never ends", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			stalled := stalling{}
			for _, kind := range []string{"text/plain", "application/problem+json"} {
				began := time.Now()
				base := roundTrip(func(r *http.Request) (*http.Response, error) {
					return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{"Content-Type": {kind}}, Body: stalled.open(), Request: r}, nil
				})
				resp, err := post(t.Context(), t, transport(t, base))
				if err != nil || resp.StatusCode != http.StatusServiceUnavailable || time.Since(began) > 2*time.Minute {
					t.Errorf("%s: %v, %v after %v", kind, resp, err, time.Since(began))
				}
			}
		})
	})
	t.Run("until it is cancelled", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := &script{answers: []answer{plain(503, "Retry-After", "20")}}
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(errors.New("closing")) })
			if _, err := post(ctx, t, transport(t, s)); err == nil || !strings.Contains(err.Error(), "closing") || len(s.keys) != 1 {
				t.Errorf("got %v after %d tries", err, len(s.keys))
			}
		})
	})
}

func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]httpclient.Config{
		"Config.Window is -1s":  {Window: -time.Second},
		"Config.Budget is -1s":  {Budget: -time.Second},
		"Config.Budget is 24h0": {Budget: 24 * time.Hour},
		"Config.Budget is 1h0":  {Window: time.Hour, Budget: time.Hour},
	} {
		_, err := httpclient.New(cfg)
		if _, typed := errors.AsType[*httpclient.ConfigError](err); !typed || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := httpclient.New(httpclient.Config{Window: time.Second}); err != nil {
		t.Errorf("a short window without a budget: %v", err)
	}
}

// On real sockets: a broken connection, a redirect with the method kept, and one key over all of it.
func TestRoundTrip_OverSockets(t *testing.T) {
	t.Parallel()
	var tries atomic.Int32
	keys := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if string(body) != "body" {
			t.Errorf("body %q", body)
		}
		keys <- r.Header.Get("Idempotency-Key")
		switch n := tries.Add(1); {
		case n == 1:
			panic(http.ErrAbortHandler)
		case r.URL.Path == "/charges":
			http.Redirect(w, r, "/v2/charges", http.StatusPermanentRedirect)
		default:
			w.WriteHeader(http.StatusCreated)
		}
	}))
	t.Cleanup(server.Close)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/charges", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	resp, err := (&http.Client{Transport: transport(t, base)}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	close(keys)
	first := <-keys
	for key := range keys {
		if key != first || key == "" {
			t.Errorf("keys %s and %s", first, key)
		}
	}
	if resp.StatusCode != http.StatusCreated || tries.Load() < 3 {
		t.Errorf("%d after %d tries", resp.StatusCode, tries.Load())
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// stalling is a body of which nothing comes until it is closed.
type stalling struct {
	closed chan struct{}
	once   *sync.Once
}

func (s stalling) open() io.ReadCloser { return stalling{make(chan struct{}), &sync.Once{}} }

func (s stalling) Read([]byte) (int, error) { <-s.closed; return 0, io.ErrClosedPipe }

func (s stalling) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// What no try can mend is tried once; two keys of the request's own both go out, for the server to refuse.
func TestRoundTrip_Once(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		for _, target := range []string{"ftp://payments.example/", "http:///charges"} {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader("body"))
			if err != nil {
				t.Fatal(err)
			}
			if resp, err := transport(t, http.DefaultTransport).RoundTrip(req); err == nil {
				_ = resp.Body.Close()
				t.Errorf("%s: an answer", target)
			}
		}
		if time.Since(began) != 0 {
			t.Errorf("it took %v", time.Since(began))
		}
		var seen []string
		base := roundTrip(func(r *http.Request) (*http.Response, error) {
			seen = r.Header.Values("Idempotency-Key")
			return (&script{answers: []answer{ok}}).RoundTrip(r)
		})
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://x/", nil)
		req.Header["Idempotency-Key"] = []string{"a", "b"}
		if _, err := transport(t, base).RoundTrip(req); err != nil || len(seen) != 2 {
			t.Errorf("keys %v, %v", seen, err)
		}
	})
}

// A redirect goes on with what is left of the budget.
func TestRoundTrip_BudgetOverRedirects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		base := roundTrip(func(r *http.Request) (*http.Response, error) {
			n++
			status, h := http.StatusServiceUnavailable, http.Header{"Retry-After": {"20"}}
			if n%2 == 0 {
				status, h = http.StatusTemporaryRedirect, http.Header{"Location": {"http://payments.example/again"}}
			}
			return &http.Response{StatusCode: status, Header: h, Body: http.NoBody, Request: r}, nil
		})
		began := time.Now()
		resp, err := post(t.Context(), t, transport(t, base))
		if err != nil || resp.StatusCode != http.StatusServiceUnavailable || time.Since(began) > time.Minute {
			t.Errorf("%v, %v after %v", resp, err, time.Since(began))
		}
	})
}
