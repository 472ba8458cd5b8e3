package httpclient_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/oncekey/oncekey/idempotency/httpclient"
)

// script is a server that gives its answers one after the other, the last one for ever. It is for one request at a time.
type script struct {
	answers []answer

	keys, bodies []string
	times        []time.Time
	given        []*tracked // the bodies of its answers
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
	given := &tracked{Reader: strings.NewReader(a.body)}
	s.given = append(s.given, given)
	return &http.Response{StatusCode: a.status, Header: header, Body: given, ContentLength: int64(len(a.body)), Request: r}, nil
}

// tracked is a body that counts how often it is closed.
type tracked struct {
	io.Reader
	closed int
}

func (b *tracked) Close() error { b.closed++; return nil }

// roundTrip is a server that is a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

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
	ok     = plain(http.StatusCreated)
	reset  = failed(syscall.ECONNRESET)
	errEnd = errors.New("closing")
)

func failed(err error) answer {
	return answer{err: &url.Error{Op: "Post", URL: "http://x", Err: err}}
}

func transport(t *testing.T, base http.RoundTripper, change ...func(*httpclient.Config)) *httpclient.Transport {
	t.Helper()
	cfg := httpclient.Config{Base: base}
	for _, f := range change {
		f(&cfg)
	}
	tr, err := httpclient.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func charge(ctx context.Context, t *testing.T, target string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func post(ctx context.Context, t *testing.T, rt http.RoundTripper, headers ...string) (*http.Response, error) {
	t.Helper()
	req := charge(ctx, t, "http://payments.example/charges")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return (&http.Client{Transport: rt}).Do(req)
}
