package idempotency_test

import (
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"

	"github.com/oncekey/oncekey/idempotency"
)

// A request whose handler runs is two operations of the model: it begins, and it ends. Any other one is a single operation.
// Where the caller is in doubt there are operations beside it that may have taken place or not, at any time from then on.

// said is what an operation's caller was told, or what is in doubt.
type said string

const (
	saidRun      said = "runs" // its handler was started
	saidReplayed said = "replayed"

	// Refusals, by which nothing changes.
	saidInProgress said = "in progress"
	saidMismatch   said = "mismatch"
	saidUnknown    said = "outcome unknown"
	saidNotFound   said = "not found"

	// Ends of a run, or of a single shot or a resolution.
	saidCompleted said = "completed"
	saidFailed    said = "failed"
	saidReleased  said = "released"
	saidMayBe     said = "left unknown" // the run has ended without telling
	saidLost      said = "lease lost"
	saidTooLate   said = "resolved too late"

	// What may be or not.
	saidNotKnown said = "perhaps recorded"
	saidClaim    said = "perhaps claimed"
	saidGiveBack said = "perhaps given back"
	saidLeave    said = "perhaps left"
	saidKeepOut  said = "perhaps kept out"
)

var everySaid = []said{
	saidRun, saidReplayed, saidInProgress, saidMismatch, saidUnknown, saidNotFound, saidCompleted, saidFailed, saidReleased,
	saidMayBe, saidLost, saidTooLate, saidNotKnown, saidClaim, saidGiveBack, saidLeave,
	saidKeepOut,
}

// inDoubt says that the operation may have taken place or not.
func (s said) inDoubt() bool {
	return slices.Contains([]said{saidNotKnown, saidClaim, saidGiveBack, saidLeave, saidKeepOut}, s)
}

// input is what an operation was asked.
type input struct {
	request      string // which of the two that share the key
	tx           idempotency.TxMode
	begin        bool   // a run that may begin; false: one that ends, or none
	token        string // of the run that ends, or of the attempt that is resolved
	resolves     bool
	shot         bool
	lookup       bool
	early, later int64 // ms by the workers' clock, when it was called and when it returned
}

// output is what came of it.
type output struct {
	said
	token string // of the run that begins
	prior bool   // which was told that there was one before
	value string // recorded, or handed out
	own   bool   // the handler's own
}

// keyState is one key.
type keyState struct {
	status  string // "" for none
	request string
	value   string
	token   string // of the last attempt; "" if nobody has seen it
	lease   int64  // ms: until then at least an attempt in progress owns the key
	expires int64  // ms: until then at least the record counts
	prior   bool   // the record says that there was an unknown before its attempt
	aware   bool   // the attempt knows of one that the record does not have yet: it was in the window before (rule 8)
	inside  bool   // nothing has happened outside of a transaction
}

// ghost begins the token of a claim that nobody has seen take place.
const ghost = "ghost of "

const (
	running   = "in progress"
	unknown   = "unknown"
	released  = "released"
	completed = "completed"
	failed    = "failed"
)

// What is kept how long, in ms: see newWorker.
const (
	leaseTime   = int64(historyLease / 1e6)
	keepsAnswer = int64(historyRetention / 1e6)
	keepsRest   = int64(historyUnknown / 1e6)
)

func keyModel(policy idempotency.OnUnknown) porcupine.Model {
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{keyState{}} },
		Step: func(state, in, out any) (next []any) {
			for _, s := range step(policy, state.(keyState), in.(input), out.(output)) {
				next = append(next, s)
			}
			return next
		},
		DescribeOperation: describe,
	}
	return model.ToModel()
}

