package lambda

import (
	"encoding/json"
	"errors"

	"github.com/aws/aws-lambda-go/lambda/messages"

	"github.com/oncekey/oncekey/idempotency"
)

// answer makes what Do returned into what Lambda's runtime is given. The runtime reports the outermost Go type and
// looks no further, so this is the place where each error gets the type that it is known by. Do returned err after
// the handler ran, or with the outcome of another attempt, or neither.
func answer(err error, ran, replayed bool) error {
	switch e := err.(type) { //nolint:errorlint // the outermost type counts, as in Lambda's runtime
	case *idempotency.Failure:
		return document(e)
	case *idempotency.StateError:
		if replayed && errors.Is(e, idempotency.ErrLeaseLost) {
			return answer(e.Winner, ran, replayed) // what the winner recorded is this caller's answer too
		}
		return named(e)
	case interface{ ErrorType() string }:
		// A replay has this name too. Left as it is, the first run would be reported by the Go type's.
		return messages.InvokeResponse_Error{Type: e.ErrorType(), Message: err.Error()}
	}
	if err == nil || ran || replayed {
		return err // the user's own
	}
	return named(err)
}

// document is a replayed failure as the first run's caller saw it. By value and unwrapped, or the runtime does not
// know it.
func document(f *idempotency.Failure) messages.InvokeResponse_Error {
	doc := messages.InvokeResponse_Error{Type: f.Type, Message: f.Message}
	// If the handler returned such a document itself, it may have had a stack trace.
	var recorded messages.InvokeResponse_Error
	if json.Unmarshal(f.Data, &recorded) == nil && recorded.Type == f.Type {
		doc.StackTrace = recorded.StackTrace
	}
	return doc
}

// refusal is an error of the protocol, to be wrapped in a type whose name Lambda reports as errorType.
type refusal struct{ error }

func (e refusal) Unwrap() error { return e.error }

// named gives an error of the protocol its errorType (doc.go, "Errors").
func named(err error) error { return stateOf(err).named(refusal{err}) }
