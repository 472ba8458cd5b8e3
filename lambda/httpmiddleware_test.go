package lambda_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
)

// served is a net/http server with the middleware before the handler, on real sockets.
func served(t *testing.T, c lambda.HTTPConfig, h http.HandlerFunc) string {
	t.Helper()
	f := newFixture(t, idempotency.Config{})
	c.Logger = slog.New(slog.DiscardHandler)
	if c.Request == nil {
		c.Request = func(_ context.Context, q *lambda.HTTPRequest, req *idempotency.Request) error {
			req.Scope = q.Header.Get("X-Session") // of the test
			return nil
		}
	}
	mux := http.NewServeMux()
	mux.Handle("POST /payments/{id}", lambda.Middleware(f.Runner, c)(h))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func send(t *testing.T, url, body string) reaction {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Idempotency-Key", "k")
	req.Header.Set("X-Session", "alice")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reaction{status: resp.StatusCode, header: resp.Header, body: string(b)}
}

func TestMiddleware_Replay(t *testing.T) {
	t.Parallel()
	runs := 0
	url := served(t, lambda.HTTPConfig{}, func(w http.ResponseWriter, r *http.Request) {
		runs++
		b, err := io.ReadAll(r.Body)
		if err != nil || string(b) != "5" || r.PathValue("id") != "17" {
			t.Errorf("body %q, %v; id %q", b, err, r.PathValue("id"))
		}
		if idempotency.AttemptFrom(r.Context()) == nil {
			t.Error("no attempt")
		}
		w.Header()["Link"] = []string{"<a>", "<b>, <c>"}
		w.Header().Set("Set-Cookie", "s=1")
		w.WriteHeader(http.StatusCreated)
		w.Header().Set("Late", "ignored")
		_, _ = w.Write([]byte{'<', 0xff, 0, '>'})
	})
	first, again := send(t, url+"/payments/17", "5"), send(t, url+"/payments/17", "5")
	for _, r := range []reaction{first, again} {
		if r.status != http.StatusCreated || r.body != "<\xff\x00>" || strings.Join(r.header["Link"], "|") != "<a>|<b>, <c>" || r.header.Get("Late") != "" {
			t.Errorf("got %+v", r)
		}
	}
	if first.header.Get("Content-Type") != again.header.Get("Content-Type") {
		t.Errorf("content types %q and %q", first.header.Get("Content-Type"), again.header.Get("Content-Type"))
	}
	if first.header.Get("Set-Cookie") == "" || again.header.Get("Set-Cookie") != "" || again.header.Get("Idempotent-Replayed") != "true" || runs != 1 {
		t.Errorf("first %v, again %v, %d runs", first.header, again.header, runs)
	}
	wantProblem(t, send(t, url+"/payments/17", "6"), http.StatusUnprocessableEntity, "idempotency_key_reused", false)
	wantProblem(t, send(t, url+"/payments/18", "5"), http.StatusUnprocessableEntity, "idempotency_key_reused", false)
}

// A panic closes the connection, as without the middleware, and leaves the outcome unknown.
func TestMiddleware_Panic(t *testing.T) {
	t.Parallel()
	url := served(t, lambda.HTTPConfig{}, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/payments/1", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Idempotency-Key": {"k"}, "X-Session": {"alice"}}
	// Not the default client: net/http's own transport sends a request with the header again if its connection breaks.
	if resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req); err == nil {
		_ = resp.Body.Close()
		t.Errorf("status %d", resp.StatusCode)
	}
	wantProblem(t, send(t, url+"/payments/1", ""), http.StatusConflict, "outcome_unknown", false)
}

// net/http's transport sends a request with an Idempotency-Key again when a kept connection breaks: one charge.
func TestMiddleware_ResentByTheTransport(t *testing.T) {
	t.Parallel()
	runs := 0
	url := served(t, lambda.HTTPConfig{}, func(http.ResponseWriter, *http.Request) { runs++ })
	for range 2 { // the first one leaves a kept connection
		if r := send(t, url+"/payments/1", "5"); r.status != http.StatusOK {
			t.Errorf("got %+v", r)
		}
		http.DefaultClient.CloseIdleConnections()
	}
	if runs != 1 {
		t.Errorf("%d runs", runs)
	}
}

func TestMiddleware_Refuses(t *testing.T) {
	t.Parallel()
	handler := func(http.ResponseWriter, *http.Request) { t.Error("it ran") }
	url := served(t, lambda.HTTPConfig{Reused: 400}, handler)
	wantProblem(t, send(t, url+"/payments/1", ""), http.StatusInternalServerError, "idempotency_misconfigured", false)
	url = served(t, lambda.HTTPConfig{}, handler)
	wantProblem(t, send(t, url+"/payments/1", strings.Repeat("x", 10<<20+1)), http.StatusRequestEntityTooLarge, "idempotency_request_unreadable", false)
	url = served(t, lambda.HTTPConfig{Request: func(context.Context, *lambda.HTTPRequest, *idempotency.Request) error {
		return errors.New("no session")
	}}, handler)
	if r := send(t, url+"/payments/1", ""); r.status != http.StatusInternalServerError || strings.Contains(r.body, "session") {
		t.Errorf("got %+v", r)
	}
}

