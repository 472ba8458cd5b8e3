package httpclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

var _ http.RoundTripper = (*Transport)(nil)

// RoundTrip implements [http.RoundTripper]. The response's Request has the key that was sent. A request by a scheme of
// the Base's own, neither http nor https, gets its key and is tried once.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	key, keyed, err := t.keyFor(req)
	if err == nil && keyed {
		err = check(req)
	}
	if err != nil {
		closeBody(req)
		return nil, err
	}
	if !keyed {
		return send(t.cfg.Base, req)
	}
	ctx, began := req.Context(), startOf(req)
	last := began.Add(t.cfg.Budget)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(last) {
		last = deadline
	}
	one := attempt(req, key, began)
	for try := 0; ; try++ {
		resp, err := send(t.cfg.Base, one)
		after, again := verdict(ctx, resp, err, try)
		// Only of HTTP is it known which errors can pass: another scheme is the Base's own.
		if !again || ctx.Err() != nil || !overHTTP(req.URL) {
			return resp, err
		}
		wait := after + backoff(try)
		if time.Now().Add(wait).After(last) {
			return resp, err
		}
		if over := t.pause(ctx, wait, resp); over != nil {
			return nil, fmt.Errorf("httpclient: %w, in the pause after try %d: %w", over, try+1, outcome(resp, err))
		}
		// By the calendar, as the server counts: the process may have been frozen, or its machine, and the monotonic
		// clock with it.
		if took := time.Now().Round(0).Sub(began); took >= t.cfg.Window {
			return nil, fmt.Errorf("httpclient: %v since the first try, must be less than Config.Window, %v, to try again after try %d: %w",
				took, t.cfg.Window, try+1, outcome(resp, err))
		}
		one = attempt(req, key, began)
		if hasBody(req) { // Base closes the first one
			body, failed := req.GetBody()
			if failed != nil {
				return nil, fmt.Errorf("httpclient: GetBody of the request: %w, after try %d: %w", failed, try+1, outcome(resp, err))
			}
			one.Body = body
		}
	}
}

// outcome is what came of a try, for an error's text.
func outcome(resp *http.Response, err error) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
}

type startKey struct{}

// startOf is when the logical request began: a redirect goes on with what the request before it has left of the budget.
func startOf(req *http.Request) time.Time {
	if req.Response != nil && req.Response.Request != nil {
		if began, ok := req.Response.Request.Context().Value(startKey{}).(time.Time); ok {
			return began
		}
	}
	return time.Now()
}

// attempt is one try: a copy with the key, since a RoundTripper must not change its request.
func attempt(req *http.Request, key string, began time.Time) *http.Request {
	one := req.Clone(context.WithValue(req.Context(), startKey{}, began))
	if one.Header == nil {
		one.Header = http.Header{}
	}
	if key != "" {
		one.Header.Set(header, key)
	}
	return one
}

var errNeither = errors.New("httpclient: Config.Base returned neither a response nor an error")

// send is a try of the Base, held to what http.RoundTripper promises: a response or an error, never both. It knows the
// request that it answers, by which a redirect finds its key, and has a body.
func send(base http.RoundTripper, one *http.Request) (*http.Response, error) {
	resp, err := base.RoundTrip(one)
	switch {
	case err != nil:
		if resp != nil && resp.Body != nil {
			_ = resp.Body.Close() // nobody else will
		}
		return nil, err
	case resp == nil:
		return nil, errNeither
	}
	if resp.Request == nil {
		resp.Request = one
	}
	if resp.Body == nil {
		resp.Body = http.NoBody
	}
	return resp, nil
}
