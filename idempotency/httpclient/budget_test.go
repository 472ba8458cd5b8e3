package httpclient_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency/httpclient"
)

// The pauses are drawn from the whole of intervals that double from 100 milliseconds to 10 seconds.
func TestRoundTrip_Jitter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const requests, pauses = 300, 12
		var spread [pauses][10]int // of each pause, how many were in which tenth of its interval
		for range requests {
			s := &script{answers: []answer{plain(503)}}
			if _, err := post(t.Context(), t, transport(t, s, func(c *httpclient.Config) { c.Budget = 2 * time.Minute })); err != nil {
				t.Fatal(err)
			}
			for try := range pauses {
				whole := min(10*time.Second, 100*time.Millisecond<<try)
				pause := s.times[try+1].Sub(s.times[try])
				if pause < 0 || pause >= whole {
					t.Fatalf("pause %d is %v, must be below %v", try, pause, whole)
				}
				spread[try][pause*10/whole]++
			}
		}
		for try, tenths := range spread {
			for i, n := range tenths {
				// 30 are to be expected, with a deviation of 5.
				if n < 3 || n > 90 {
					t.Errorf("pause %d: %d of %d in tenth %d: %v", try, n, requests, i, tenths)
				}
			}
		}
	})
}

// Retry-After is the least that is waited; the jitter comes on top, since all clients are told the same.
func TestRoundTrip_RetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
		for after, want := range map[string]time.Duration{
			"3": 3 * time.Second, "0": 0, in(8 * time.Second): 8 * time.Second,
			// Of no use, or in the past: as if it were not there.
			"-5": 0, "-99999999999999999999": 0, "soon": 0, "1.5": 0, "": 0, in(-time.Hour): 0,
		} {
			seen := map[time.Duration]bool{}
			for range 20 {
				began := time.Now()
				s := &script{answers: []answer{plain(503, "Retry-After", after), ok}}
				if after == in(8*time.Second) || strings.HasSuffix(after, "GMT") {
					s.answers[0] = plain(503, "Retry-After", in(want))
				}
				if _, err := post(t.Context(), t, transport(t, s)); err != nil {
					t.Fatal(err)
				}
				waited := s.times[1].Sub(began)
				// A date has whole seconds.
				if waited < want-time.Second || !strings.HasSuffix(after, "GMT") && waited < want || waited >= want+100*time.Millisecond {
					t.Errorf("Retry-After %s: waited %v, want %v and less than 100ms", after, waited, want)
				}
				seen[waited] = true
			}
			if len(seen) < 10 {
				t.Errorf("Retry-After %s: waited %v, want different times", after, seen)
			}
		}
	})
}

// A wait beyond all bounds is not waited; the answer comes back as it came.
func TestRoundTrip_RetryAfterTooLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, after := range []string{"3600", "2147483647", "2147483648", "99999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"} {
			s := &script{answers: []answer{plain(503, "Retry-After", after)}}
			for range 20 {
				if resp, err := post(t.Context(), t, transport(t, s)); err != nil || resp.StatusCode != http.StatusServiceUnavailable {
					t.Errorf("%s: %v, %v", after, resp, err)
				}
			}
			if len(s.keys) != 20 {
				t.Errorf("%s: %d tries of 20 requests", after, len(s.keys))
			}
		}
	})
}

// The budget is from the start of the first try to the start of the last; then the last answer comes back, unread.
func TestRoundTrip_Budget(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]answer{"an answer": plain(503), "no answer": reset} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &script{answers: []answer{last}}
				slow := roundTrip(func(r *http.Request) (*http.Response, error) {
					time.Sleep(7 * time.Second) //nolint:forbidigo // virtual
					return s.RoundTrip(r)
				})
				began := time.Now()
				resp, err := post(t.Context(), t, transport(t, slow))
				if last.err != nil && !errors.Is(err, syscall.ECONNRESET) || last.err == nil && (err != nil || resp.StatusCode != last.status) {
					t.Errorf("got %v, %v, want the last", resp, err)
				}
				if start := s.times[len(s.times)-1].Add(-7 * time.Second).Sub(began); start > time.Minute || start < 40*time.Second {
					t.Errorf("the last of %d tries started after %v", len(s.keys), start)
				}
				for i, body := range s.given {
					if closed := body.closed > 0; closed != (i < len(s.given)-1) {
						t.Errorf("answer %d of %d: closed %v", i+1, len(s.given), closed)
					}
				}
			})
		})
	}
}

