package idempotency

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// shot is a run without a claim: its handler only reads and stages, and its commit is what acquires the key.
type shot struct {
	ending
	staged []*Write
	seen   *record // what the transaction was to be written over
}

// singleShot runs the handler and commits its outcome with what it has staged, in one call. The table is asked last, so that
// whatever the handler says may be about its own earlier effect (H4): before its error goes back, and before a business
// condition is believed, the record is looked at (rules 15 and 16).
func (c *call) singleShot(ctx context.Context, h handler) (answer, error) {
	if err := ctx.Err(); err != nil {
		return answer{}, c.noTime(ctx, fmt.Errorf("%w: the context has ended: %w", ErrNoTime, context.Cause(ctx)))
	}
	times, err := c.r.plan(ctx)
	if errors.Is(err, ErrNoTime) {
		err = c.noTime(ctx, err)
	}
	if err != nil {
		return answer{}, err
	}
	own := &ownership{times: times, attempt: Attempt{Token: rand.Text(), id: c.id}}
	running := newRunning(c, own)
	handling, cancel := c.r.handling(running.in(ctx), times)
	defer cancel()
	s := shot{ending: ending{call: c, own: own, began: c.r.wallNow()}}
	defer running.end()
	handlerErr := h.run(handling) // a panic goes on by itself: there is nothing to end
	running.end()
	a, err := s.end(ctx, running, h, handlerErr)
	if err != nil && a.replayed == nil && s.outlived() && !errors.Is(err, ErrNotRecorded) {
		if _, state := err.(*StateError); state { //nolint:errorlint // what the record says, which is not about this run's window
			err = nil
		}
		return s.notKnown(ctx, errOutlived, err)
	}
	return a, err
}

// end makes an outcome of what the handler has returned, and an answer of that.
func (s shot) end(ctx context.Context, running *running, h handler, handlerErr error) (answer, error) {
	if handlerErr != nil {
		return s.failed(ctx, handlerErr)
	}
	s.staged = running.tx.staged()
	res := running.result(h)
	actions, err := actionsOf(s.staged, len(s.ids)-1, min(len(res.data), s.r.cfg.Inline))
	if err != nil {
		return s.failed(ctx, err)
	}
	return s.commit(ctx, completed, res, actions, nil)
}

// commit makes this run's outcome the key's, or finds the outcome that is already there. Every round makes one decision: the
// record that it met is the next one's starting point.
func (s shot) commit(ctx context.Context, became status, res result, actions []types.TransactWriteItem, handlerErr error) (answer, error) {
	as := s.outcome(ctx, became, res)
	look := s.locate
	if as.beside != nil {
		look = s.find // a replay, which finds out by its commit, must not write the answer's items again
	}
	seen, err := look(ctx)
	if err != nil {
		return s.unread(ctx, err, handlerErr)
	}
	for round := range maxRounds {
		if s.outlived() {
			return s.notKnown(ctx, errOutlived, handlerErr) // it may have committed, in a window that is over: not once more
		}
		if seen != nil {
			passing := s.mayVanish(seen)
			found, again, err := s.decide(ctx, seen)
			if err != nil && passing && s.own.sent() {
				return s.notKnown(ctx, errUnsettled, handlerErr) // a copy of the transaction can commit when the claim is gone
			}
			if err != nil || found != nil {
				return answer{replayed: found, sent: s.own.sent()}, err
			}
			seen = again
		}
		// Now, and not when the handler ended: a lease or a window may have ended since, perhaps in a wait for it. And for the
		// record that it has come to.
		if as.at = s.r.storedNow(); round > 0 || as.id != s.id {
			as = s.outcome(ctx, became, res)
		}
		s.storeOrDrop(ctx, &as)
		w, others := s.write(as, seen), s.alone(as, seen)
		if as.status == completed || len(others) > 0 {
			w = w.with(others, actions)
		}
		if s.seen = seen; as.status == completed {
			s.own.noteSent(as.at)
		}
		rep, err := s.persist(ctx, w, allSends)
		switch {
		case err != nil && (refused(err) || cancelledAlways(err)) && !badRecord(err) && as.status == completed:
			// Nothing is written, unless by an earlier copy, which the look will find.
			return s.failed(ctx, &WriteError{Index: -1, Err: err})
		case err != nil && refused(err) && !s.own.sent():
			return s.unread(ctx, s.unavailable(ctx, "record", err), handlerErr)
		case err != nil:
			return s.notKnown(ctx, err, handlerErr)
		case rep.staged != nil:
			return s.failed(ctx, failedWrite(s.staged, rep.staged))
		case rep.applied, rep.rec != nil && rep.rec.token == s.own.attempt.Token && rep.rec.finished():
			return s.finished(ctx, rep, as, handlerErr)
		case rep.elsewhere:
			if seen, err = s.find(ctx); err != nil {
				return s.unread(ctx, err, handlerErr)
			}
			continue
		}
		seen = rep.rec
	}
	return answer{}, s.refuse(ctx, KindInProgress, ErrInProgress, nil)
}

