package lambda

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/textproto"
	"time"

	"github.com/oncekey/oncekey/idempotency"
)

// verdicts stand in for the handler's answer where it is not to be recorded; Do hands them back untouched.
var (
	errReleased  = errors.New("the answer is not recorded")
	errAmbiguous = errors.New("the answer leaves open what happened")
)

// serve takes a request through the contract. run is the handler; own says that answer and error are its own, to go
// back as they came.
func (w *web) serve(ctx context.Context, q *HTTPRequest, run func(context.Context) (response, error)) (answer response, own bool, err error) {
	if w.passes(q) {
		answer, err = run(ctx)
		return answer, true, err
	}
	req, err := w.request(ctx, q)
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
	refuses := true  // a retry, if this run leaves its outcome unknown
	started := &start{}
	res, err := idempotency.Do(ctx, w.runner, req, func(ctx context.Context) (response, error) {
		refuses = idempotency.AttemptFrom(ctx).OnUnknown == idempotency.Refuse
		first, failed = run(context.WithValue(ctx, startKey{}, started))
		if failed != nil {
			return response{}, failed
		}
		switch w.class(first.Status, started) {
		case idempotency.Released:
			failed = errReleased
			return response{}, idempotency.Safe(errReleased)
		case idempotency.Ambiguous:
			failed = idempotency.Unknown(errAmbiguous)
			return response{}, failed
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
	case refuses && w.runner.ClassOf(failed) == idempotency.Ambiguous: // an error or an answer
		w.log(ctx, problemUnknown, failed)
		return problemUnknown.response("", 0), false, nil
	case err == errAmbiguous: //nolint:errorlint // as above
		return first, true, nil // under Rerun: a client that asks again after such an answer is right
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
	p := stateOf(err).problem
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
