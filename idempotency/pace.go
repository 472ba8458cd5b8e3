package idempotency

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// limitCall gives a call half of the time that is left, so that one that hangs leaves time to send it again.
func limitCall(ctx context.Context) (context.Context, context.CancelFunc) {
	end := time.Now().Add(maxCall)
	if deadline, ok := ctx.Deadline(); ok {
		end = earlier(end, time.Now().Add(max(time.Until(deadline)/2, minCall)))
		if ctx.Value(timerless{}) != nil { // or nothing would end the call; otherwise ctx ends first, with its own cause
			end = earlier(end, deadline)
		}
	}
	return context.WithDeadline(ctx, end)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// repeat makes a call until it is done, the table refuses it, or has failed to answer it as often as sends says.
func (t *table) repeat(ctx context.Context, sends int, call func(context.Context) (done bool, err error)) error {
	for n, failures := 0, 0; ; n++ {
		callCtx, cancel := limitCall(ctx)
		done, err := call(callCtx)
		cancel()
		if err != nil {
			failures++
		}
		if done && err == nil || refused(err) || failures == sends {
			return err
		}
		if !sleep(ctx, t.backoff(n, conflictMin)) {
			if err == nil {
				err = fmt.Errorf("the table has not done all of it in time: %w", cmp.Or(context.Cause(ctx), context.DeadlineExceeded))
			}
			return err
		}
	}
}

// backoff is exponential with full jitter: anything up to shortest × 2^n, at most a second. The SDK's own has a
// fixed base of a second, longer than a Lambda function may have left.
func (t *table) backoff(n int, shortest time.Duration) time.Duration {
	limit := pauseMax
	if n < 16 {
		limit = min(pauseMax, shortest<<n)
	}
	return t.jitter(limit)
}

// sleep waits for d and says whether ctx still goes on.
func sleep(ctx context.Context, d time.Duration) bool {
	if b, ok := ctx.(bounded); ok { // which has no timer of its own
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, b.end)
		defer cancel()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
