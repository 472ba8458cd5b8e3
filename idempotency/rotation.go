package idempotency

import (
	"context"
	"time"
)

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

// find reads the records of all ids that the request may have and settles on one: c.id. Every worker settles on
// the same one, whatever the order of its secrets: of two that are bound to different requests on the older, since the
// other one gives way or was left by a worker that died before it could; else on that which tells most, and of two
// alike on the smaller id.
func (c *call) find(ctx context.Context) (*record, error) {
	var best *record
	for _, id := range c.ids {
		rec, err := c.r.table.get(ctx, &c.meter, id)
		if err != nil {
			c.id = id
			return nil, c.unavailable(ctx, "read", err)
		}
		now := c.r.wallNow()
		if rec == nil || rec.free(now) {
			continue
		}
		if best == nil || rec.before(best, now, id < c.id) {
			best, c.id = rec, id
		}
	}
	return best, nil
}

// before says whether find prefers rec to other.
func (rec *record) before(other *record, now time.Time, smaller bool) bool {
	if rec.boundOtherwise(other) {
		return rec.window.Before(other.window)
	}
	if w, o := rec.weight(now), other.weight(now); w != o {
		return w < o
	}
	return smaller
}

// boundOtherwise says whether two records of one key are bound to different requests.
func (rec *record) boundOtherwise(other *record) bool {
	return rec.fingerprint != "" && other.fingerprint != "" && rec.fingerprint != other.fingerprint
}

// weight is smaller the more a record tells: an outcome is the answer, a live lease is to be waited for, an unknown
// is at least a question.
func (rec *record) weight(now time.Time) int {
	switch {
	case rec.finished():
		return 0
	case rec.live(now):
		return 1
	case rec.status == released:
		return 3
	}
	return 2
}

// verifyAlone looks whether the key has another record in use, after this request has become the owner of one. If
// so, it gives its own back and returns the other, for acquire to decide upon. A record that this request has
// created gives way to any: to whatever is bound to the key already. One that find had chosen gives way only to what
// it would have chosen before it.
func (c *call) verifyAlone(ctx context.Context, own *ownership) (met *record, err error) {
	for _, id := range c.ids {
		if id == own.attempt.id {
			continue
		}
		rec, err := c.r.table.get(ctx, &c.meter, id)
		if err != nil {
			c.giveBack(ctx, own)
			c.id = id
			return nil, c.unavailable(ctx, "read", err)
		}
		now := c.r.wallNow()
		if rec == nil || rec.free(now) || !own.created && (!rec.finished() && !rec.live(now) || c.givesWay(rec, own)) {
			continue
		}
		c.giveBack(ctx, own)
		c.id = id
		return rec, nil
	}
	return nil, nil
}

// givesWay says that rec was created for another request after own's record, to which the key is bound: its look will
// find that one.
func (c *call) givesWay(rec *record, own *ownership) bool {
	return rec.boundOtherwise(&record{fingerprint: c.fingerprint}) && rec.window.UnixMilli() > own.attempt.Fence/1024
}
