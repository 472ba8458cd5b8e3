package lambda

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/oncekey/oncekey/idempotency"
)

// refused ends a request before anything is run.
type refused struct {
	problem
	detail string // for the client, if the problem is the client's
	cause  error  // for the log alone
}

func (e *refused) Error() string {
	if e.cause != nil {
		return e.code + ": " + e.detail + ": " + e.cause.Error()
	}
	return e.code + ": " + e.detail
}

func refuse(p problem, detail string) *refused { return &refused{problem: p, detail: detail} }

// lookup: the request asks what became of a key. With the look-up switched on, none of its method gets to the handler, which
// may not look at the method.
func (w *web) lookup(q *HTTPRequest) bool {
	return w.cfg.Lookup && (q.Method == http.MethodGet || q.Method == http.MethodHead)
}

// passes: the request goes to the handler as it is.
func (w *web) passes(q *HTTPRequest) bool {
	if q.Method == "" { // an event of another payload format or front door than the wrapper's: it must not pass for a GET
		return false
	}
	if w.cfg.Optional && w.takesKey(q) {
		return len(q.Header.Values(keyHeader)) == 0
	}
	return !w.takesKey(q) && !w.lookup(q)
}

// takesKey: the method is one of those that are protected.
func (w *web) takesKey(q *HTTPRequest) bool {
	return slices.ContainsFunc(w.cfg.Methods, func(m string) bool { return strings.EqualFold(m, q.Method) })
}

// key reads the request's key. Its error is a *refused.
func (w *web) key(q *HTTPRequest) (string, error) {
	key, err := parseKey(q.Header.Values(keyHeader), w.cfg.Strict)
	switch {
	case q.Method == "":
		return "", refuse(problemMisconfigured, "the event has no method: is it of another payload format or front door than the wrapper's?")
	case err == errNoKey: //nolint:errorlint // never wrapped
		return "", refuse(problemMissing, "send a key of your own making in the header Idempotency-Key, the same one with every retry")
	case err != nil:
		return "", refuse(problemInvalid, err.Error())
	}
	if w.cfg.CheckKey != nil {
		if err := w.cfg.CheckKey(key); err != nil {
			return "", refuse(problemInvalid, err.Error())
		}
	}
	if w.cfg.OldestKey > 0 && !w.lookup(q) {
		return key, w.late(q, key)
	}
	return key, nil
}

// maxAhead is how far a client's clock may be ahead. A key from further on would pass for a new one after its window.
const maxAhead = 5 * time.Minute

// late refuses a request that comes after its key's window. Its error is a *refused.
func (w *web) late(q *HTTPRequest, key string) error {
	made, ok := keyTime(key)
	if w.cfg.MadeAt != nil {
		made, ok = w.cfg.MadeAt(q, key)
	}
	switch age := time.Since(made); {
	case ok && age > w.cfg.OldestKey:
		return refuse(problemExpired, fmt.Sprintf("keys are accepted for %.4g hours after they were made", w.cfg.OldestKey.Hours()))
	case ok && age < -maxAhead:
		return refuse(problemInvalid, "the key was made in the future: is the client's clock right?")
	}
	return nil
}

// request derives what the protocol is asked for. The body is read once there is a key. Its error is a *refused, or the
// user's.
func (w *web) request(ctx context.Context, q *HTTPRequest, body func() ([]byte, error)) (idempotency.Request, error) {
	key, err := w.key(q)
	if err != nil {
		return idempotency.Request{}, err
	}
	if q.Body, err = body(); err != nil {
		return idempotency.Request{}, err
	}
	req := idempotency.Request{Operation: w.cfg.Operation, Scope: q.Caller.ID, Key: key, Wait: w.cfg.Wait}
	if req.Wait == 0 {
		req.Wait = idempotency.NoWait // the Runner's may be longer than a gateway waits
	}
	if req.Operation == "" {
		req.Operation = operation(q.Method, q.Route)
	}
	req.Input = inputOf(q)
	if w.cfg.Request != nil {
		if err := w.cfg.Request(ctx, q, &req); err != nil {
			return req, err
		}
	}
	if req.Operation == "" {
		return req, refuse(problemMisconfigured, fmt.Sprintf("HTTPConfig.Operation is empty, and the route %q does not name an operation: set it", q.Route))
	}
	if req.Scope == "" { // also where there is a tenant: its users are not one caller
		return req, refuse(problemMisconfigured, "the front door's authoriser named no caller: let HTTPConfig.Request set Scope to what tells callers apart, or to idempotency.GlobalScope if all of them share their keys")
	}
	if req.Wait > maxWait {
		return req, refuse(problemMisconfigured, fmt.Sprintf("HTTPConfig.Request has set Wait to %v: must be at most %v, since the gateways wait for 29 s or 30 s", req.Wait, maxWait))
	}
	q.Scope = req.Scope
	req.Scope = tenantScope(ctx, req.Scope)
	return req, nil
}

// input is what has to be the same in a retry. Not the route's name, which a deploy may change, and which adds nothing to the
// path.
type input struct {
	Method, Path   string
	PathParameters map[string]string // a decoded path does not tell a slash within one from one between two
	Query          url.Values
	RawQuery       string          // if it cannot be decoded
	Type           string          // the body's media type, without parameters
	JSON           json.RawMessage // the body if it is JSON: members in any order, numbers in any form
	Bytes          []byte          // else
}

func inputOf(q *HTTPRequest) input {
	in := input{Method: strings.ToUpper(q.Method), Path: q.Path, PathParameters: q.PathParameters, Query: q.Query, RawQuery: q.rawQuery}
	in.Type = mediaType(q.Header.Get("Content-Type"))
	if (in.Type == "application/json" || strings.HasSuffix(in.Type, "+json")) && json.Valid(q.Body) {
		in.JSON = q.Body
	} else {
		in.Bytes = q.Body
	}
	return in
}

// mediaType is in lower case; a header that cannot be read stays as it is.
func mediaType(contentType string) string {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return contentType
	}
	return kind
}
