package idempotency

import "context"

// A key has one record under each secret, and while a secret is rotated there are workers that write under the
// old one and workers that write under the new. Two things together keep one owner: every request first looks
// for a record under all its ids, and after it has become the owner of one it looks at the others again. Of two
// workers that write at once under different ids, at least one sees the other's record there, and a worker
// that does gives its own back before its handler starts (rule 27).

// locate settles on the id to write. With one secret, or none, it asks nothing.
func (c *call) locate(ctx context.Context) (*record, error) {
	if len(c.ids) == 1 {
		return nil, nil
	}
	return c.find(ctx)
}

// verifyAlone looks whether the key has another record in use, after this request has become the owner of one.
func (c *call) verifyAlone(ctx context.Context, own *ownership) error {
	for _, id := range c.ids {
		if id == own.attempt.id {
			continue
		}
		rec, err := c.r.table.get(ctx, &c.meter, id)
		if err != nil {
			c.giveBack(ctx, own)
			return c.unavailable(ctx, "read", err)
		}
		if rec != nil && !rec.free(c.r.wallNow()) && rec.status != released {
			c.giveBack(ctx, own)
			return c.refuse(ctx, KindInProgress, ErrInProgress, rec)
		}
	}
	return nil
}
