package lambda

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/oncekey/oncekey/idempotency"
)

// HTTPRequest is a request as all front doors have it.
type HTTPRequest struct {
	Method string
	Route  string     // as "POST /payments/{id}"; "$default" and the like where the front door has no route for it
	Path   string     // as the front door gives it: decoded by an HTTP API only
	Query  url.Values // decoded; by an ALB as it was sent

	PathParameters map[string]string // of the route, by an API Gateway

	Header http.Header // under canonical names; an HTTP API and a function URL join duplicates by a comma
	Body   []byte      // decoded where the event has it in base64
	Caller Caller
	Scope  string // whose key it is, once HTTPConfig.Request has run
	Event  any    // the events.* value; a *http.Request under Middleware

	rawQuery string // the query string, if it cannot be decoded whole
}

type requestKey struct{}

// RequestFrom returns the request as an HTTP wrapper has read it, with its scope and its decoded body; for the wrapper's handler,
// to read only. Of a request that takes no key it has neither of the two. It is nil outside of such a handler.
func RequestFrom(ctx context.Context) *HTTPRequest {
	q, _ := ctx.Value(requestKey{}).(*HTTPRequest)
	return q
}

// Caller is who the front door's authoriser says is calling. The zero value is nobody.
type Caller struct {
	// ID tells callers apart. It begins with what vouches for it: "jwt:", "iam:", "cognito:", "authorizer:", "key:".
	ID     string
	Claims map[string]string
}

// HTTPConfig says how a wrapper treats requests. The zero value is right for an API Gateway with an authoriser and one
// route an operation.
type HTTPConfig struct {
	// Operation names what the route does. Default: method and route, as "POST /payments"; required where the route is
	// a catch-all ("$default", "{proxy+}", net/http's "/" and "{rest...}"), and behind a function URL or an ALB. Two APIs,
	// two stages of one, or two hosts, with the same route and callers need names of their own, or tables of their own; and
	// so does a handler of another kind, such as one of Wrap.
	Operation string

	// Optional lets a request without a key pass to the handler unprotected. Default: it is refused.
	Optional bool

	// Methods are those that take a key, in any case. Default: POST and PATCH. Others pass to the handler, being idempotent
	// already (RFC 9110, section 9.2.2).
	Methods []string

	// Strict refuses a key without quotation marks, which the draft demands and most clients leave out.
	Strict bool

	// CheckKey refuses keys of a wrong form, such as those that are no UUIDs. Its error goes to the client.
	CheckKey func(key string) error

	// OldestKey refuses, with 412, keys that are older. Set it to the retention, so that a request that arrives after its
	// window is not run again. Keys that are UUIDs of version 7 or ULIDs say themselves when they were made; of others
	// MadeAt may know. One that says nothing passes, unless CheckKey refuses it; one from the future, by more than 5
	// minutes, is not valid. CheckKey: TimedKey refuses those that say nothing. Default 0: no such look.
	OldestKey time.Duration

	// MadeAt says when a key was made, as far as the request tells: by a header with the client's time, or the time within
	// a signature that the authoriser has checked. It replaces what the key says; ok is false where nothing is known.
	MadeAt func(q *HTTPRequest, key string) (made time.Time, ok bool)

	// Request changes what was derived: Scope, Input, Ref, Retention, OnUnknown, Wait. The scope is that of the
	// authorised caller; where there is none, it must be set here: a tenant that the path names and the authoriser has
	// checked, or idempotency.GlobalScope. Never take it from the body: a stranger who names another's scope gets that
	// one's answers. A Wait is bound as the one below. An error goes back as the handler's own would, and nothing is
	// run: an HTTPError, such as one with 403, is the client's answer.
	Request func(context.Context, *HTTPRequest, *idempotency.Request) error

	// Record says what an answer of this status means. Default: RecordDefault, also where it returns no class.
	Record func(status int) idempotency.Class

	// Headers are the names of the response headers that are recorded and replayed. Default: DefaultHeaders. Those of a
	// session, an authentication or a connection (Set-Cookie, WWW-Authenticate, Authorization, Connection …) never are. An
	// empty list records none.
	Headers []string

	// Reused is the status for a key that was used for another request: 422, the default, or 409.
	Reused int

	// Wait is how long a duplicate waits for the first one's answer, at most 20 s: the gateways give up after 29 or 30.
	// Default 0: not at all, whatever the Runner's Config.Wait says.
	Wait time.Duration

	// Lookup answers GET and HEAD requests with the outcome of their key: the recorded answer, 404 if there is none, 409 if
	// it is in progress or unknown; without a key, 400. None of them gets to the handler. It needs Operation. Default: they
	// pass to the handler.
	Lookup bool

	// Logger is told, at level error, why a request was answered with a problem that is not the client's: a setting that
	// is wrong, a table that cannot be asked, an outcome that is unknown. Default: slog.Default().
	Logger *slog.Logger
}