// A redirect goes on with what is left of the budget.
func TestRoundTrip_BudgetOverRedirects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		base := roundTrip(func(*http.Request) (*http.Response, error) {
			n++
			status, h := http.StatusServiceUnavailable, http.Header{"Retry-After": {"20"}}
			if n%2 == 0 {
				status, h = http.StatusTemporaryRedirect, http.Header{"Location": {"http://payments.example/again"}}
			}
			return &http.Response{StatusCode: status, Header: h}, nil // it says neither Body nor Request
		})
		began := time.Now()
		resp, err := post(t.Context(), t, transport(t, base))
		if err != nil || resp.StatusCode != http.StatusServiceUnavailable || time.Since(began) > time.Minute {
			t.Errorf("%v, %v after %v", resp, err, time.Since(began))
		}
	})
}

// A deadline that the next try would miss ends it at once, with the last answer: also the deadline of http.Client.
func TestRoundTrip_Deadline(t *testing.T) {
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
		client := &http.Client{Transport: transport(t, s), Timeout: 10 * time.Second}
		resp, err = client.Do(charge(t.Context(), t, "http://payments.example/charges"))
		if err != nil || resp.StatusCode != http.StatusServiceUnavailable || len(s.keys) != 2 || time.Since(began) != 0 {
			t.Fatalf("got %v, %v after %d tries and %v", resp, err, len(s.keys)-1, time.Since(began))
		}
		_ = resp.Body.Close()
	})
}

// quiet is a context that does not tell its deadline.
type quiet struct{ context.Context } //nolint:containedctx // it is one

func (quiet) Deadline() (time.Time, bool) { return time.Time{}, false }

// A context that ends in a pause gives its own error, its cause, and what came of the last try.
func TestRoundTrip_ContextEndsInPause(t *testing.T) {
	t.Parallel()
	cancelled := func(ctx context.Context) (context.Context, func()) {
		ctx, cancel := context.WithCancelCause(ctx)
		time.AfterFunc(time.Second, func() { cancel(errEnd) })
		return ctx, func() { cancel(nil) }
	}
	expired := func(ctx context.Context) (context.Context, func()) {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		return quiet{ctx}, cancel
	}
	for name, c := range map[string]struct {
		with func(context.Context) (context.Context, func())
		last answer
		is   []error
		says string
	}{
		"cancelled":              {cancelled, plain(503, "Retry-After", "20"), []error{context.Canceled, errEnd}, "context canceled (closing), in the pause after try 1: answered 503 Service Unavailable"},
		"expired":                {expired, plain(503, "Retry-After", "20"), []error{context.DeadlineExceeded}, "context deadline exceeded, in the pause after try 1: answered 503 "},
		"cancelled, no answer":   {cancelled, reset, []error{context.Canceled, errEnd, syscall.ECONNRESET}, "connection reset"},
		"cancelled, in progress": {cancelled, problem(409, "operation_in_progress", "Retry-After", "9"), []error{context.Canceled}, "answered 409 Conflict"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &script{answers: []answer{c.last}}
				ctx, cancel := c.with(t.Context())
				defer cancel()
				began := time.Now()
				_, err := post(ctx, t, transport(t, s))
				for _, want := range c.is {
					if !errors.Is(err, want) {
						t.Errorf("got %v, want %v", err, want)
					}
				}
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("got %v, want %s", err, c.says)
				}
				if took := time.Since(began); took != time.Second {
					t.Errorf("it took %v", took)
				}
				for _, body := range s.given {
					if body.closed == 0 {
						t.Error("the last answer was not closed")
					}
				}
			})
		})
	}
}
