package httpclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// verdict says whether to try again, and how long the server wants that to be put off.
func verdict(resp *http.Response, err error) (wait time.Duration, again bool) {
	if err != nil {
		return 0, !permanent(err)
	}
	if resp.Header.Get("Idempotent-Replayed") == "true" {
		return 0, false // recorded: it will be the same
	}
	after, stated := retryAfter(resp)
	switch resp.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, http.StatusInternalServerError:
		return after, !final(problemCode(resp))
	case http.StatusConflict:
		code := problemCode(resp)
		return after, code == "operation_in_progress" || code == "" && stated
	}
	return 0, false
}

// final says that the same request will not get another answer by being asked again.
func final(code string) bool {
	return code == "idempotency_misconfigured" || strings.HasPrefix(code, "outcome_") || strings.HasPrefix(code, "idempotency_key_")
}

// retryAfter reads the header of RFC 9110, section 10.2.3: seconds, or a date.
func retryAfter(resp *http.Response) (wait time.Duration, stated bool) {
	text := resp.Header.Get("Retry-After")
	// What is out of range comes back as the largest number, which is longer than any budget.
	if seconds, err := strconv.ParseInt(text, 10, 32); (err == nil || errors.Is(err, strconv.ErrRange)) && seconds >= 0 {
		return time.Duration(seconds) * time.Second, true
	}
	if date, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(date)), true
	}
	return 0, false
}

// How much of a problem document is read, and how long.
const (
	maxProblem  = 64 << 10
	problemTime = 5 * time.Second
)

// problemCode is the code of the answer's problem document, "" if it has none. The body can be read again after it.
func problemCode(resp *http.Response) string {
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || kind != "application/problem+json" {
		return ""
	}
	stalled := time.AfterFunc(problemTime, func() { _ = resp.Body.Close() })
	defer stalled.Stop()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	var rest io.Reader = resp.Body
	if err != nil {
		rest = failing{err} // whoever reads on gets to the same end
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), rest), resp.Body}
	var problem struct {
		Code string `json:"code"`
	}
	if json.Unmarshal(text, &problem) != nil {
		return ""
	}
	return problem.Code
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
