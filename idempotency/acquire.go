package idempotency

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"
)

// maxRounds bounds how often a request decides anew because the record changed under it.
const maxRounds = 10

// ownership is what the owner of a record knows of it.
type ownership struct {
	attempt Attempt
	times   deadlines
	kind    Kind // how it became the owner
	created bool // the record is its own making: nothing was bound to the key before, or it was over

	fingerprint string            // the record's, to which a request without one may have been bound
	steps       map[string][]byte // recorded by earlier attempts
	begun       bool              // the record says that a step has begun, in this attempt or an earlier one

	sentAt time.Time // the time of the first outcome that was sent in a transaction: that may have committed, whatever its last copy was told

	earlier *ownership // what the same call has claimed before this
}

// learn notes what the record says of its owner.
func (o *ownership) learn(rec *record) {
	o.attempt.Number, o.attempt.Prior = rec.number, rec.prior
	o.attempt.Fence = fence(rec.window.UnixMilli(), rec.number)
	o.steps, o.begun, o.fingerprint = rec.steps, rec.external, rec.fingerprint
}

// noteSent is for a transaction with an outcome of that time.
func (o *ownership) noteSent(at time.Time) {
	if !o.sent() {
		o.sentAt = at
	}
}

func (o *ownership) sent() bool { return !o.sentAt.IsZero() }

// acquire makes this request the owner of the key's record, or finds the outcome that is already there, or says
// why neither. Each round makes one decision by one conditional write; what the table says instead is the next
// round's starting point.
func (c *call) acquire(ctx context.Context) (found *record, own *ownership, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, c.noTime(ctx, fmt.Errorf("%w: the context has ended: %w", ErrNoTime, context.Cause(ctx)))
	}
	seen, err := c.locate(ctx)
	if err != nil {
		return nil, nil, err
	}
	for range maxRounds {
		if seen != nil {
			found, again, err := c.decide(ctx, seen)
			if err != nil || found != nil {
				return found, nil, err
			}
			seen = again
		}
		rec, own, err := c.claim(ctx, seen)
		switch {
		case err != nil:
			return nil, nil, err
		case own != nil:
			rec, err = c.confirm(ctx, own)
			if err != nil {
				return nil, nil, err
			}
			if rec == nil {
				return nil, own, nil
			}
		}
		seen = rec
	}
	return nil, nil, c.refuse(ctx, KindInProgress, ErrInProgress, nil)
}

// decide says what a record that is there means for this request: its outcome, a refusal, or a record that a
// claim can be made on (nil: as if there were none).
//
// A record of one's own comes first, whatever has become of it since: that is claim's to see (I7). Expiry comes before the fingerprint, since a window that is over binds nobody (rule 24), and the fingerprint
// before everything else: another request must learn neither the outcome nor the state (C12, I1).
func (c *call) decide(ctx context.Context, rec *record) (found, claimable *record, err error) {
	now := c.r.wallNow()
	if c.claimed(rec) != nil {
		return nil, rec, nil
	}
	if rec.free(now) {
		return nil, nil, nil
	}
	if err := c.match(rec); err != nil {
		return nil, nil, c.mismatch(ctx, err)
	}
	switch {
	case rec.finished():
		return rec, nil, nil
	case rec.live(now):
		if c.req.Wait > 0 {
			return c.wait(ctx, rec)
		}
		return nil, nil, c.refuse(ctx, KindInProgress, ErrInProgress, rec)
	case rec.status == released, c.req.OnUnknown == Rerun, c.inside(rec):
		return nil, rec, nil
	}
	// Under Refuse nothing is written: no clock, however wrong, can make an unknown run again (H12).
	return nil, nil, c.refuse(ctx, KindUnknown, ErrOutcomeUnknown, rec)
}

// inside says of an unknown that whatever its attempts did, they did inside of the table, where it is not: they staged
// writes, did not commit and recorded no step. This request promises the same (rule 13).
func (c *call) inside(rec *record) bool {
	return c.req.Tx != 0 && rec.form == formTx && !rec.external && rec.prior == nil
}

// rerunsUnknown says that the next request of this kind runs over the unknown that the attempt leaves.
func (c *call) rerunsUnknown(own *ownership) bool {
	return c.req.OnUnknown == Rerun || c.req.Tx != 0 && !own.begun && own.attempt.Prior == nil
}

// form is what the record says of its owner.
func (c *call) form() string {
	if c.req.Tx != 0 {
		return formTx
	}
	return formDo
}

// claimed returns the claim of this call that has made the record, if one has (I7): the write was applied by an earlier
// copy of the request, whose reply was lost, or that came so late that the call had met another record by then and gone on.
// With another status than INPROGRESS it would be somebody's decision about an attempt that never began (rule 21).
func (c *call) claimed(rec *record) *ownership {
	for own := c.claims; own != nil; own = own.earlier {
		if own.attempt.Token == rec.token && rec.status == inProgress {
			return own
		}
	}
	return nil
}