// What takes no key goes through as it is: streams, and bodies of any size.
func TestMiddleware_PassesOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	server := httptest.NewServer(lambda.Middleware(f.Runner, lambda.HTTPConfig{Operation: "pay"})(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil || n != 11<<20 {
			t.Errorf("%d bytes, %v", n, err)
		}
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
	})))
	t.Cleanup(server.Close)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server.URL, strings.NewReader(strings.Repeat("x", 11<<20)))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", resp, err)
	}
	_ = resp.Body.Close()
}

// One middleware serves several handlers, also after one that was none.
func TestMiddleware_SeveralHandlers(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	middleware := lambda.Middleware(f.Runner, lambda.HTTPConfig{Operation: "pay", Logger: slog.New(slog.DiscardHandler)})
	for want, next := range map[int]http.Handler{http.StatusInternalServerError: nil, http.StatusOK: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})} {
		h := middleware(next)
		middleware(nil)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		if w.Code != want {
			t.Errorf("status %d, want %d", w.Code, want)
		}
	}
}

// Headers that a handler before the middleware has set: those after it may add to them or take them away, and a replay has
// what the first answer had.
func TestMiddleware_OuterHeaders(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	inner := lambda.Middleware(f.Runner, lambda.HTTPConfig{Operation: "pay", Request: global})(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Vary", "Accept")
		w.Header().Del("X-Frame-Options")
		w.WriteHeader(http.StatusCreated)
	}))
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Origin")
		w.Header().Set("X-Frame-Options", "DENY")
		w.Header().Set("X-Request-Id", r.Header.Get("X-Request-Id"))
		inner.ServeHTTP(w, r)
	})
	for i, frame := range []string{"", "DENY"} {
		id := fmt.Sprint("r", i)
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
		req.Header = http.Header{"Idempotency-Key": {"k"}, "X-Request-Id": {id}}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		got := w.Header()
		if w.Code != http.StatusCreated || strings.Join(got["Vary"], ", ") != "Origin, Accept" || got.Get("X-Frame-Options") != frame || got.Get("X-Request-Id") != id {
			t.Errorf("answer %d: status %d, headers %v", i, w.Code, got)
		}
	}
}

func global(_ context.Context, _ *lambda.HTTPRequest, req *idempotency.Request) error {
	req.Scope = idempotency.GlobalScope
	return nil
}

// The first answer and its replay have a content type where net/http would find one, and none where not.
func TestMiddleware_ContentType(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  func(http.Header)
		want string
	}{
		"found":      {func(http.Header) {}, "text/html; charset=utf-8"},
		"said":       {func(h http.Header) { h.Set("Content-Type", "text/x-own") }, "text/x-own"},
		"suppressed": {func(h http.Header) { h["Content-Type"] = nil }, ""},
		"compressed": {func(h http.Header) { h.Set("Content-Encoding", "own") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := served(t, lambda.HTTPConfig{}, func(w http.ResponseWriter, _ *http.Request) {
				c.set(w.Header())
				_, _ = w.Write([]byte("<html>"))
			})
			for range 2 {
				if r := send(t, url+"/payments/1", ""); r.status != http.StatusOK || r.header.Get("Content-Type") != c.want {
					t.Errorf("got %+v, want %q", r, c.want)
				}
			}
		})
	}
}

// A status that is none panics, as in net/http, and is not recorded as an answer.
func TestMiddleware_NoStatus(t *testing.T) {
	t.Parallel()
	for _, status := range []int{0, 99, 1000} {
		f := newFixture(t, idempotency.Config{})
		h := lambda.Middleware(f.Runner, lambda.HTTPConfig{Operation: "pay", Request: global, Logger: slog.New(slog.DiscardHandler)})(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
		}))
		ask := func() (w *httptest.ResponseRecorder, panicked any) {
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
			req.Header.Set("Idempotency-Key", "k")
			w = httptest.NewRecorder()
			defer func() { panicked = recover() }()
			h.ServeHTTP(w, req)
			return w, nil
		}
		if _, panicked := ask(); panicked == nil {
			t.Errorf("%d: no panic", status)
		}
		w, _ := ask()
		wantProblem(t, reaction{status: w.Code, header: w.Header(), body: w.Body.String()}, http.StatusConflict, "outcome_unknown", false)
	}
}

// A pattern that stands for many paths does not name an operation.
func TestMiddleware_CatchAllPattern(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]int{"/": 500, "POST /": 500, "POST /p/": 500, "/p/{rest...}": 500, "POST /p/{id}": 200, "/p/{id}": 200} {
		f := newFixture(t, idempotency.Config{})
		mux := http.NewServeMux()
		mux.Handle(pattern, lambda.Middleware(f.Runner, lambda.HTTPConfig{Request: global, Logger: slog.New(slog.DiscardHandler)})(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/p/1", http.NoBody)
		req.Header.Set("Idempotency-Key", "k")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, req)
		if w.Code != want {
			t.Errorf("%q: %d %s, want %d", pattern, w.Code, w.Body, want)
		}
	}
}
