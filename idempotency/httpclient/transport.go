package httpclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"
)

// Defaults of [Config].
const (
	DefaultWindow = 24 * time.Hour
	DefaultBudget = time.Minute
)

const (
	firstDelay = 100 * time.Millisecond
	maxDelay   = 10 * time.Second
)

// Config is what a [Transport] is made with. The zero value is ready to use.
type Config struct {
	// Base makes the single tries. Default: http.DefaultTransport, which waits for an answer as long as the context
	// lets it; set ResponseHeaderTimeout of a transport of your own to try again sooner.
	Base http.RoundTripper

	// Window is how long the server keeps a key, as its documentation states. Default: 24 hours.
	Window time.Duration

	// Budget is how long one request is tried, from its first try to the start of its last. It must be shorter than
	// Window: a try after that would be a new request to the server. Default: 1 minute.
	Budget time.Duration

	// Methods are those that get a key and are tried again. Default: POST and PATCH. A request of another method passes
	// through as it is, unless it has a key.
	Methods []string

	// Unquoted sends a key without the quotation marks that the draft wants, for servers that take these for a part of
	// the key, such as Stripe's. This module's servers take both forms for the same key.
	Unquoted bool
}

// ConfigError says which setting cannot be right.
type ConfigError struct{ Field, Value, Rule string }

func (e *ConfigError) Error() string {
	return fmt.Sprintf("httpclient: Config.%s is %s: %s", e.Field, e.Value, e.Rule)
}

// Transport is an [http.RoundTripper] that tries again. It is safe for concurrent use.
type Transport struct {
	cfg Config
}

// New makes a Transport, or returns a [ConfigError].
func New(cfg Config) (*Transport, error) {
	if cfg.Base == nil {
		cfg.Base = http.DefaultTransport
	}
	if cfg.Window == 0 {
		cfg.Window = DefaultWindow
	}
	if cfg.Budget == 0 {
		cfg.Budget = min(DefaultBudget, cfg.Window/2)
	}
	if cfg.Methods == nil {
		cfg.Methods = []string{http.MethodPost, http.MethodPatch}
	}
	switch {
	case cfg.Window < 0:
		return nil, &ConfigError{"Window", cfg.Window.String(), "must be positive"}
	case cfg.Budget < 0:
		return nil, &ConfigError{"Budget", cfg.Budget.String(), "must be positive"}
	case cfg.Budget >= cfg.Window:
		return nil, &ConfigError{"Budget", cfg.Budget.String(), fmt.Sprintf("must be shorter than Window, %v: a later try would run a second time", cfg.Window)}
	}
	return &Transport{cfg: cfg}, nil
}

// ErrBody says that a request's body cannot be sent a second time: it has no GetBody. http.NewRequest sets it for a
// bytes.Buffer, bytes.Reader or strings.Reader. Nothing was sent.
var ErrBody = errors.New("httpclient: the request's body cannot be sent again: give it as a bytes.Reader, or set GetBody")

// RoundTrip implements [http.RoundTripper]. The response's Request has the key that was sent.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	key, keyed, err := t.keyFor(req)
	if err != nil {
		closeBody(req)
		return nil, err
	}
	if !keyed || req.URL.Host == "" || req.URL.Scheme != "http" && req.URL.Scheme != "https" { // no try will help that
		return t.cfg.Base.RoundTrip(req)
	}
	if req.Body != nil && req.Body != http.NoBody && req.GetBody == nil {
		closeBody(req)
		return nil, ErrBody
	}
	began := startOf(req)
	last := began.Add(t.cfg.Budget)
	if deadline, ok := req.Context().Deadline(); ok && deadline.Before(last) {
		last = deadline
	}
	for try := 0; ; try++ {
		one, err := attempt(req, key, began, try)
		if err != nil {
			return nil, err
		}
		resp, err := t.cfg.Base.RoundTrip(one)
		wait, again := verdict(resp, err)
		if !again || req.Context().Err() != nil {
			return resp, err
		}
		wait = max(wait, backoff(try))
		if time.Now().Add(wait).After(last) {
			return resp, err
		}
		drop(resp)
		if err := pause(req.Context(), wait); err != nil {
			return nil, err
		}
	}
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

// attempt is one try: a copy with the key and a body of its own, since a RoundTripper must not change its request.
func attempt(req *http.Request, key string, began time.Time, try int) (*http.Request, error) {
	one := req.Clone(context.WithValue(req.Context(), startKey{}, began))
	if one.Header == nil {
		one.Header = http.Header{}
	}
	if len(one.Header.Values(header)) == 0 {
		one.Header.Set(header, key)
	}
	if try == 0 || req.GetBody == nil {
		return one, nil // Base closes the first body
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, fmt.Errorf("httpclient: the request's body for another try: %w", err)
	}
	one.Body = body
	return one, nil
}

// backoff grows from try to try; the whole of it is jitter, so that clients that failed together do not come back
// together.
func backoff(try int) time.Duration {
	return rand.N(min(maxDelay, firstDelay<<min(try, 10)))
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// permanent says that no try can end otherwise.
func permanent(err error) bool {
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	return untrusted
}

// drop is for an answer that is not the last.
func drop(resp *http.Response) {
	if resp == nil {
		return
	}
	// Not read to its end, which may not come: the next try can have a connection of its own.
	_ = resp.Body.Close()
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close() // a RoundTripper has to, also on errors
	}
}
