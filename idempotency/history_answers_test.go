package idempotency_test

import (
	"errors"
	"fmt"

	"github.com/oncekey/oncekey/idempotency"
)

// answered notes what the caller was told, and what it does not say.
func (w *historyWorker) answered(a *asked, res idempotency.Result[string], err error) {
	failure, ok := err.(*idempotency.Failure) //nolint:errorlint // as it was returned
	if a.in.begin && a.token == "" {
		w.ghosts(a)
	}
	if a.in.shot && a.value != "" && (res.Replayed || err != nil) && len(w.doubts.since()) > 0 {
		w.note(a.in, a.called, output{said: saidNotKnown, value: a.value, own: true}) // perhaps in a window that has ended since
	}
	switch ran := a.token != ""; {
	case err == nil && res.Replayed:
		w.replayed(a, res.Value)
	case ok:
		w.replayed(a, failure.Message)
	case ran:
		w.ended(a, res, err)
	case a.in.shot && a.value != "":
		w.shot(a, err)
	default:
		w.refused(a, err)
	}
}

// ghosts are claims in doubt: a request can have been the owner, lost its key to another one that found its lease over, and
// heard of it only by what it was told in the end.
func (w *historyWorker) ghosts(a *asked) {
	for _, token := range w.doubts.since() {
		if token != a.token { // else it is the run's, which is noted as such
			w.note(a.in, a.called, output{said: saidClaim, token: ghost + token})
		}
	}
}

// replayed: where the own run came to nothing, since its transaction had committed before, that was its end.
func (w *historyWorker) replayed(a *asked, value string) {
	if a.token != "" && value == a.value {
		w.note(w.end(a), a.ended, output{said: saidCompleted, value: value, own: true})
		return
	}
	w.note(a.in, a.called, output{said: saidReplayed, value: value})
}

// end is the operation that ends a run: it begins when the handler has returned.
func (w *historyWorker) end(a *asked) input {
	return input{request: a.in.request, tx: a.in.tx, token: a.token, early: a.early}
}

func (w *historyWorker) ended(a *asked, res idempotency.Result[string], err error) {
	end, own := w.end(a), output{value: a.value, own: true}
	terminal := err != nil && res.Class == idempotency.Recorded
	switch {
	case err == nil:
		own.said = saidCompleted
	case errors.Is(err, idempotency.ErrNotRecorded):
		own.said = saidNotKnown
	case errors.Is(err, idempotency.ErrLeaseLost), a.last() == idempotency.KindLeaseLost:
		own = output{said: saidLost, value: res.Value}
		if state, ok := errors.AsType[*idempotency.StateError](err); ok {
			if winner, failed := errors.AsType[*idempotency.Failure](state.Winner); failed {
				own.value = winner.Message
			}
		}
		w.lost(a)
	case terminal:
		own.said = saidFailed
	case a.last() == idempotency.KindReleased && res.Reruns:
		own = output{said: saidReleased}
	case a.last() == idempotency.KindReleased, a.last() == idempotency.KindUnknown:
		own = output{said: saidMayBe}
	default: // whether that has been recorded is not known
		own = output{said: saidLeave, value: a.left()}
	}
	w.note(end, a.ended, own)
}

// lost: the end of a run may have been written, and been followed by another attempt, before the caller heard of it.
func (w *historyWorker) lost(a *asked) {
	if len(w.doubts.since()) == 0 {
		return
	}
	outcome := a.leaves == completed || a.leaves == failed
	if outcome {
		w.note(w.end(a), a.ended, output{said: saidNotKnown, value: a.value, own: true})
	}
	if !outcome || a.in.tx != 0 { // a transaction that was refused is followed by a release
		w.note(w.end(a), a.ended, output{said: saidLeave, value: a.left()})
	}
}

// left is what an attempt without an outcome leaves, as far as its handler decides.
func (a *asked) left() string {
	if a.leaves == unknown {
		return unknown
	}
	return ""
}

// shot is a single shot whose handler has run.
func (w *historyWorker) shot(a *asked, err error) {
	switch own := (output{value: a.value, own: true}); {
	case err == nil:
		own.said = saidCompleted
		w.note(a.in, a.called, own)
	case errors.Is(err, idempotency.ErrNotRecorded):
		own.said = saidNotKnown
		w.note(a.in, a.called, own)
		w.note(a.in, a.called, output{said: saidKeepOut})
	case err.Error() == a.value:
		own.said = saidFailed
		w.note(a.in, a.called, own)
	default:
		w.refused(a, err)
	}
}

// refused notes the refusal of a request that has run nothing, or has had no effect.
func (w *historyWorker) refused(a *asked, err error) {
	for sentinel, what := range map[error]said{
		idempotency.ErrInProgress: saidInProgress, idempotency.ErrMismatch: saidMismatch,
		idempotency.ErrOutcomeUnknown: saidUnknown, idempotency.ErrNotFound: saidNotFound,
	} {
		if errors.Is(err, sentinel) {
			w.note(a.in, a.called, output{said: what})
			return
		}
	}
	switch {
	case a.in.lookup && errors.Is(err, idempotency.ErrUnavailable):
	case a.in.shot:
		w.note(a.in, a.called, output{said: saidKeepOut})
	case errors.Is(err, idempotency.ErrUnavailable), errors.Is(err, idempotency.ErrNoTime):
		// It may have become the owner all the same, and given the key back, or not.
		token := fmt.Sprintf("%sworker %d at %d", ghost, w.number, a.called)
		w.note(a.in, a.called, output{said: saidClaim, token: token})
		gone := a.in
		gone.token = token
		w.note(gone, a.called, output{said: saidGiveBack})
	default:
		w.h.odd(err)
	}
}
