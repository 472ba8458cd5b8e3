package lambda

import (
	"errors"

	"github.com/oncekey/oncekey/idempotency"
)

// state is what the protocol can say instead of the handler, to an HTTP client and to Lambda.
type state struct {
	sentinel error
	problem  problem
	named    func(refusal) error // under the type whose name Lambda reports as errorType
}

// stateOf is the state that an error of the protocol stands for.
func stateOf(err error) state {
	// Nothing but the names of these types is of use, so they are not the package's: Go code asks errors.Is.
	type (
		IdempotencyInProgress     struct{ refusal }
		IdempotencyLeaseLost      struct{ refusal }
		IdempotencyUnavailable    struct{ refusal }
		IdempotencyNoTime         struct{ refusal }
		IdempotencyOutcomeUnknown struct{ refusal }
		IdempotencyNotRecorded    struct{ refusal }
		IdempotencyNoBody         struct{ refusal }
		IdempotencyMismatch       struct{ refusal }
		IdempotencyBadRecord      struct{ refusal }
		IdempotencyInvalid        struct{ refusal }
		IdempotencyNotFound       struct{ refusal }
	)
	// An error can have several sentinels in its tree, such as that of an operation inside the handler as the cause.
	// What may have run comes before what has not.
	for _, s := range []state{
		{idempotency.ErrNotRecorded, problemNotRecorded, func(r refusal) error { return IdempotencyNotRecorded{r} }},
		{idempotency.ErrLeaseLost, problemInProgress, func(r refusal) error { return IdempotencyLeaseLost{r} }},
		{idempotency.ErrUnavailable, problemUnavailable, func(r refusal) error { return IdempotencyUnavailable{r} }},
		{idempotency.ErrInProgress, problemInProgress, func(r refusal) error { return IdempotencyInProgress{r} }},
		{idempotency.ErrNoTime, problemUnavailable, func(r refusal) error { return IdempotencyNoTime{r} }},
		{idempotency.ErrOutcomeUnknown, problemUnknown, func(r refusal) error { return IdempotencyOutcomeUnknown{r} }},
		{idempotency.ErrNoBody, problemDone, func(r refusal) error { return IdempotencyNoBody{r} }},
		{idempotency.ErrMismatch, problemReused, func(r refusal) error { return IdempotencyMismatch{r} }},
		{idempotency.ErrBadRecord, problemBadRecord, func(r refusal) error { return IdempotencyBadRecord{r} }},
		{idempotency.ErrNotFound, problemNotFound, func(r refusal) error { return IdempotencyNotFound{r} }},
	} {
		if errors.Is(err, s.sentinel) {
			return s
		}
	}
	return state{nil, problemMisconfigured, func(r refusal) error { return IdempotencyInvalid{r} }} // a FieldError
}