// step says how the key goes on from a state if an operation has that output: no way at all, one, or two.
func step(policy idempotency.OnUnknown, s keyState, in input, out output) []keyState {
	over := s.status == "" || in.later > s.expires
	same := s.request == in.request
	left := s.status == unknown || s.status == running && in.later > s.lease           // it has ended without telling
	found := s.token == in.token || s.token == "" || strings.HasPrefix(s.token, ghost) // by who resolves it
	mine := s.status == running && s.token == in.token
	free := s.status == released || left && (policy == idempotency.Rerun || s.inside && in.tx != 0)
	when := func(possible bool, next keyState) []keyState {
		if !possible {
			return nil
		}
		return []keyState{next}
	}
	ended := func(status, value string) keyState {
		next := keyState{status: status, request: s.request, value: value, token: s.token, expires: in.early + keepsAnswer}
		if status == released || status == unknown {
			next.prior, next.inside, next.expires = s.prior || s.aware, s.inside && !s.aware, in.early+keepsRest
		}
		return next
	}
	begun := keyState{
		status: running, request: in.request, token: out.token, prior: out.prior, inside: in.tx != 0 && !out.prior,
		lease: in.early + leaseTime, expires: in.early + leaseTime + keepsRest,
	}
	switch out.said {
	case saidRun:
		if s.status != "" && over {
			begun.prior, begun.aware, begun.inside = false, out.prior, in.tx != 0
			return []keyState{begun} // it hears of an unknown as far as that is still to be seen
		}
		needs := left && (!s.inside || in.tx == 0)
		return when(s.status == "" && !out.prior || same && free && out.prior == needs, begun)
	case saidReplayed:
		return when((s.status == completed || s.status == failed) && same && s.value == out.value, s)
	case saidInProgress:
		return when(s.status == running && same, s) // I1: another request is not told of it
	case saidMismatch:
		return when(s.status != "" && !same, s)
	case saidUnknown:
		return when(left && same && (in.lookup || policy == idempotency.Refuse), s)
	case saidNotFound:
		return when(over || s.status == released, s)
	case saidCompleted, saidFailed:
		status := map[said]string{saidCompleted: completed, saidFailed: failed}[out.said]
		next := ended(status, out.value)
		switch {
		case in.resolves:
			next.token = ""
			return when(left && found, next)
		case in.shot:
			next.request = in.request
			return when(over || same && free, next)
		}
		return when(mine, next)
	case saidReleased:
		next := ended(released, "")
		if in.resolves {
			next.token, next.prior, next.inside = "", false, false
			return when(left && found, next)
		}
		return when(mine && !s.prior && !s.aware, next)
	case saidMayBe:
		return when(mine, ended(unknown, ""))
	case saidLost:
		return when(!mine && (out.value == "" || s.value == out.value), s)
	case saidTooLate:
		return when(s.status != unknown || s.token != in.token, s)
	case saidNotKnown:
		next := ended(completed, out.value)
		switch {
		case in.resolves:
			next.token = ""
			if left && found {
				return []keyState{s, next}
			}
		case in.shot:
			next.request = in.request
			if over || same && free {
				return []keyState{s, next}
			}
		case mine:
			return []keyState{s, next}
		}
		return []keyState{s}
	case saidClaim:
		switch {
		case over:
			return []keyState{s, begun}
		case same && free:
			begun.prior = left && (!s.inside || in.tx == 0)
			begun.inside = in.tx != 0 && !begun.prior
			return []keyState{s, begun}
		}
		return []keyState{s}
	case saidGiveBack, saidLeave:
		switch {
		case in.resolves && left && found:
			next := ended(released, "")
			next.token, next.prior, next.inside = "", false, false
			return []keyState{s, next}
		case !mine:
			return []keyState{s}
		case out.value == unknown || s.prior || s.aware:
			return []keyState{s, ended(unknown, "")}
		}
		return []keyState{s, ended(unknown, ""), ended(released, "")}
	case saidKeepOut:
		switch {
		case over:
			return []keyState{s, {status: released, request: in.request, expires: in.early + keepsRest, inside: true}}
		case same && free && left && !s.inside:
			next := s
			next.status, next.token = unknown, ""
			return []keyState{s, next}
		case same && free:
			next := ended(released, "")
			next.token = ""
			return []keyState{s, next}
		}
		return []keyState{s}
	}
	return nil
}
