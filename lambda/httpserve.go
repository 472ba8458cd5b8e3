package lambda

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/textproto"
	"strings"
	"time"

	"github.com/oncekey/oncekey/idempotency"
)

// verdicts stand in for the handler's answer where it is not to be recorded; Do hands them back untouched.
var (
	errReleased  = errors.New("the answer is not recorded")
	errAmbiguous = errors.New("the answer leaves open what happened")
)

// serve takes a request that has to have a key through the contract. body reads what q has no Body of yet; run is the handler.
// own says that answer and error are its own, to go back as they came.
func (w *web) serve(ctx context.Context, q *HTTPRequest, body func() ([]byte, error), run func(context.Context) (response, error)) (answer response, own bool, err error) {
	ctx, flush := metered(ctx)
	defer flush()
	req, err := w.request(ctx, q, body)
	if stop, ok := err.(*refused); ok { //nolint:errorlint // never wrapped
		return w.refuse(ctx, stop), false, nil
	}
	if err != nil { // of the user's Request
		answer, ok := w.answerOf(err)
		if ok {
			err = nil
		}
		return answer, !ok, err
	}
	if w.lookup(q) {
		req.Input = idempotency.AnyInput
		res, err := idempotency.Lookup[response](ctx, w.runner, req)
		return w.settle(ctx, req, res, err)
	}

	var first response
	var failed error // the handler's own
	var attempt *idempotency.Attempt
	said := &told{}
	res, err := idempotency.Do(ctx, w.runner, req, func(ctx context.Context) (response, error) {
		attempt = idempotency.AttemptFrom(ctx)
		first, failed = run(context.WithValue(context.WithValue(ctx, toldKey{}, said), requestKey{}, q))
		if failed != nil {
			return response{}, failed
		}
		switch w.class(ctx, first.Status, said) {
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
	case attempt == nil, res.Replayed: // an answer of the protocol's before the handler ran, or another attempt's outcome
		return w.settle(ctx, req, res, err)
	case err == nil, err == errReleased: //nolint:errorlint // Do hands it back untouched
		return first, true, nil // the handler's answer, recorded or not
	case protocols(err, failed), lostInStep(err, attempt): // it ran, and was not recorded
		return w.settle(ctx, req, res, err)
	case res.Class == idempotency.Ambiguous && !res.Reruns:
		if err == errAmbiguous { //nolint:errorlint // as above
			err = fmt.Errorf("%w: its status is %d", err, first.Status)
		}
		w.log(ctx, problemUnknown, req, &idempotency.StateError{Err: err, ID: attempt.RecordID(), Ref: req.Ref, Attempt: attempt.Number})
		return problemUnknown.response("", 0), false, nil
	case err == errAmbiguous: //nolint:errorlint // as above
		return first, true, nil // the next request runs: a client that asks again after such an answer is right
	}
	if answer, ok := w.answerOf(err); ok {
		return answer, false, nil
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

// lostInStep says that a step has told this very run that its record is another attempt's by now, and the handler has passed
// that on.
func lostInStep(err error, own *idempotency.Attempt) bool {
	state, ok := err.(*idempotency.StateError) //nolint:errorlint // the outermost one counts
	return ok && state.ID == own.RecordID() && errors.Is(state, idempotency.ErrLeaseLost)
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

// replayed marks the answer.
func (r *response) replayed() {
	headers := http.Header{replayedHeader: {"true"}}
	maps.Copy(headers, r.Headers)
	r.Headers = headers
}

// settle makes an answer of what the protocol says.
func (w *web) settle(ctx context.Context, req idempotency.Request, res idempotency.Result[response], err error) (response, bool, error) {
	if state, ok := err.(*idempotency.StateError); ok && res.Replayed && errors.Is(err, idempotency.ErrLeaseLost) { //nolint:errorlint // the outermost one is Do's
		err = state.Winner // the attempt has lost its lease to one whose outcome is this caller's answer, too
	}
	if err == nil && (!isStatus(res.Value.Status)) {
		err = fmt.Errorf("%w: it is no answer of an HTTP wrapper's: do two handlers of different kinds share an operation, or was it resolved without HTTPAnswer?", idempotency.ErrBadRecord)
		if ids, idErr := w.runner.RecordIDs(req); idErr == nil {
			err = fmt.Errorf("%w: record %s", err, strings.Join(ids, " or "))
		}
		w.log(ctx, problemBadRecord, req, err)
		return problemBadRecord.response("", 0), false, nil
	}
	if err == nil {
		r := res.Value
		r.replayed()
		return r, false, nil
	}
	var after time.Duration
	switch e := err.(type) { //nolint:errorlint // the outermost type is the protocol's, what is inside may be the user's
	case *idempotency.StateError:
		after = e.RetryAfter
	case *idempotency.FieldError:
		if _, derived := req.Input.(input); derived && e.Field == "Request.Input" {
			return problemUnreadable.response(e.Rule, 0), false, nil // of the client's body
		}
	default: // a recorded failure
		if answer, ok := w.answerOf(err); ok {
			answer.replayed()
			return answer, false, nil
		}
		return response{}, true, err
	}
	p := stateOf(err).problem
	if p == problemNotRecorded && after > 0 {
		p = problemUnconfirmed // a single shot's, or of an outcome that cannot be read back now: the same request finds out
	}
	w.log(ctx, p, req, err)
	if p == problemReused {
		p = p.as(w.cfg.Reused)
	}
	return p.response("", after), false, nil
}

// refuse answers with a problem; one of the server's own is told in the log, not to the client.
func (w *web) refuse(ctx context.Context, r *refused) response {
	if r.status < http.StatusInternalServerError && r.cause == nil {
		return r.response(r.detail, 0)
	}
	w.log(ctx, r.problem, idempotency.Request{}, r)
	if r.status < http.StatusInternalServerError {
		return r.response(r.detail, 0)
	}
	return r.response("", 0)
}

// log tells of what is not the client's doing.
func (w *web) log(ctx context.Context, p problem, req idempotency.Request, err error) {
	if p.status < http.StatusInternalServerError && p != problemUnknown && p.code != problemUnreadable.code {
		return
	}
	attrs := []slog.Attr{slog.String("code", p.code)}
	if req.Operation != "" {
		attrs = append(attrs, slog.String("operation", req.Operation))
	}
	if req.Ref != "" {
		attrs = append(attrs, slog.String("ref", req.Ref))
	}
	w.cfg.Logger.LogAttrs(ctx, slog.LevelError, "idempotency: answered with a problem", append(attrs, slog.Any("error", err))...)
}
