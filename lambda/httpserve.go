package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/oncekey/oncekey/idempotency"
)

// refused ends a request before anything is run.
type refused struct {
	problem
	detail string
}

func (e *refused) Error() string { return e.code + ": " + e.detail }

// errPass says that a request goes to the handler as it is.
var errPass = errors.New("the request takes no key")

// verdicts stand in for the handler's answer where it is not to be recorded; Do hands them back untouched.
var (
	errReleased  = errors.New("the answer is not recorded")
	errAmbiguous = errors.New("the answer leaves open what happened")
)

// serve takes a request through the contract. run is the handler; own says that answer and error are its own, to go
// back as they came.
func (w *web) serve(ctx context.Context, q *HTTPRequest, run func(context.Context) (response, error)) (answer response, own bool, err error) {
	key, err := w.key(q)
	if err == errPass { //nolint:errorlint // never wrapped
		answer, err = run(ctx)
		return answer, true, err
	}
	var req idempotency.Request
	if err == nil {
		req, err = w.request(ctx, q, key)
	}
	if stop, ok := err.(*refused); ok { //nolint:errorlint // never wrapped
		return w.refuse(ctx, stop), false, nil
	}
	if err != nil {
		return response{}, true, err // of the user's Request
	}
	if w.lookup(q) {
		req.Input = idempotency.AnyInput
		res, err := idempotency.Lookup[response](ctx, w.runner, req)
		return w.settle(ctx, res, err)
	}

	var first response
	var failed error // the handler's own
	started := &start{}
	res, err := idempotency.Do(ctx, w.runner, req, func(ctx context.Context) (response, error) {
		first, failed = run(context.WithValue(ctx, startKey{}, started))
		if failed != nil {
			return response{}, failed
		}
		switch w.class(first.Status, started) {
		case idempotency.Released:
			failed = errReleased
			return response{}, idempotency.Safe(errReleased)
		case idempotency.Ambiguous:
			failed = errAmbiguous
			return response{}, idempotency.Unknown(errAmbiguous)
		case idempotency.Recorded:
		}
		return w.recorded(first), nil
	})
	switch {
	// Another attempt's outcome, or an answer of the protocol's before the handler ran or instead of recording it.
	case res.Replayed, failed == nil && err != nil:
		return w.settle(ctx, res, err)
	// The handler's answer, recorded or not.
	case err == nil, err == errReleased: //nolint:errorlint // Do hands it back untouched
		return first, true, nil
	case protocols(err, failed): // it ran, and was not recorded
		return w.settle(ctx, res, err)
	case err == errAmbiguous, w.runner.ClassOf(failed) == idempotency.Ambiguous: //nolint:errorlint // as above
		w.log(ctx, problemUnknown, failed)
		return problemUnknown.response("", 0), false, nil
	}
	return response{}, true, err
}

// protocols reports whether what Do returned is the protocol's, and not the handler's own without its mark. A handler
// may hand out a StateError of an operation inside it; errors of other types, which may not be comparable, are its own.
func protocols(err, failed error) bool {
	state, ok := err.(*idempotency.StateError) //nolint:errorlint // the outermost one counts
	for e := failed; ok && e != nil; e = errors.Unwrap(e) {
		if own, is := e.(*idempotency.StateError); is && own == state { //nolint:errorlint // this very one
			return false
		}
	}
	return ok
}

// lookup: the request asks what became of a key.
func (w *web) lookup(q *HTTPRequest) bool {
	return w.cfg.Lookup && (q.Method == http.MethodGet || q.Method == http.MethodHead)
}

// key reads the request's key. Its error is errPass or a *refused.
func (w *web) key(q *HTTPRequest) (string, error) {
	if q.Method == "" {
		return "", &refused{problemMisconfigured, "the event has no method: is it of another payload format or front door than the wrapper's?"}
	}
	lookup := w.lookup(q)
	if !lookup && !slices.Contains(w.cfg.Methods, q.Method) {
		return "", errPass
	}
	key, err := parseKey(q.Header.Values(keyHeader), w.cfg.Strict)
	switch {
	case err == errNoKey && (lookup || w.cfg.Optional): //nolint:errorlint // never wrapped
		return "", errPass
	case err == errNoKey: //nolint:errorlint // never wrapped
		return "", &refused{problemMissing, "send a key of your own making in the header Idempotency-Key, the same one with every retry"}
	case err != nil:
		return "", &refused{problemInvalid, err.Error()}
	}
	if w.cfg.CheckKey != nil {
		if err := w.cfg.CheckKey(key); err != nil {
			return "", &refused{problemInvalid, err.Error()}
		}
	}
	if made, ok := keyTime(key); ok && w.cfg.OldestKey > 0 && !lookup && time.Since(made) > w.cfg.OldestKey {
		return "", &refused{problemExpired, fmt.Sprintf("keys are accepted for %v after they were made", w.cfg.OldestKey)}
	}
	return key, nil
}

