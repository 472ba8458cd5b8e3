package idempotency

import (
	"context"
	"errors"
	"fmt"
)

// wait polls a record in progress until its attempt has ended, or the request's wait or time is over. It returns
// as decide does. It only reads: a waiter that gives up leaves no trace (C13).
//
// Polls have exponential backoff with full jitter, so that a thousand twins neither come together nor load the
// key's partition more with every second (C14).
func (c *call) wait(ctx context.Context, rec *record) (found, claimable *record, err error) {
	times, err := c.r.plan(ctx)
	if errors.Is(err, ErrNoTime) {
		return nil, nil, c.refuse(ctx, KindInProgress, ErrInProgress, rec)
	}
	if err != nil {
		return nil, nil, err
	}
	began := times.start
	until := began.Add(c.req.Wait)
	if _, bounded := ctx.Deadline(); bounded && times.handler.Before(until) {
		until = times.handler
	}
	waiting, cancel := context.WithDeadline(ctx, c.r.toContext(until))
	defer cancel()
	for n := 0; ; n++ {
		if !sleep(waiting, c.r.table.backoff(n, pollMin)) {
			c.emit(ctx, KindWaited, rec.number, began, nil)
			err := ErrInProgress
			if cause := context.Cause(ctx); cause != nil {
				err = fmt.Errorf("%w: while waiting: %w", err, cause)
			}
			return nil, nil, c.refuse(ctx, KindInProgress, err, rec)
		}
		polled, err := c.r.table.get(waiting, &c.meter, c.id)
		switch {
		case err == nil && polled != nil && polled.live(c.r.wallNow()) && c.match(polled) == nil && c.claimed(polled) == nil:
			rec = polled
		case err == nil:
			// It ended, it is gone, it is another request's or one's own: a decision like that of a new request (rule 26).
			c.emit(ctx, KindWaited, rec.number, began, nil)
			c.req.Wait = max(until.Sub(c.r.wallNow()), 0)
			if polled == nil {
				return nil, nil, nil
			}
			return c.decide(ctx, polled)
		case refused(err):
			return nil, nil, c.unavailable(ctx, "wait", err)
		}
		// A poll without an answer changes nothing: the next one asks again.
	}
}