// failed ends a run that has nothing to commit. An outcome that is there goes before the handler's error, which may be about
// that very outcome. A terminal failure is recorded by the condition that would have committed, which is the look.
func (s shot) failed(ctx context.Context, handlerErr error) (answer, error) {
	class := s.r.cfg.classify(handlerErr)
	handlerErr = unmarked(handlerErr)
	if class == Recorded {
		a, err := s.commit(ctx, failed, failureResult(handlerErr), nil, handlerErr)
		if a.replayed == nil {
			a.class = class
		}
		return a, err
	}
	if s.own.sent() {
		return s.keepOut(ctx, class, handlerErr)
	}
	rec, err := s.find(s.r.ending(ctx, s.own.times))
	if err != nil {
		return s.unread(ctx, err, handlerErr)
	}
	if rec != nil && (rec.finished() || s.match(rec) != nil) {
		return s.met(ctx, rec)
	}
	s.tell(ctx, KindReleased, handlerErr)
	return answer{class: class, reruns: true}, handlerErr
}

// met is the answer that a record which is there has for this request.
func (s shot) met(ctx context.Context, rec *record) (answer, error) {
	if err := s.match(rec); err != nil {
		return answer{}, s.mismatch(ctx, err)
	}
	return answer{replayed: rec, sent: s.own.sent()}, nil
}

// keepOut is the look of a run whose transaction was sent and refused: it writes, since a copy of the transaction may still be
// on its way, and only a record can keep that from committing after the caller has been told that nothing happened. Without an
// answer that copy, or an earlier one, may have committed.
func (s shot) keepOut(ctx context.Context, class Class, handlerErr error) (answer, error) {
	for range maxRounds {
		s.own.attempt.id, s.own.attempt.Token = s.id, rand.Text()
		now := s.r.storedNow()
		cl := claim{
			id: s.id, token: s.own.attempt.Token, ref: s.req.Ref, fingerprint: s.fingerprint, form: formTx,
			now: now, leaseEnd: now, retention: s.unknownRetention(),
		}
		rep, err := s.persist(ctx, s.r.table.keepOut(cl, s.seen, s.seen != nil && s.inside(s.seen)), allSends)
		rec := rep.rec
		switch {
		case err != nil:
			return s.notKnown(ctx, err, handlerErr)
		case !rep.applied && rec != nil && rec.token != cl.token && s.mayVanish(rec):
			return s.notKnown(ctx, errUnsettled, handlerErr)
		case !rep.applied && rec != nil && rec.token != cl.token && !rec.free(now) && (rec.finished() || s.match(rec) != nil):
			return s.met(ctx, rec)
		case !rep.applied && s.seen == nil && (rec == nil || rec.free(now)):
			continue // what was met is gone: there is still nothing that keeps the copy out
		}
		// Written; or there is a record by now that is not the one under whose condition the transaction was sent.
		s.tell(ctx, KindReleased, handlerErr)
		return answer{class: class, reruns: true}, handlerErr
	}
	return s.notKnown(ctx, errUnsettled, handlerErr)
}

// mayVanish: while secrets rotate, who has claimed the record may give it back as if it had never been. It keeps nothing out for
// sure.
func (s shot) mayVanish(rec *record) bool { return len(s.ids) > 1 && rec.live(s.r.wallNow()) }

// unread: the record cannot be asked. If a transaction was sent, a copy of it may commit all the same.
func (s shot) unread(ctx context.Context, err, handlerErr error) (answer, error) {
	if s.own.sent() {
		return s.notKnown(ctx, err, handlerErr)
	}
	if state, ok := err.(*StateError); ok && handlerErr != nil { //nolint:errorlint // made by find
		state.Err = fmt.Errorf("%w; the handler's error: %w", state.Err, handlerErr)
	}
	return answer{}, err
}

// notKnown: whether the transaction has committed is not known. The same request finds out, by committing or by the outcome.
func (s shot) notKnown(ctx context.Context, cause, handlerErr error) (answer, error) {
	a, err := s.notRecorded(ctx, cause, handlerErr)
	if state, ok := err.(*StateError); ok { //nolint:errorlint // made above
		state.RetryAfter = retryAfter()
	}
	return a, err
}

var errUnsettled = errors.New("a transaction was sent, and the record has not settled yet")

// write is the record's part, with a token of its own (rule 21).
func (s shot) write(as ended, seen *record) write {
	s.own.attempt.id, s.own.attempt.Token, s.own.fingerprint = s.id, rand.Text(), s.fingerprint
	if seen != nil {
		s.own.fingerprint = seen.fingerprint
	}
	cl := claim{
		id: s.id, token: s.own.attempt.Token, ref: s.req.Ref, fingerprint: s.fingerprint, form: formTx,
		now: s.own.times.start, retention: s.req.Retention,
	}
	return s.r.table.shot(cl, as, seen, seen != nil && s.inside(seen))
}

// alone are conditions on the records that the key has under other secrets, while these rotate: in one transaction with the
// own write, so that of two workers that write under different ids one commits (rule 27).
func (s shot) alone(as ended, seen *record) []types.TransactWriteItem {
	var checks []types.TransactWriteItem
	for _, id := range s.ids {
		if id != s.id {
			checks = append(checks, s.r.table.free(claim{id: id, token: s.own.attempt.Token, now: as.at}, seen != nil))
		}
	}
	return checks
}
