package idempotency

import "context"

// lookup reads the record and says what it holds, in the order of [call.decide]: window, fingerprint, status.
func (c *call) lookup(ctx context.Context) (answer, error) {
	rec, err := c.find(ctx)
	if err != nil {
		return answer{}, err
	}
	now := c.r.wallNow()
	if rec == nil { // or its window is over
		return answer{}, c.stateError(ErrNotFound, nil)
	}
	if err := c.match(rec); err != nil {
		return answer{}, c.stateError(err, nil)
	}
	switch {
	case rec.finished():
		return answer{replayed: rec}, nil
	case rec.status == released:
		return answer{}, c.stateError(ErrNotFound, rec)
	case rec.live(now):
		return answer{}, c.stateError(ErrInProgress, rec)
	}
	return answer{}, c.stateError(ErrOutcomeUnknown, rec)
}
