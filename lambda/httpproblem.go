package lambda

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"time"
)

// problem is a row of the contract: what a client is told instead of the handler's answer. The codes are stable.
type problem struct {
	status int
	code   string
	title  string
	retry  bool // asking again can help
}

var (
	problemMissing       = problem{http.StatusBadRequest, "idempotency_key_missing", "An Idempotency-Key is required", false}
	problemInvalid       = problem{http.StatusBadRequest, "idempotency_key_invalid", "The Idempotency-Key is not valid", false}
	problemUnreadable    = problem{http.StatusBadRequest, "idempotency_request_unreadable", "The request cannot be read", false}
	problemReused        = problem{http.StatusUnprocessableEntity, "idempotency_key_reused", "The Idempotency-Key was used for another request", false}
	problemInProgress    = problem{http.StatusConflict, "operation_in_progress", "The first request with this key is still being worked on", true}
	problemUnknown       = problem{http.StatusConflict, "outcome_unknown", "It is not known whether the operation took place", false}
	problemNotRecorded   = problem{http.StatusInternalServerError, "outcome_not_recorded", "The operation was carried out, but its outcome could not be recorded", false}
	problemUnconfirmed   = problem{http.StatusServiceUnavailable, "idempotency_unconfirmed", "It is not known yet whether the operation was carried out", true}
	problemDone          = problem{http.StatusConflict, "outcome_not_stored", "The operation was carried out; its answer is not stored", false}
	problemExpired       = problem{http.StatusPreconditionFailed, "idempotency_key_expired", "The Idempotency-Key is too old", false}
	problemUnavailable   = problem{http.StatusServiceUnavailable, "idempotency_unavailable", "The operation cannot be carried out now", true}
	problemMisconfigured = problem{http.StatusInternalServerError, "idempotency_misconfigured", "The operation was not started", false}
	problemBadRecord     = problem{http.StatusInternalServerError, "outcome_unreadable", "The operation was carried out before, or may have been; its outcome cannot be read", false}
	problemNotFound      = problem{http.StatusNotFound, "idempotency_key_not_found", "There is no outcome for the Idempotency-Key", false}
)

// as is the problem under another status.
func (p problem) as(status int) problem {
	p.status = status
	return p
}

// problemTypes is where a client's developer finds each code explained.
const problemTypes = "https://github.com/oncekey/oncekey/blob/main/lambda/CLIENTS.md#"

// maxRetryAfter bounds what a client is told, whatever the protocol says.
const maxRetryAfter = 30 * time.Second

// response is the problem as an answer (RFC 9457). detail is for the client's developer and has no key in it.
func (p problem) response(detail string, retryAfter time.Duration) response {
	body, err := json.Marshal(struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Code   string `json:"code"`
		Detail string `json:"detail,omitempty"`
	}{problemTypes + p.code, p.title, p.status, p.code, detail})
	if err != nil { // strings and a number
		panic(err)
	}
	r := response{Status: p.status, Headers: http.Header{"Content-Type": {"application/problem+json"}, "Cache-Control": {"no-store"}}, Body: string(body)}
	if p.retry {
		// To the nearest second: rounded up, the jitter of 1 to 2 s would be lost, and all would come back together.
		seconds := math.Round(min(max(retryAfter, time.Second), maxRetryAfter).Seconds())
		r.Headers.Set("Retry-After", strconv.Itoa(int(seconds)))
	}
	return r
}
