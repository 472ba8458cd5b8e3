package httpclient_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency/httpclient"
)

// A body that can be read once is refused before anything is sent.
func TestRoundTrip_BodyOnce(t *testing.T) {
	t.Parallel()
	s := &script{answers: []answer{ok}}
	body := &tracked{Reader: bytes.NewReader([]byte("x"))}
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://x/", nil)
	req.Body, req.GetBody = body, nil
	if _, err := transport(t, s).RoundTrip(req); !errors.Is(err, httpclient.ErrBody) || len(s.keys) != 0 || body.closed != 1 {
		t.Errorf("%v after %d tries; closed %d times", err, len(s.keys), body.closed)
	}
}

// A body that cannot be had for another try ends it, and the error tells what came of the tries before.
func TestRoundTrip_GetBodyFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []answer{plain(503)}}
		req := charge(t.Context(), t, "http://x/")
		req.GetBody = func() (io.ReadCloser, error) { return nil, errEnd }
		resp, err := transport(t, s).RoundTrip(req)
		if !errors.Is(err, errEnd) || !strings.Contains(err.Error(), "GetBody") || !strings.HasSuffix(err.Error(), "after try 1: answered 503 Service Unavailable") {
			t.Errorf("got %v, %v", resp, err)
		}
		if len(s.keys) != 1 || s.given[0].closed == 0 {
			t.Errorf("%d tries; the answer was closed %d times", len(s.keys), s.given[0].closed)
		}
	})
}

// A request without a body has none in any try, whatever its GetBody would give.
func TestRoundTrip_NoBody(t *testing.T) {
	t.Parallel()
	for _, none := range []io.ReadCloser{nil, http.NoBody} {
		synctest.Test(t, func(t *testing.T) {
			s := &script{answers: []answer{reset, ok}}
			req := charge(t.Context(), t, "http://x/")
			req.Body, req.ContentLength = none, 0
			if _, err := transport(t, s).RoundTrip(req); err != nil || strings.Join(s.bodies, "") != "" || len(s.bodies) != 2 {
				t.Errorf("bodies %q, %v", s.bodies, err)
			}
		})
	}
}

// A Base that breaks the contract of RoundTripper: both answers, or none.
func TestRoundTrip_ResponseAndError(t *testing.T) {
	t.Parallel()
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		synctest.Test(t, func(t *testing.T) {
			var given []*tracked
			req := charge(t.Context(), t, "http://x/")
			req.Method = method
			resp, err := transport(t, roundTrip(func(*http.Request) (*http.Response, error) {
				given = append(given, &tracked{Reader: strings.NewReader("")})
				return &http.Response{StatusCode: http.StatusOK, Body: given[len(given)-1]}, errEnd
			})).RoundTrip(req)
			if resp != nil || !errors.Is(err, errEnd) {
				t.Errorf("%s: got %v, %v, want the error alone", method, resp, err)
			}
			if method == http.MethodPost && len(given) < 2 {
				t.Errorf("%d tries, want more", len(given))
			}
			for i, body := range given {
				if body.closed != 1 {
					t.Errorf("%s: answer %d was closed %d times", method, i, body.closed)
				}
			}
		})
	}
}

func TestRoundTrip_NeitherResponseNorError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := post(t.Context(), t, transport(t, roundTrip(func(*http.Request) (*http.Response, error) { return nil, nil }))) //nolint:nilnil // the defect
		if err == nil || !strings.Contains(err.Error(), "Config.Base returned neither") || time.Since(began) != 0 {
			t.Errorf("got %v after %v", err, time.Since(began))
		}
	})
}

// A panic of the Base is the caller's, and the Transport goes on.
func TestRoundTrip_BasePanics(t *testing.T) {
	t.Parallel()
	s := &script{answers: []answer{ok}}
	tr := transport(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.Header.Get("Panic") != "" {
			panic(errEnd)
		}
		return s.RoundTrip(r)
	}))
	func() {
		defer func() {
			if got := recover(); got != errEnd { //nolint:errorlint // the very value
				t.Errorf("recovered %v, want what the Base panicked with", got)
			}
		}()
		_, _ = post(t.Context(), t, tr, "Panic", "yes")
	}()
	if _, err := post(t.Context(), t, tr); err != nil {
		t.Error(err)
	}
}

