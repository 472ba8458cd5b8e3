package idempotency

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// call is one request on its way through the protocol. It lives as long as Do.
type call struct {
	r           *Runner
	req         Request // complete
	fingerprint string
	ids         []string // that the record may have, the one to write first; see rotation.go
	id          string   // that it has
	begun       time.Time
	meter       meter
	hit         bool       // the outcome came out of the cache
	claims      *ownership // the latest first; see claimed
}

// begin checks the request and computes what identifies it, before anything can change the input.
func (r *Runner) begin(req Request) (*call, error) {
	req, err := r.fill(req)
	if err != nil {
		return nil, err
	}
	fp, err := req.fingerprint(r.fingerprint)
	if err != nil {
		return nil, err
	}
	ids := r.ids(&req)
	return &call{r: r, req: req, fingerprint: fp, ids: ids, id: ids[0], begun: r.wallNow()}, nil
}

// unknownRetention is that of a record without an outcome: never shorter than that of the outcome to come.
func (c *call) unknownRetention() time.Duration {
	return max(c.r.cfg.UnknownRetention, c.req.Retention)
}

// match says whether the record is bound to this very request. Whoever hands out another attempt's outcome asks
// this first (I1, rule 4).
func (c *call) match(rec *record) error {
	same, err := matchFingerprint(rec.fingerprint, c.fingerprint)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrBadRecord, err)
	case !same:
		return ErrMismatch
	}
	return nil
}

// refuse answers a request for which nothing was run, and tells the observer.
func (c *call) refuse(ctx context.Context, kind Kind, err error, rec *record) error {
	e := c.stateError(err, rec)
	var attempt int64
	if rec != nil {
		attempt = rec.number
	}
	c.emit(ctx, kind, attempt, c.begun, e)
	return e
}

// mismatch answers a request that the record is not bound to; err is what match said. The record's state is none
// of its business.
func (c *call) mismatch(ctx context.Context, err error) error {
	kind := KindMismatch
	if badRecord(err) {
		kind = KindStoreFailure
	}
	return c.refuse(ctx, kind, err, nil)
}

// unavailable answers a request whose record could not be asked, or not be understood (I8).
func (c *call) unavailable(ctx context.Context, operation string, err error) error {
	if badRecord(err) {
		return c.refuse(ctx, KindStoreFailure, err, nil)
	}
	return c.refuse(ctx, KindStoreFailure, fmt.Errorf("%w: %s, table %s: %w", ErrUnavailable, operation, c.r.table.name, err), nil)
}

func (c *call) stateError(err error, rec *record) *StateError {
	e := &StateError{Err: err, ID: c.id, Ref: c.req.Ref}
	if rec != nil {
		e.Attempt, e.LeaseEnd = rec.number, rec.leaseEnd
		if rec.ref != "" {
			e.Ref = rec.ref
		}
	}
	if errors.Is(err, ErrNotRecorded) {
		return e // whatever the handler's own error says, which may come along
	}
	for _, passing := range []error{ErrInProgress, ErrUnavailable, ErrNoTime, ErrLeaseLost} {
		if errors.Is(err, passing) {
			e.RetryAfter = retryAfter()
		}
	}
	return e
}

// noTime answers a request for which too little time is left.
func (c *call) noTime(ctx context.Context, err error) error {
	return c.refuse(ctx, KindNoTime, err, nil)
}

// emit tells the observer of a step that was made. The units consumed so far go with it.
func (c *call) emit(ctx context.Context, kind Kind, attempt int64, since time.Time, err error) {
	if c.r.cfg.Observe == nil {
		return
	}
	read, write := c.meter.take()
	c.r.cfg.Observe(ctx, Event{
		Kind: kind, Operation: c.req.Operation, ID: c.id, Ref: c.req.Ref, Attempt: attempt,
		Duration: c.r.wallNow().Sub(since), Err: err, ReadUnits: read, WriteUnits: write,
	})
}

// retryAfter is short and has jitter, so that refused twins neither wait for the whole lease nor come together.
func retryAfter() time.Duration {
	return retryAfterMin + rand.N(retryAfterMax-retryAfterMin)
}
