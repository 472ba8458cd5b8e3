package lambda

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"unicode/utf8"

	"github.com/oncekey/oncekey/idempotency"
)

// HTTPError is an error with an answer for the client, for the handlers behind the HTTP wrappers and for what they stage:
//
//	tx.Update("accounts", key, "SET balance = balance - :a").If("balance >= :a").Value(":a", amount).
//		Else(idempotency.Terminal(&lambda.HTTPError{Status: 402, Body: `{"code":"insufficient_funds"}`}))
//
// It means what errors mean, whatever its status: unmarked it is not recorded and the next request runs; marked
// [idempotency.Terminal] it is recorded, and its replay is the same answer. Give it unwrapped: a wrapped one is an error like
// any other.
type HTTPError struct {
	Status int         // 100 to 999; with another it is an error like any other
	Header http.Header // under canonical names; of a replay those that HTTPConfig.Headers names
	Body   string      // text in UTF-8, at most 32 KB in JSON with the rest; a longer one is not replayed as an answer
}

// Error shows the status alone: the body is for the client.
func (e *HTTPError) Error() string {
	return fmt.Sprintf("HTTP %d %s", e.Status, http.StatusText(e.Status))
}

// httpErrorType is a name that no error of another package has.
const httpErrorType = "oncekey.HTTPError"

// ErrorType is what Lambda and the record call it.
func (e *HTTPError) ErrorType() string { return httpErrorType }

// answerOf is the answer that an error of the handler's has; ok is false if it has none.
func (w *web) answerOf(err error) (r response, ok bool) {
	switch e := err.(type) { //nolint:errorlint // of a wrapped one nothing is recorded: it would be an answer once only
	case *HTTPError:
		return response{Status: e.Status, Headers: e.Header.Clone(), Body: e.Body}, isStatus(e.Status)
	case *idempotency.Failure:
		var recorded HTTPError
		if e.Type != httpErrorType || json.Unmarshal(e.Data, &recorded) != nil {
			return response{}, false
		}
		return w.recorded(response{Status: recorded.Status, Headers: recorded.Header, Body: recorded.Body}), isStatus(recorded.Status)
	}
	return response{}, false
}

func isStatus(n int) bool { return n >= 100 && n <= 999 }

// MarshalJSON is what is recorded: without the headers that never are.
func (e *HTTPError) MarshalJSON() ([]byte, error) {
	type plain HTTPError // without this method
	return json.Marshal(plain{e.Status, recordable(e.Header), e.Body})
}

// recordable is a copy without the headers that are never recorded.
func recordable(h http.Header) http.Header {
	h = h.Clone()
	maps.DeleteFunc(h, func(name string, _ []string) bool {
		return slices.Contains(neverRecorded, textproto.CanonicalMIMEHeaderKey(name))
	})
	return h
}

// HTTPAnswer is an answer as the HTTP wrappers record it: the value for [idempotency.Completed], by which a reconciler says
// what the client of an unknown is to be told. Headers that are never recorded (see HTTPConfig.Headers) are left out.
// A status that is none makes Resolve refuse it.
func HTTPAnswer(status int, header http.Header, body []byte) any {
	if !isStatus(status) {
		return noAnswer(status)
	}
	r := response{Status: status, Headers: recordable(header), Body: string(body)}
	if !utf8.Valid(body) { // which JSON would change
		r.Body, r.Base64 = base64.StdEncoding.EncodeToString(body), true
	}
	return r
}

// noAnswer cannot be recorded.
type noAnswer int

func (n noAnswer) MarshalJSON() ([]byte, error) {
	return nil, fmt.Errorf("HTTPAnswer's status is %d: must be 100 to 999", int(n))
}
