package idempotency

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// What a caller can be told instead of the handler's own answer. Each comes as a [StateError]; compare with
// [errors.Is]. The cause, where there is one, is reachable by [errors.As].
//
// "Retry" says whether the same request may be sent again at once with a hope of another answer.
var (
	// ErrInProgress: another attempt owns the key and its lease has not ended. Nothing was run. Retry: after
	// [StateError.RetryAfter].
	ErrInProgress = errors.New("idempotency: in progress")

	// ErrMismatch: the key is bound to a request with another fingerprint. Nothing was run. Retry: no, the
	// caller has reused a key.
	ErrMismatch = errors.New("idempotency: key reused for another request")

	// ErrOutcomeUnknown: an earlier attempt ended without telling (crash, time-out, panic, an error marked
	// [Unknown]), and the policy is [Refuse]. Nothing was run this time. Retry: no, until somebody has looked;
	// [Config.UnknownRetention] says for how long the key stays refused.
	ErrOutcomeUnknown = errors.New("idempotency: outcome unknown")

	// ErrLeaseLost: the handler ran, but the record was no longer its own when the outcome was to be recorded.
	// If the winner's outcome is recorded, it comes along in the result (with Replayed set). Retry: yes.
	ErrLeaseLost = errors.New("idempotency: lease lost")

	// ErrNotRecorded: the handler ran, but its outcome could not be recorded, or read back; its effect may have
	// happened. Retry: no; look the outcome up. Yes where [StateError.RetryAfter] is set, since the same request finds
	// out: of a single-shot transaction, whose effect is the commit, and of an outcome that is recorded and cannot be
	// read now.
	ErrNotRecorded = errors.New("idempotency: ran, but the outcome could not be recorded or read back")

	// ErrUnavailable: the table could not be asked, or [Request.Rebuild] could not make the answer. Nothing was run (of
	// a single-shot transaction: nothing was sent). Retry: yes. A copy of the acquire that DynamoDB applies later than the
	// write which gives the key back makes the retry [ErrInProgress], and after the lease [ErrOutcomeUnknown], although
	// nothing was run.
	ErrUnavailable = errors.New("idempotency: unavailable, nothing was run")

	// ErrNoTime: too little of the context's time is left to run the handler and record its outcome. Nothing
	// was run. Retry: yes.
	ErrNoTime = errors.New("idempotency: too little time left, nothing was run")

	// ErrNotFound: [Lookup] found no record of the key, or one without an outcome that the next request runs anew.
	ErrNotFound = errors.New("idempotency: no record")

	// ErrNoBody: an earlier attempt has done the work, but its answer could not be stored (over 7.5 MiB, not
	// encodable, or its own items were not written), or is lost. Nothing was run this time. Retry: no.
	ErrNoBody = errors.New("idempotency: done, outcome not stored")

	// ErrBadRecord: the table's item cannot be understood: its result does not fit the handler's result type any
	// more, its status, format or fingerprint is of a newer release, or it is damaged. The item was left alone.
	// Nothing was run, unless it comes together with ErrNotRecorded. Retry: no.
	ErrBadRecord = errors.New("idempotency: record not understood")
)

// StateError is an error of the protocol and the record that it concerns. Get it with errors.AsType[*StateError].
type StateError struct {
	Err        error         // one of the package's sentinels, perhaps with its cause
	ID         string        // the record's id: operation, "#", hash; never the raw key
	Ref        string        // the request's [Request.Ref], as recorded
	Attempt    int64         // the number of the attempt that owns, or owned, the record; 0 if there is none to tell of
	LeaseEnd   time.Time     // when that attempt's lease ends; zero if it has ended by an outcome
	RetryAfter time.Duration // when to ask again; zero if asking again does not help
	Winner     error         // with [ErrLeaseLost]: what a replay of the winner's outcome returns, if it is an error
}

// Error names the record and, where the caller has a choice, the ways out.
func (e *StateError) Error() string {
	var b strings.Builder
	b.WriteString(e.Err.Error())
	fmt.Fprintf(&b, ": record %s", e.ID)
	if e.Ref != "" {
		fmt.Fprintf(&b, ", ref %q", e.Ref)
	}
	if e.Attempt != 0 {
		fmt.Fprintf(&b, ", attempt %d", e.Attempt)
	}
	if !e.LeaseEnd.IsZero() {
		fmt.Fprintf(&b, ", lease until %s", e.LeaseEnd.UTC().Format(time.RFC3339))
	}
	if e.Winner != nil {
		fmt.Fprintf(&b, "; the winner's outcome: %v", e.Winner)
	}
	if errors.Is(e.Err, ErrOutcomeUnknown) {
		b.WriteString("; two ways out: find out what that attempt did and resolve the record (Runner.Resolve)," +
			" or set OnUnknown to Rerun for a handler whose every effect is keyed and may run again")
	}
	return b.String()
}

