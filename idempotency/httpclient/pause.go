package httpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"
)

const (
	firstDelay = 100 * time.Millisecond
	maxDelay   = 10 * time.Second
)

// backoff is drawn from an interval that doubles from try to try. The whole of it is jitter, so that clients that
// failed together do not come back together; on top of Retry-After too, which a server gives to all of them alike.
func backoff(try int) time.Duration {
	return rand.N(min(maxDelay, firstDelay<<min(try, 10)))
}

type pauseFunc func(ctx context.Context, wait time.Duration, resp *http.Response) error

// pause lets go of an answer that is not the last, nil for none, and waits. The error is the context's, if that ends
// first.
func pause(ctx context.Context, wait time.Duration, resp *http.Response) error {
	until, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if resp != nil {
		drop(until, resp)
	}
	<-until.Done()
	if ctx.Err() == nil {
		return nil
	}
	return ended(ctx)
}

// ended is the context's error, and its cause if that does not say so itself.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w (%w)", err, cause)
}

// maxDrain is how much of a dropped answer is read, in bytes. Over HTTP/1 a connection can be used again only after the
// end of an answer; reading more than this costs more than a new connection.
const maxDrain = 4 << 10

// drop reads a short answer to its end and closes it, at the latest when the context ends: reading takes nothing but
// time that is waited anyway.
func drop(until context.Context, resp *http.Response) {
	defer closeAt(until, resp.Body)()
	if resp.ContentLength <= maxDrain { // -1 if it is not known
		_, _ = io.CopyN(io.Discard, resp.Body, maxDrain+1) // one more, to see the end of one that has just the size
	}
	_ = resp.Body.Close()
}

// closeAt closes a body, and so ends a Read that hangs, when the context ends before the returned function is called.
func closeAt(ctx context.Context, body io.Closer) (stop func() bool) {
	return context.AfterFunc(ctx, func() { _ = body.Close() })
}