// request derives what the protocol is asked for.
func (w *web) request(ctx context.Context, q *HTTPRequest, key string) (idempotency.Request, error) {
	req := idempotency.Request{Operation: w.cfg.Operation, Scope: q.Caller.ID, Key: key, Wait: w.cfg.Wait}
	if req.Operation == "" && !catchAll(q.Route) {
		req.Operation = q.Route
	}
	req.Input = inputOf(q)
	if w.cfg.Request != nil {
		if err := w.cfg.Request(ctx, q, &req); err != nil {
			return req, err
		}
	}
	if req.Operation == "" {
		return req, &refused{problemMisconfigured, fmt.Sprintf("HTTPConfig.Operation is empty, and the route %q does not name an operation: set it", q.Route)}
	}
	if req.Scope == "" { // also where there is a tenant: its users are not one caller
		return req, &refused{problemMisconfigured, "the front door's authoriser named no caller: let HTTPConfig.Request set Scope to what tells callers apart, or to idempotency.GlobalScope if all of them share their keys"}
	}
	req.Scope = tenantScope(ctx, req.Scope)
	return req, nil
}

// catchAll: the route stands for several operations.
func catchAll(route string) bool {
	return route == "" || strings.Contains(route, "$default") || strings.Contains(route, "+}") || strings.HasPrefix(route, "ANY ")
}

// input is what has to be the same in a retry.
type input struct {
	Method, Route, Path string
	PathParameters      map[string]string // a decoded path does not tell a slash within one from one between two
	Query               url.Values
	JSON                json.RawMessage // the body if it is JSON: members in any order, numbers in any form
	Bytes               []byte          // else
}

func inputOf(q *HTTPRequest) input {
	in := input{Method: q.Method, Route: q.Route, Path: q.Path, PathParameters: q.PathParameters, Query: q.Query}
	if isJSON(q.Header.Get("Content-Type")) && json.Valid(q.Body) {
		in.JSON = q.Body
	} else {
		in.Bytes = q.Body
	}
	return in
}

func isJSON(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && (kind == "application/json" || strings.HasSuffix(kind, "+json"))
}

// recorded is what is kept of an answer.
func (w *web) recorded(r response) response {
	kept := response{Status: r.Status, Body: r.Body, Base64: r.Base64}
	for name, values := range r.Headers {
		if w.record[textproto.CanonicalMIMEHeaderKey(name)] {
			if kept.Headers == nil {
				kept.Headers = http.Header{}
			}
			kept.Headers[name] = values
		}
	}
	return kept
}

// replayedHeader tells a replay from a first answer.
const replayedHeader = "Idempotent-Replayed"

// settle makes an answer of what the protocol says.
func (w *web) settle(ctx context.Context, res idempotency.Result[response], err error) (response, bool, error) {
	if state, ok := err.(*idempotency.StateError); ok && res.Replayed && errors.Is(err, idempotency.ErrLeaseLost) { //nolint:errorlint // the outermost one is Do's
		err = state.Winner // the attempt has lost its lease to one whose outcome is this caller's answer, too
	}
	if err == nil {
		r := res.Value
		headers := http.Header{replayedHeader: {"true"}}
		maps.Copy(headers, r.Headers)
		r.Headers = headers
		return r, false, nil
	}
	state, isState := errors.AsType[*idempotency.StateError](err)
	field, isField := errors.AsType[*idempotency.FieldError](err)
	switch {
	case isField && field.Field == "Request.Input":
		return problemUnreadable.response(field.Rule, 0), false, nil
	case !isState && !isField:
		return response{}, true, err // a recorded failure
	}
	p := problemOf(err)
	w.log(ctx, p, err)
	var after time.Duration
	if isState {
		after = state.RetryAfter
	}
	if p == problemReused {
		p.status = w.cfg.Reused
	}
	return p.response("", after), false, nil
}

// refuse answers with a problem; one of the server's own is told in the log, not to the client.
func (w *web) refuse(ctx context.Context, r *refused) response {
	if r.status < http.StatusInternalServerError {
		return r.response(r.detail, 0)
	}
	w.log(ctx, r.problem, r)
	return r.response("", 0)
}

// log tells of what is not the client's doing.
func (w *web) log(ctx context.Context, p problem, err error) {
	if p.status >= http.StatusInternalServerError || p == problemUnknown {
		w.cfg.Logger.ErrorContext(ctx, "idempotency: answered with a problem", "code", p.code, "error", err)
	}
}