// maxWait is below what API Gateway waits.
const maxWait = 20 * time.Second

// response is an answer as all front doors have it.
type response struct {
	Status  int         `json:"status"`
	Headers http.Header `json:"headers,omitempty"`
	Body    string      `json:"body,omitempty"`
	Base64  bool        `json:"base64,omitempty"` // Body is encoded in it
}

// web does what all front doors have in common.
type web struct {
	runner *idempotency.Runner
	cfg    HTTPConfig
	record map[string]bool // the headers that are recorded, under canonical names
}

func newWeb(r *idempotency.Runner, c HTTPConfig) (*web, error) {
	if r == nil {
		return nil, &idempotency.FieldError{Field: "the wrapper's r", Value: "nil", Rule: "make a Runner with idempotency.New"}
	}
	w := &web{runner: r, cfg: c, record: map[string]bool{}}
	w.cfg.Methods = slices.Clone(c.Methods) // the caller may go on using it
	if c.Methods == nil {
		w.cfg.Methods = []string{http.MethodPost, http.MethodPatch}
	}
	if c.Record == nil {
		w.cfg.Record = RecordDefault
	}
	if c.Headers == nil {
		w.cfg.Headers = DefaultHeaders()
	}
	if c.Reused == 0 {
		w.cfg.Reused = http.StatusUnprocessableEntity
	}
	w.cfg.Logger = newLogger(c)
	for _, name := range w.cfg.Headers {
		if strings.ContainsFunc(name, notInToken) || name == "" {
			return nil, &idempotency.FieldError{Field: "HTTPConfig.Headers", Value: fmt.Sprintf("%q", name), Rule: "must be the name of a header"}
		}
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		if slices.Contains(neverRecorded, canonical) {
			return nil, &idempotency.FieldError{Field: "HTTPConfig.Headers", Value: name, Rule: "must not be recorded: it belongs to one caller or connection"}
		}
		w.record[canonical] = true
	}
	return w, w.check()
}

// notInToken: no character of a header's name (RFC 9110, section 5.6.2).
func notInToken(c rune) bool {
	return c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
}

func newLogger(c HTTPConfig) *slog.Logger {
	if c.Logger == nil {
		return slog.Default()
	}
	return c.Logger
}

func (w *web) check() error {
	wrong := func(field, value, rule string) error {
		return &idempotency.FieldError{Field: "HTTPConfig." + field, Value: value, Rule: rule}
	}
	switch c := w.cfg; {
	case c.Reused != http.StatusUnprocessableEntity && c.Reused != http.StatusConflict:
		return wrong("Reused", fmt.Sprint(c.Reused), "must be 422 or 409")
	case c.Wait < 0 || c.Wait > maxWait:
		return wrong("Wait", c.Wait.String(), fmt.Sprintf("must be between 0 and %v: the gateways wait for 29 s or 30 s", maxWait))
	case c.OldestKey < 0:
		return wrong("OldestKey", c.OldestKey.String(), "must not be negative")
	case c.MadeAt != nil && c.OldestKey == 0:
		return wrong("MadeAt", "set", "needs OldestKey: how old a key may be")
	case slices.ContainsFunc(c.Methods, func(m string) bool { return m == "" || strings.ContainsFunc(m, notInToken) }):
		return wrong("Methods", fmt.Sprintf("%q", c.Methods), "must be names of methods, such as POST")
	case len(c.Methods) == 0:
		return wrong("Methods", "an empty list", "must have one method at least, or nothing is protected; leave it nil for POST and PATCH")
	case c.Lookup && c.Operation == "":
		return wrong("Lookup", "set", "needs Operation: a GET has another route than the request that it asks for")
	case c.Lookup && slices.ContainsFunc(c.Methods, func(m string) bool {
		return strings.EqualFold(m, http.MethodGet) || strings.EqualFold(m, http.MethodHead)
	}):
		return wrong("Methods", strings.Join(c.Methods, ", "), "must have neither GET nor HEAD, which Lookup answers")
	}
	return nil
}