// stalling is a body of which nothing comes until it is closed.
type stalling struct {
	closed chan struct{}
	once   sync.Once
}

func (s *stalling) Read([]byte) (int, error) { <-s.closed; return 0, io.ErrClosedPipe }

func (s *stalling) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

func stalled(kind string) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		body := &stalling{closed: make(chan struct{})}
		return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{"Content-Type": {kind}}, ContentLength: -1, Body: body, Request: r}, nil
	})
}

// A body that never ends holds up nothing: a problem document is read for 5 seconds, what is dropped for the pause.
func TestRoundTrip_StalledAnswer(t *testing.T) {
	t.Parallel()
	for kind, most := range map[string]time.Duration{"text/plain": time.Minute, "application/problem+json": time.Minute + 5*time.Second} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			resp, err := post(t.Context(), t, transport(t, stalled(kind)))
			if err != nil || resp.StatusCode != http.StatusServiceUnavailable || time.Since(began) > most {
				t.Errorf("%s: %v, %v after %v", kind, resp, err, time.Since(began))
			}
			_ = resp.Body.Close()
		})
	}
}

// Nor is the context waited out: while a problem document is read, the answer comes back, and the rest of its body is
// the context's error; while a dropped answer is read, it is the pause that ends.
func TestRoundTrip_StalledAnswerAndContext(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"text/plain", "application/problem+json"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(10*time.Millisecond, func() { cancel(errEnd) })
			began := time.Now()
			// Not by http.Client, which would close the body for its own reasons.
			s := stalled(kind)
			resp, err := transport(t, roundTrip(func(r *http.Request) (*http.Response, error) {
				resp, err := s.RoundTrip(r)
				resp.Header.Set("Retry-After", "1")
				return resp, err
			})).RoundTrip(charge(ctx, t, "http://x/"))
			if took := time.Since(began); took != 10*time.Millisecond {
				t.Errorf("%s: it took %v", kind, took)
			}
			if err == nil {
				_, err = io.ReadAll(resp.Body)
			} else if kind != "text/plain" {
				t.Errorf("%s: got %v, want the answer", kind, err)
			}
			if !errors.Is(err, context.Canceled) || !errors.Is(err, errEnd) {
				t.Errorf("%s: got %v, want the context's error", kind, err)
			}
		})
	}
}

// What is dropped is read to its end if that is near, so that its connection can be used again, and not if it is far.
func TestRoundTrip_Drains(t *testing.T) {
	t.Parallel()
	const maxDrain = 4 << 10
	for name, c := range map[string]struct {
		size   int
		length int64
		want   int // how much is read
		end    bool
	}{
		"short":              {100, 100, 100, true},
		"short, not told":    {100, -1, 100, true},
		"the most":           {maxDrain, maxDrain, maxDrain, true},
		"too long":           {maxDrain + 1, maxDrain + 1, 0, false},
		"too long, not told": {1 << 20, -1, maxDrain + 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var first *counted
				tries := 0
				_, err := post(t.Context(), t, transport(t, roundTrip(func(r *http.Request) (*http.Response, error) {
					tries++
					if tries > 1 {
						return (&script{answers: []answer{ok}}).RoundTrip(r)
					}
					first = &counted{left: c.size}
					return &http.Response{StatusCode: http.StatusBadGateway, Body: first, ContentLength: c.length}, nil
				})))
				if err != nil || first.read != c.want || first.end != c.end || !first.closed {
					t.Errorf("%v; %+v, want %d bytes read and its end seen: %v", err, first, c.want, c.end)
				}
			})
		})
	}
}

// counted is a body that knows how much of it was read, and whether to the end.
type counted struct {
	left, read  int
	end, closed bool
}

func (c *counted) Read(p []byte) (int, error) {
	if c.left == 0 {
		c.end = true
		return 0, io.EOF
	}
	n := min(len(p), c.left)
	c.left, c.read = c.left-n, c.read+n
	return n, nil
}

func (c *counted) Close() error { c.closed = true; return nil }
