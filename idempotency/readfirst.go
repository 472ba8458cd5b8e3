package idempotency

import (
	"context"
	"time"
)

// readFirstMax bounds the look, as an eighth of the handler's time does.
const readFirstMax = time.Second

// readFirst looks for the outcome before anything is written, if the request asks for it. The read is eventually consistent,
// so that it decides nothing but a replay: an outcome that is bound to this request and inside its window is final, however
// old the copy is. Whatever else it finds, and a read that fails, leave the decision to the conditional write
// (H19, rule 24).
func (c *call) readFirst(ctx context.Context) *record {
	if !c.req.ReadFirst || len(c.ids) > 1 { // while secrets rotate, locate reads anyway
		return nil
	}
	times, err := c.r.plan(ctx)
	if err != nil || ctx.Err() != nil {
		return nil
	}
	// It is there to save a write, and must not take the time that the handler needs.
	reading, cancel := context.WithTimeout(ctx, min(readFirstMax, times.handler.Sub(times.start)/8))
	defer cancel()
	rec, err := c.r.table.read(reading, &c.meter, c.id, false)
	if err != nil || rec == nil || rec.expired(c.r.wallNow()) || !rec.finished() || c.match(rec) != nil {
		return nil
	}
	return rec
}
