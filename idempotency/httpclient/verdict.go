package httpclient

import (
	"context"
	"crypto/tls"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// verdict says whether to try again after the answer to a try, counted from 0, and how long the server wants that to be
// put off.
func verdict(ctx context.Context, resp *http.Response, err error, try int) (after time.Duration, again bool) {
	if err != nil {
		return 0, !permanent(err)
	}
	if strings.EqualFold(resp.Header.Get("Idempotent-Replayed"), "true") {
		return 0, false // recorded: it will be the same
	}
	after, stated := retryAfter(resp)
	switch resp.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests,
		http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return after, !final(problemCode(ctx, resp))
	case http.StatusConflict:
		switch code := problemCode(ctx, resp); code {
		case "operation_in_progress":
			return after, true
		case "":
			return after, stated || try > 0 // an earlier try may be what is still at work
		default:
			return after, stated && !final(code)
		}
	}
	return 0, false
}

// permanent says that no try can end otherwise: the other end is not the one that is meant, or speaks no TLS.
func permanent(err error) bool {
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	return untrusted || noTLS || errors.Is(err, errNeither)
}

// final says that the same request will not get another answer by being asked again.
func final(code string) bool {
	return code == "idempotency_misconfigured" || strings.HasPrefix(code, "outcome_") || strings.HasPrefix(code, "idempotency_key_")
}

// retryAfter reads the header of RFC 9110, section 10.2.3: seconds, or a date.
func retryAfter(resp *http.Response) (wait time.Duration, stated bool) {
	text := resp.Header.Get("Retry-After")
	// What is out of range comes back as the largest number, some 68 years: longer than it will be tried, and short
	// enough to be added to.
	if seconds, err := strconv.ParseInt(text, 10, 32); (err == nil || errors.Is(err, strconv.ErrRange)) && seconds >= 0 {
		return time.Duration(seconds) * time.Second, true
	}
	if date, err := http.ParseTime(text); err == nil {
		return min(max(0, time.Until(date)), math.MaxInt32*time.Second), true
	}
	return 0, false
}
