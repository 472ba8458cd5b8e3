package dynamo

import (
	"fmt"
	"net/http"
)

// The namespaces that error types come from on the wire.
const (
	modelled   = "com.amazonaws.dynamodb.v20120810#"
	service    = "com.amazon.coral.service#"
	validation = "com.amazon.coral.validate#"
)

// apiError is an error that the caller is answered with.
type apiError struct {
	status    int
	namespace string
	code      string
	message   string
	item      attrs    // of a failed condition with ALL_OLD
	reasons   []reason // of a cancelled transaction
	throttled []throttlingReason
}

// throttlingReason names the limit that a request was over, and of what.
type throttlingReason struct {
	Reason   string `json:"reason"`
	Resource string `json:"resource"`
}

func (e *apiError) Error() string { return e.code + ": " + e.message }

// body is the JSON that goes over the wire.
func (e *apiError) body() []byte {
	type wire struct {
		Type    string   `json:"__type"`
		Upper   string   `json:"Message,omitempty"`
		Lower   string   `json:"message,omitempty"`
		Item    attrs    `json:",omitempty"`
		Reasons []reason `json:"CancellationReasons,omitempty"`

		UpperThrottled []throttlingReason `json:"ThrottlingReasons,omitempty"`
		LowerThrottled []throttlingReason `json:"throttlingReasons,omitempty"`
	}
	w := wire{Type: e.namespace + e.code, Item: e.item, Reasons: e.reasons}
	// The service's model spells these members differently from error to error.
	if e.code == "ThrottlingException" {
		w.LowerThrottled = e.throttled
	} else {
		w.UpperThrottled = e.throttled
	}
	switch e.code {
	case "TransactionCanceledException", "IdempotentParameterMismatchException", "TransactionInProgressException", "AccessDeniedException", "SerializationException":
		w.Upper = e.message
	default:
		w.Lower = e.message
	}
	b, err := encode(w)
	if err != nil { // no member of wire can fail to encode
		panic(err)
	}
	return b
}

func newError(code, format string, args ...any) *apiError {
	return &apiError{status: http.StatusBadRequest, namespace: modelled, code: code, message: fmt.Sprintf(format, args...)}
}

// invalid is a ValidationException.
func invalid(format string, args ...any) *apiError {
	e := newError("ValidationException", format, args...)
	e.namespace = validation
	return e
}

// invalidParameter is the ValidationException of most wrong values.
func invalidParameter(format string, args ...any) *apiError {
	return invalid("One or more parameter values were invalid: "+format, args...)
}

// unsupported refuses a parameter that DynamoDB has and this package has not: ignoring it would be a wrong answer.
func unsupported(parameter string) *apiError {
	return invalid("The embedded server does not implement the parameter %s", parameter)
}

// missing is the answer for a required member that is absent.
func missing(member string) *apiError {
	return invalid("1 validation error detected: Value null at '%s' failed to satisfy constraint: Member must not be null", member)
}

// violation is the answer for a member that breaks its declared constraint.
func violation(value, member, constraint string) *apiError {
	return invalid("1 validation error detected: Value '%s' at '%s' failed to satisfy constraint: %s", value, member, constraint)
}

func notFound(what string) *apiError {
	if what == "" {
		return newError("ResourceNotFoundException", "Requested resource not found")
	}
	return newError("ResourceNotFoundException", "Requested resource not found: %s", what)
}

// malformed is the answer for a body that is no JSON or has the wrong JSON types.
func malformed(format string, args ...any) *apiError {
	e := newError("SerializationException", format, args...)
	e.namespace = service
	return e
}

func conditionFailed(item attrs) *apiError {
	e := newError("ConditionalCheckFailedException", "The conditional request failed")
	e.item = item
	return e
}
