package idempotency

import "context"

// lookup reads the record and says what it holds, in the order of [call.decide]: window, fingerprint, status.
func (c *call) lookup(ctx context.Context) (answer, error) {
	rec, err := c.find(ctx)
	if err != nil {
		return answer{}, err
	}
	now := c.r.wallNow()
	if rec == nil || rec.free(now) {
		return answer{}, c.stateError(ErrNotFound, nil)
	}
	if err := c.match(rec); err != nil {
		return answer{}, c.stateError(err, nil)
	}
	switch {
	case rec.finished():
		c.emit(ctx, KindReplayed, rec.number, c.begun, nil)
		return answer{id: c.id, replayed: rec}, nil
	case rec.status == released:
		return answer{}, c.stateError(ErrNotFound, rec)
	case rec.live(now):
		e := c.stateError(ErrInProgress, rec)
		e.RetryAfter = retryAfter()
		return answer{}, e
	}
	return answer{}, c.stateError(ErrOutcomeUnknown, rec)
}

// find reads the records of all ids that the request may have and settles on one: c.id. While secrets rotate,
// two ids can have a record each; one that is more than released goes first, then the smaller id, so that every
// worker settles on the same one, whatever the order of its secrets.
func (c *call) find(ctx context.Context) (*record, error) {
	var best *record
	for _, id := range c.ids {
		rec, err := c.r.table.get(ctx, &c.meter, id)
		if err != nil {
			return nil, c.unavailable(ctx, "read", err)
		}
		if rec == nil || rec.free(c.r.wallNow()) {
			continue
		}
		better := best == nil || rec.status != released && best.status == released ||
			(rec.status == released) == (best.status == released) && id < c.id
		if better {
			best, c.id = rec, id
		}
	}
	return best, nil
}
