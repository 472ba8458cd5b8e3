package lambda

import (
	"context"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/oncekey/oncekey/idempotency"
)

// RecordDefault is this package's choice (November 2026); the draft leaves it to the server. It records what is final: 2xx, 3xx, and 4xx but for 401, 403, 404, 408, 409, 421, 423, 424, 425 and 429,
// where nothing has happened and the next answer may differ. 502 and 504 leave open what happened on the other side,
// and so does a status that is none; other 5xx release the key, and so say that nothing has happened: after an effect answer
// 502, call [OutcomeUnknown], or return an error marked [idempotency.Unknown]. An answer that would release the key, from a
// handler whose context has ended, leaves open what happened too.
func RecordDefault(status int) idempotency.Class {
	switch {
	case status < 200 || status > 599, status == http.StatusBadGateway, status == http.StatusGatewayTimeout:
		return idempotency.Ambiguous
	case status >= 500, slices.Contains(passing, status):
		return idempotency.Released
	}
	return idempotency.Recorded
}

// passing are the client's errors that may have another answer next time.
var passing = []int{
	http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusRequestTimeout, http.StatusConflict,
	http.StatusMisdirectedRequest, http.StatusLocked, http.StatusFailedDependency, http.StatusTooEarly, http.StatusTooManyRequests,
}

// RecordStripe records every answer of a handler that has started, 500 included, as Stripe's API does
// (https://docs.stripe.com/api/idempotent_requests, read in November 2026). What is refused before the work begins, such
// as parameters that do not fit, is not recorded there either: call [NotStarted] for it.
func RecordStripe(status int) idempotency.Class {
	if status < 200 || status > 599 {
		return idempotency.Ambiguous
	}
	return idempotency.Recorded
}

// RecordSuccess is this package's (November 2026), for handlers whose refusals are cheap. It records 2xx alone: every other answer is given anew. 502 and 504 leave open what happened.
func RecordSuccess(status int) idempotency.Class {
	class := RecordDefault(status)
	if class == idempotency.Recorded && status >= 300 {
		return idempotency.Released
	}
	return class
}

// DefaultHeaders are the names of the response headers that are recorded unless HTTPConfig.Headers says otherwise:
// those that say what the body is, where the result is to be found, and which page of a browser may read it. To add one:
//
//	Headers: append(lambda.DefaultHeaders(), "X-Charge-Id")
func DefaultHeaders() []string {
	return []string{
		"Access-Control-Allow-Credentials", "Access-Control-Allow-Origin", "Access-Control-Expose-Headers",
		"Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language", "Content-Location", "Content-Type",
		"ETag", "Expires", "Last-Modified", "Link", "Location", "Vary", "X-Content-Type-Options",
	}
}

// neverRecorded belong to one caller, or to one connection (RFC 9110, section 7.6.1).
var neverRecorded = []string{
	"Authorization", "Cookie", "Proxy-Authenticate", "Proxy-Authorization", "Set-Cookie", "Www-Authenticate", "Authentication-Info",
	"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length", "Date",
	replayedHeader,
}

// told is what a handler has said of itself.
type told struct{ notStarted, unknown atomic.Bool }

type toldKey struct{}

// NotStarted says that the handler behind an HTTP wrapper has done nothing, and will answer that it cannot: its answer goes
// to the client and is not recorded, whatever its status. For requests that are refused before the work begins. The key stays
// bound to the request: a mended one takes another key. Of an error it says nothing: mark that with [idempotency.Safe].
// Outside of such a handler it does nothing.
func NotStarted(ctx context.Context) {
	if t, ok := ctx.Value(toldKey{}).(*told); ok {
		t.notStarted.Store(true)
	}
}

// OutcomeUnknown says that the handler behind an HTTP wrapper does not know whether its effect has happened, as an error
// marked [idempotency.Unknown] does: for net/http handlers, which return no error. Its answer is not recorded, whatever its
// status, and the client is told of the unknown. It outweighs NotStarted. Outside of such a handler it does nothing.
func OutcomeUnknown(ctx context.Context) {
	if t, ok := ctx.Value(toldKey{}).(*told); ok {
		t.unknown.Store(true)
	}
}

// class is what an answer means for its record. A handler whose time was over, or whose client has gone, may have been
// stopped in the middle, whatever it makes of that: only an answer that is final is taken at its word.
func (w *web) class(ctx context.Context, status int, t *told) idempotency.Class {
	class := w.cfg.Record(status)
	if class != idempotency.Released && class != idempotency.Recorded && class != idempotency.Ambiguous {
		class = RecordDefault(status)
	}
	switch {
	case t.unknown.Load():
		return idempotency.Ambiguous
	case t.notStarted.Load():
		return idempotency.Released
	case class == idempotency.Released && ctx.Err() != nil:
		return idempotency.Ambiguous
	}
	return class
}
