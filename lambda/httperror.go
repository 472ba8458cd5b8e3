package lambda

import (
	"encoding/base64"
	"encoding/json"
	"errors"
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
// [idempotency.Terminal] it is recorded, and its replay is the same answer. Give it unwrapped: of a wrapped one nothing is
// recorded but the text. What is recorded of it is at most 32 KB of JSON.
type HTTPError struct {
	Status int
	Header http.Header // under canonical names; what is recorded of it is as with answers
	Body   string      // text
}

// Error shows the status alone: the body is for the client.
func (e *HTTPError) Error() string {
	return fmt.Sprintf("HTTP %d %s", e.Status, http.StatusText(e.Status))
}

// answerOf is the answer that an error of the handler's has; ok is false if it has none.
func (w *web) answerOf(err error) (r response, ok bool) {
	if e, is := errors.AsType[*HTTPError](err); is && e.Status >= 100 && e.Status <= 999 {
		return response{Status: e.Status, Headers: e.Header.Clone(), Body: e.Body}, true
	}
	f, is := errors.AsType[*idempotency.Failure](err)
	if !is || f.Type != "HTTPError" {
		return response{}, false
	}
	var e HTTPError
	if json.Unmarshal(f.Data, &e) != nil || e.Status < 100 || e.Status > 999 {
		return response{}, false
	}
	return w.recorded(response{Status: e.Status, Headers: e.Header, Body: e.Body}), true
}

// HTTPAnswer is an answer as the HTTP wrappers record it: the value for [idempotency.Completed], by which a reconciler says
// what the client of an unknown is to be told. Headers that are never recorded (see HTTPConfig.Headers) are left out.
func HTTPAnswer(status int, header http.Header, body []byte) any {
	r := response{Status: status, Headers: header.Clone(), Body: string(body)}
	maps.DeleteFunc(r.Headers, func(name string, _ []string) bool {
		return slices.Contains(neverRecorded, textproto.CanonicalMIMEHeaderKey(name))
	})
	if !utf8.Valid(body) { // which JSON would change
		r.Body, r.Base64 = base64.StdEncoding.EncodeToString(body), true
	}
	return r
}