// claim makes the one conditional write that fits what was seen: acquire on nothing, re-acquire on a released
// record, take over an unknown. It returns what it made its own, or the record that it met instead, which may be its own
// by an earlier copy of the write: that one is then seen.
func (c *call) claim(ctx context.Context, seen *record) (met *record, own *ownership, err error) {
	if seen != nil {
		if own := c.claimed(seen); own != nil {
			own.learn(seen)
			return nil, own, nil
		}
	}
	times, err := c.r.plan(ctx)
	if errors.Is(err, ErrNoTime) {
		err = c.noTime(ctx, err)
	}
	if err != nil {
		return nil, nil, err
	}
	own = &ownership{times: times, kind: KindAcquired, created: seen == nil, fingerprint: c.fingerprint, earlier: c.claims}
	c.claims = own
	own.attempt.id = c.id
	// A fresh token for each decision: one that was used before could make two runs owners at once (H16, rule 21).
	own.attempt.Token = rand.Text()
	cl := claim{
		id: c.id, token: own.attempt.Token, ref: c.req.Ref, fingerprint: c.fingerprint, form: c.form(),
		now: times.start, leaseEnd: times.leaseEnd, retention: c.unknownRetention(),
	}
	var w write
	switch {
	case seen == nil:
		w = c.r.table.acquire(cl)
	case seen.status == released:
		w = c.r.table.reacquire(cl, seen)
	case c.inside(seen):
		w, own.kind = c.r.table.takeOverTx(cl, seen), KindTakenOver
	default:
		w, own.kind = c.r.table.takeOver(cl, seen), KindTakenOver
		own.attempt.Prior = seen.priorOf() // until the table says it better; a clean-up must know (rule 9)
	}

	rep, err := c.r.table.persist(c.r.acquiring(ctx, times), &c.meter, w, fewSends)
	if err != nil {
		return nil, nil, c.unanswered(ctx, own, rep, err)
	}
	switch {
	case rep.applied && seen != nil && rep.rec == nil:
		return nil, nil, c.unanswered(ctx, own, rep, errNoAttributes)
	case rep.applied && seen == nil:
		own.attempt.Number, own.attempt.Fence = 1, fence(times.start.UnixMilli(), 1)
		if old := rep.rec; old != nil {
			if !old.givenBack() {
				own.kind = KindExpired
			}
			if old.status == inProgress || old.status == unknown {
				own.attempt.Prior = old.priorOf() // rule 8
			}
		}
	case rep.applied:
		own.learn(rep.rec)
	default:
		return rep.rec, nil, nil
	}
	return nil, own, nil
}

var errNoAttributes = errors.New("the client returned no attributes of an update that asked for ALL_NEW")

// fence grows from window to window by the windows' start and inside a window by the attempt's number (rule 19).
func fence(windowMilli, number int64) int64 { return windowMilli*1024 + number }

// confirm looks at the clock after the acquire's reply, which may have taken long: a process that was frozen,
// or throttled for seconds, must not start a handler that another attempt may have replaced (H2, rule 2). The
// gap between this look and the handler's effect can only be closed by the other side, with the fence.
//
// It returns the record that has to be decided upon instead, if the key has another one.
func (c *call) confirm(ctx context.Context, own *ownership) (met *record, err error) {
	if met, err := c.verifyAlone(ctx, own); err != nil || met != nil {
		return met, err
	}
	return nil, c.inTime(ctx, own)
}

// inTime gives the record back if it is too late to start the handler.
func (c *call) inTime(ctx context.Context, own *ownership) error {
	now := c.r.wallNow()
	if ctx.Err() == nil && now.Before(own.times.handler) {
		return nil
	}
	c.giveBack(ctx, own)
	if cause := context.Cause(ctx); cause != nil {
		return c.noTime(ctx, fmt.Errorf("%w: the context ended while the key was acquired: %w", ErrNoTime, cause))
	}
	return c.noTime(ctx, fmt.Errorf("%w: acquiring the key took %s", ErrNoTime, now.Sub(own.times.start)))
}

// unanswered ends a claim that the table refused or did not answer. Nothing was run. The write may have been made
// all the same, even if the last word was a refusal: the SDK may have repeated a request whose reply was lost. So
// one ending write goes out; without it the key would be blocked for the lease, and for the whole window under
// Refuse, by an attempt that never ran (H10, rule 9). A copy of the claim that is delayed in the network may still
// land after that.
func (c *call) unanswered(ctx context.Context, own *ownership, rep reply, err error) error {
	if rep.applied || !badRecord(err) {
		c.giveBack(ctx, own)
	}
	return c.unavailable(ctx, "acquire", err)
}

// giveBack ends an attempt whose handler has not run. It is best effort: without it the record says
// "in progress" until the lease ends, and then unknown, which is safe.
func (c *call) giveBack(ctx context.Context, own *ownership) {
	now := c.r.wallNow()
	expiry := now.Add(c.unknownRetention())
	s, kind := released, KindReleased
	switch {
	case own.created && len(c.ids) > 1:
		// As if it had never been: a second record of the key must not bind it to another request. What it has
		// replaced was over.
		expiry = now.Add(-DefaultRetention)
	case own.attempt.Prior != nil:
		s, kind = unknown, KindUnknown // what was unknown before stays so (H1)
	}
	rep, err := c.r.table.send(c.r.ending(ctx, own.times), &c.meter, c.r.table.leave(own, s, expiry))
	switch {
	case err != nil:
		c.emit(ctx, KindStoreFailure, own.attempt.Number, c.begun, fmt.Errorf("give back: %w", err))
	case rep.applied:
		c.emit(ctx, kind, own.attempt.Number, c.begun, nil)
	}
}
