package lambda_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
)

// broken is a connection that breaks off.
type broken struct{}

func (broken) Read([]byte) (int, error) {
	return 0, &net.OpError{Op: "read", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 3, 7)}, Err: errors.New("i/o timeout")}
}

func TestMiddleware_BodyBreaksOff(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	var log strings.Builder
	h := lambda.Middleware(f.Runner, lambda.HTTPConfig{Operation: "pay", Request: global, Logger: slog.New(slog.NewTextHandler(&log, nil))})(
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it ran") }))
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", io.MultiReader(bytes.NewReader([]byte("x")), broken{}))
	req.Header.Set("Idempotency-Key", "k")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	wantProblem(t, reaction{status: w.Code, header: w.Header(), body: w.Body.String()}, http.StatusRequestTimeout, "idempotency_request_unreadable", false)
	if strings.Contains(w.Body.String(), "10.0.3.7") || !strings.Contains(log.String(), "10.0.3.7") {
		t.Errorf("client %s; log %s", w.Body, &log)
	}
}

// A request without a key is refused before its body is read.
func TestMiddleware_ReadsNoBodyWithoutAKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	h := lambda.Middleware(f.Runner, lambda.HTTPConfig{Operation: "pay", Request: global})(http.NotFoundHandler())
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", broken{}))
	wantProblem(t, reaction{status: w.Code, header: w.Header(), body: w.Body.String()}, 400, "idempotency_key_missing", false)
}

// As net/http has it: nothing can be written after 204 and 304, and the answer has no content type.
func TestMiddleware_NoBodyAllowed(t *testing.T) {
	t.Parallel()
	url := served(t, lambda.HTTPConfig{}, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
		if _, err := w.Write([]byte("x")); !errors.Is(err, http.ErrBodyNotAllowed) {
			t.Errorf("written: %v", err)
		}
	})
	for range 2 {
		if r := send(t, url+"/payments/1", ""); r.status != http.StatusNoContent || r.header.Get("Content-Type") != "" || r.body != "" {
			t.Errorf("got %+v", r)
		}
	}
}

// What a handler before the middleware has read is no longer there to tell two requests apart.
func TestMiddleware_BodyReadBefore(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		contentType, body string
		before            func(*http.Request)
		want              int
	}{
		"body":                {"application/json", `{"amount":5}`, func(r *http.Request) { _, _ = io.ReadAll(r.Body) }, 500},
		"form":                {"application/x-www-form-urlencoded", "amount=5", func(r *http.Request) { _ = r.FormValue("csrf") }, 500},
		"a form that is none": {"application/json", `{"amount":5}`, func(r *http.Request) { _ = r.FormValue("csrf") }, 200},
		"nothing":             {"application/json", `{"amount":5}`, func(*http.Request) {}, 200},
		"of nothing":          {"application/json", "", func(r *http.Request) { _, _ = io.ReadAll(r.Body) }, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, idempotency.Config{})
			h := lambda.Middleware(f.Runner, lambda.HTTPConfig{Operation: "pay", Request: global, Logger: slog.New(slog.DiscardHandler)})(
				http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					if b, err := io.ReadAll(r.Body); err != nil || string(b) != c.body {
						t.Errorf("body %q, %v", b, err)
					}
				}))
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(c.body))
			req.Header = http.Header{"Content-Type": {c.contentType}, "Idempotency-Key": {"k"}}
			c.before(req)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, req)
			if w.Code != c.want {
				t.Errorf("status %d %s, want %d", w.Code, w.Body, c.want)
			}
		})
	}
}

// Two handlers below other prefixes are not one, though http.StripPrefix makes their URLs alike.
func TestMiddleware_StripPrefix(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	runs := 0
	h := lambda.Middleware(f.Runner, lambda.HTTPConfig{Operation: "pay", Request: global})(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { runs++ }))
	mux := http.NewServeMux()
	mux.Handle("/a/", http.StripPrefix("/a", h))
	mux.Handle("/b/", http.StripPrefix("/b", h))
	ask := func(path string) reaction {
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, http.NoBody)
		req.Header.Set("Idempotency-Key", "k")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, req)
		return reaction{status: w.Code, header: w.Header(), body: w.Body.String()}
	}
	for range 2 {
		if r := ask("/a/pay?x=1"); r.status != 200 {
			t.Errorf("got %+v", r)
		}
	}
	wantProblem(t, ask("/b/pay?x=1"), 422, "idempotency_key_reused", false)
	if runs != 1 {
		t.Errorf("%d runs", runs)
	}
}

// The files of a multipart form go when the handler has ended, as net/http sees to without the middleware.
func TestMiddleware_MultipartFiles(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	var file string
	h := lambda.Middleware(f.Runner, lambda.HTTPConfig{Operation: "pay", Request: global})(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if err := r.ParseMultipartForm(1); err != nil {
			t.Error(err)
			return
		}
		part, err := r.MultipartForm.File["scan"][0].Open()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = part.Close() }()
		on, ok := part.(*os.File)
		if !ok {
			t.Errorf("the part is a %T", part)
			return
		}
		file = on.Name()
	}))
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("scan", "scan.png")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write(make([]byte, 11<<10)); err != nil {
		t.Fatal(err)
	}
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", &body)
	req.Header = http.Header{"Content-Type": {form.FormDataContentType()}, "Idempotency-Key": {"k"}}
	h.ServeHTTP(httptest.NewRecorder(), req)
	if _, err := os.Stat(file); file == "" || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file %q is still there: %v", file, err)
	}
}

// A record of a handler of another kind under the same operation is no answer: it is refused, not handed out as one.
func TestHTTP_RecordOfAnotherKind(t *testing.T) {
	t.Parallel()
	for name, open := range doors {
		f := newFixture(t, idempotency.Config{})
		req := idempotency.Request{Operation: "pay", Scope: idempotency.GlobalScope, Key: "k", Input: idempotency.AnyInput}
		_, err := idempotency.Do(t.Context(), f.Runner, req, func(context.Context) (map[string]string, error) { return map[string]string{"charge": "ch_1"}, nil })
		if err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		c := lambda.HTTPConfig{Operation: "pay", Lookup: true, Request: global, Logger: slog.New(slog.NewTextHandler(&log, nil))}
		g := open(t, f.Runner, c, func(context.Context, *lambda.HTTPRequest) (reaction, error) { return created(1), nil })
		wantProblem(t, must(t, g, pay("k").with(func(c *call) { c.method, c.body = "GET", "" })), 500, "outcome_unreadable", false)
		if !strings.Contains(log.String(), "share an operation") || !strings.Contains(log.String(), "record pay#") {
			t.Errorf("%s: log %s", name, &log)
		}
	}
}

// Headers of a handler before the middleware are each request's own: a replay has those of its own request.
func TestMiddleware_OuterHeadersAreNotRecorded(t *testing.T) {
	t.Parallel()
	f := newFixture(t, idempotency.Config{})
	inner := lambda.Middleware(f.Runner, lambda.HTTPConfig{Operation: "pay", Request: global})(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/1")
	}))
	for _, origin := range []string{"https://a.example", "https://b.example"} {
		w := httptest.NewRecorder()
		w.Header().Set("Access-Control-Allow-Origin", origin)
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody)
		req.Header.Set("Idempotency-Key", "k")
		inner.ServeHTTP(w, req)
		if got := w.Header(); got.Get("Access-Control-Allow-Origin") != origin || got.Get("Location") != "/1" {
			t.Errorf("%s: %v", origin, got)
		}
	}
}
