package idempotency

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// A nested operation's error is released whatever its handler had marked: a mark speaks for the operation that it
// was returned to, and that one's own record guards its effect.
func TestClassify_MarkInsideANestedError(t *testing.T) {
	t.Parallel()
	for name, mark := range map[string]func(error) error{"terminal": Terminal, "unknown": Unknown, "safe": Safe} {
		for _, sentinel := range []error{ErrNotRecorded, ErrLeaseLost} {
			inner := fmt.Errorf("pay: %w", mark(errors.New("declined")))
			err := &StateError{Err: fmt.Errorf("%w; the handler's error: %w", sentinel, inner)}
			if class, marked := classOf(fmt.Errorf("order: %w", err)); class != Released || marked {
				t.Errorf("%s in %v: class %d, marked %t", name, sentinel, class, marked)
			}
			wantClass(t, err, Released)
			wantClass(t, &StateError{Err: sentinel, Winner: inner}, Released)
			wantClass(t, Unknown(err), Ambiguous) // one's own mark counts
		}
	}
}

// H15: a client that tries again shows its last try only, which says nothing of the ones before.
func TestClassify_TriesBeforeTheLast(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]error{
		"throttled":     &types.ProvisionedThroughputExceededException{},
		"refused":       &net.OpError{Op: "dial", Err: errors.New("connection refused")},
		"no permission": answered(400, "AccessDeniedException"),
		"plain":         errors.New("plain"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantClass(t, &retry.MaxAttemptsError{Attempt: 1, Err: last}, Released)
			for attempt := 2; attempt <= 3; attempt++ {
				wantClass(t, &retry.MaxAttemptsError{Attempt: attempt, Err: last}, Ambiguous)
			}
			wantClass(t, Safe(&retry.MaxAttemptsError{Attempt: 3, Err: last}), Released)
		})
	}
}

// The same from a real client: the first request is received and gets no answer, the second is throttled.
func TestClassify_RealSDKThrottledAfterALostReply(t *testing.T) {
	t.Parallel()
	tries := 0
	address := loopback(t, func(conn net.Conn) {
		readRequest(conn)
		if tries++; tries > 1 {
			const body = `{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException","message":"slow down"}`
			_, _ = fmt.Fprintf(conn, "HTTP/1.1 400 X\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(body), body)
		}
	})
	wantClass(t, callTable(t.Context(), t, address, 2), Ambiguous)
}

// H15: errors that net/http makes without a type of their own, by http.Client while a body is read and by a transport that
// is called without one.
func TestClassify_RealHTTPErrorsWithoutType(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]string{
		"nothing":          "",
		"half a header":    "HTTP/1.1 200 OK\r\nContent-Le",
		"no status":        "HTTP/1.1 abc\r\n\r\n",
		"no HTTP":          "\x00\x01\x02\r\n\r\n",
		"no length":        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
		"no colon":         "HTTP/1.1 200 OK\r\nnocolon\r\n\r\n",
		"no chunk":         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"a chunk too long": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcdef\r\n",
		"no gzip":          "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 20\r\n\r\nhellohellohellohello",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := "http://" + loopback(t, func(conn net.Conn) {
				readRequest(conn)
				_, _ = io.WriteString(conn, reply)
			})
			transport := &http.Transport{}
			wantClass(t, post(t.Context(), freshClient(t, transport), target), Ambiguous)
			wantClass(t, roundTrip(t.Context(), transport, target), Ambiguous)
		})
	}
}

// roundTrip is post without an http.Client, which would wrap most errors into an url.Error.
func roundTrip(ctx context.Context, transport http.RoundTripper, target string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, strings.NewReader("amount=1"))
	if err != nil {
		return err
	}
	res, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	_, err = io.ReadAll(res.Body)
	return err
}

// What begins like an error of the client, and is one of a request that was received or an answer that was read, or
// the user's own.
func TestClassify_HTTPErrorsOfNoTransport(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		http.ErrMissingFile, http.ErrNoCookie, http.ErrNoLocation,
		errors.New("order 17: http: not accepted"), fmt.Errorf("order %d", 17), errors.New("gzipped twice"),
	} {
		wantClass(t, err, Released)
	}
	for _, text := range []string{"http2: client connection lost", "net/http: HTTP/1.x transport connection broken", "invalid byte in chunk length", "malformed chunked encoding"} {
		wantClass(t, errors.New(text), Ambiguous)
	}
}

// H15, I5: the SDK's quota for retries ends a call that was tried before, with an error of its own.
func TestClassify_RetryQuota(t *testing.T) {
	t.Parallel()
	throttled := &types.ThrottlingException{}
	wantClass(t, errors.Join(throttled, fmt.Errorf("failed to get rate limit token, %w", ratelimit.QuotaExceededError{})), Ambiguous)
}