// Unwrap returns the sentinel with its cause, and the winner's failure.
func (e *StateError) Unwrap() []error {
	if e.Winner == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Winner}
}

// FieldError says which setting or argument was refused, what it was, and the rule that it breaks.
// Nothing was run and the table was not asked. The value of a key or a secret is never shown, only its length.
type FieldError struct {
	Field string // such as "Config.Table" or "Request.Key"
	Value string // the value, or a description of it
	Rule  string // what is asked of the field
	Err   error  // the cause, where there is one: what a type's own MarshalJSON returned
}

func invalid(field, value, rule string) error {
	return &FieldError{Field: field, Value: value, Rule: rule}
}

// Error reads like "idempotency: Config.Wait is -1s: must not be negative".
func (e *FieldError) Error() string {
	return fmt.Sprintf("idempotency: %s is %s: %s", e.Field, e.Value, e.Rule)
}

// Unwrap returns the cause.
func (e *FieldError) Unwrap() error { return e.Err }

// Failure is a replayed terminal failure: what a handler returned as [Terminal] in an earlier request.
// [Config.Failure] can turn it back into the user's own error.
type Failure struct { //nolint:errname // the glossary's word
	// Type is the error's type name as Lambda reports it in errorType: the Go type's name without package or
	// pointer, or what the error's own ErrorType() string method returned.
	Type string

	// Message is what the error's Error method returned, cut at 32 KB.
	Message string

	// Data is the error as encoding/json encodes it; nil if that has nothing in it or is over 32 KB. A bare
	// error of a type with exported fields can be rebuilt from it; one that fmt.Errorf has wrapped cannot.
	Data []byte
}

// Error returns the message of the original error.
func (f *Failure) Error() string { return f.Message }

// ErrorType returns the type name of the original error.
func (f *Failure) ErrorType() string { return f.Type }

// These bound the parts of a recorded failure, so that one always fits into an item, even if JSON needs six bytes
// for each of its characters.
const (
	failureTypeLimit = 1 << 10
	failureLimit     = 32 << 10
)

// failureOf describes err, which is what the first caller got, for the record.
func failureOf(err error) *Failure {
	if f, ok := err.(*Failure); ok { //nolint:errorlint // the outermost type counts, as in Lambda's runtime
		// Of an operation inside the handler, passed on.
		f = &Failure{Type: cut(f.Type, failureTypeLimit), Message: cut(f.Message, failureLimit), Data: f.Data}
		if len(f.Data) > failureLimit || !json.Valid(f.Data) {
			f.Data = nil
		}
		return f
	}
	f := &Failure{Type: errorType(err), Message: err.Error()}
	if v := reflect.ValueOf(err); f.Type == lambdaErrorDocument && v.Kind() == reflect.Struct {
		f.Type, f.Message = stringField(v, "Type", f.Type), stringField(v, "Message", f.Message)
	}
	f.Type, f.Message = cut(f.Type, failureTypeLimit), cut(f.Message, failureLimit)
	f.Data = failureData(err)
	return f
}

// failureData is an extra, so whatever goes wrong with it, a panic of the error's MarshalJSON included, leaves the
// failure without it.
func failureData(err error) (data []byte) {
	defer func() {
		if recover() != nil {
			data = nil
		}
	}()
	data, jsonErr := json.Marshal(err)
	if jsonErr != nil || len(data) > failureLimit || string(data) == "{}" || string(data) == "null" {
		return nil
	}
	return data
}

// lambdaErrorDocument is the one error type that Lambda's runtime does not name itself but takes the name and the
// message from (messages.InvokeResponse_Error). It is known by its name here, since this package does without
// aws-lambda-go; its Error method returns a dump of the struct.
const lambdaErrorDocument = "InvokeResponse_Error"

func stringField(v reflect.Value, name, otherwise string) string {
	if f := v.FieldByName(name); f.Kind() == reflect.String {
		return f.String()
	}
	return otherwise
}

// cut bounds a text. Each byte that is no UTF-8 becomes one replacement character, as in JSON.
func cut(s string, limit int) string {
	s = string([]rune(s))
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "")
	}
	return s
}

// errorType is the error's own word for its type, or else the outermost Go type's name, as Lambda's runtime has it.
func errorType(err error) string {
	if named, ok := err.(interface{ ErrorType() string }); ok {
		return named.ErrorType()
	}
	t := reflect.TypeOf(err)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name()
}
