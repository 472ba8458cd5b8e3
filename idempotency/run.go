package idempotency

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/smithy-go"
)

// run runs the handler of the attempt that owns the record, and records how it ended before anybody is told (I9).
func (c *call) run(ctx context.Context, own *ownership, h handler) (answer answer, err error) {
	e := ending{call: c, own: own, began: c.r.wallNow()}
	running := newRunning(c, own)
	handling, cancel := c.r.handling(running.in(ctx), own.times)
	defer cancel()

	ran, told := false, false
	defer func() {
		running.end()
		// A panic, or runtime.Goexit: both go on by themselves after this, with their value and stack. Not
		// recovered and raised again, since that would show another stack and turn Goexit into a panic.
		switch {
		case told:
		case ran:
			_, _ = e.unknown(ctx, errAbandoned) // there is nobody to tell: the panic is the answer
		default:
			c.giveBack(ctx, own) // the observer's: the handler has not run
		}
	}()
	c.emit(ctx, own.kind, own.attempt.Number, c.begun, nil)
	if err := c.inTime(ctx, own); err != nil { // the observer may have taken long
		told = true
		return answer, err
	}
	ran = true
	handlerErr := h.run(handling)
	running.end()
	var class Class
	var res result
	if handlerErr == nil {
		res = running.result(h)
	}
	if staged := running.tx.staged(); handlerErr == nil && len(staged) > 0 {
		var done bool
		if answer, done, err = e.commit(ctx, staged, res); done {
			told = true
			return answer, err
		}
		handlerErr = err    // the transaction has left nothing: as if the handler had returned this
		switch err.(type) { //nolint:errorlint // the library's own, not one that the handler has given to Else
		case *WriteError, *FieldError:
			if own.begun || c.req.Tx == 0 {
				// What a step has done is there, or what a handler that promises nothing may have done, and what belongs to it
				// is not. Nobody has said what that means: somebody has to see to it, also if this caller never asks again.
				handlerErr = Unknown(err)
			}
		}
	}
	if handlerErr != nil {
		class = c.r.cfg.classify(handlerErr)
		handlerErr = unmarked(handlerErr)
		if class == Released && running.open() {
			class = Ambiguous // a step has had its effect, or may have it yet, and is not recorded
		}
		if class == Recorded {
			res = failureResult(handlerErr)
		}
	}
	var as ended // a codec that panics leaves an unknown, as the handler would
	switch class {
	case 0:
		as = e.outcome(ctx, completed, res)
	case Recorded:
		as = e.outcome(ctx, failed, res)
	default:
	}
	told = true

	switch class {
	case Ambiguous:
		answer, err = e.unknown(ctx, handlerErr)
	case Released:
		answer, err = e.release(ctx, handlerErr)
	default:
		answer, err = e.finish(ctx, as, handlerErr)
	}
	answer.class = class
	answer.reruns = class == Released && own.attempt.Prior == nil || class != 0 && class != Recorded && c.rerunsUnknown(own)
	return answer, err
}

var errAbandoned = errors.New("the handler panicked or ended its goroutine")

// ending is the end of an attempt whose handler has run.
type ending struct {
	*call
	own   *ownership
	began time.Time
}

// finish writes the outcome. If that fails for good, the caller must not get it: it is told that the effect may
// have happened, and nothing but a completion may follow, since the write may still have been applied (rule 22).
func (e ending) finish(ctx context.Context, as ended, handlerErr error) (answer, error) {
	e.storeOrDrop(ctx, &as)
	rep, err := e.persist(ctx, e.r.table.finish(e.own, as, e.req.Retention), allSends)
	switch api, _ := errors.AsType[smithy.APIError](err); {
	case err == nil || !refused(err) || badRecord(err):
	case api.ErrorCode() == "ValidationException" && as.err == nil:
		// The table will never take it, for its size perhaps. That the work is done can still be recorded.
		as.drop(err)
		rep, err = e.persist(ctx, e.r.table.finish(e.own, as, e.req.Retention), allSends)
	default:
		// A right that is missing for a moment, a session that has expired: worth one more try.
		rep, err = e.persist(ctx, e.r.table.finish(e.own, as, e.req.Retention), allSends)
	}
	if err != nil {
		return e.notRecorded(ctx, err, handlerErr)
	}
	return e.finished(ctx, rep, as, handlerErr)
}

// outcome is made on the time of the ending, which a codec may need some of.
func (e ending) outcome(ctx context.Context, s status, res result) ended {
	return e.call.outcome(e.r.ending(ctx, e.own.times), s, res)
}

// storeOrDrop leaves the outcome without a body if its items cannot be written, whatever keeps them from it: the work is done,
// and that must be recorded (rule 25).
func (e ending) storeOrDrop(ctx context.Context, as *ended) {
	if as.beside == nil {
		return
	}
	if err := e.storeBeside(e.r.ending(ctx, e.own.times), as, as.at.Add(e.req.Retention)); err != nil {
		as.drop(err)
	}
}

// keep remembers the outcome that this attempt has recorded.
func (e ending) keep(as ended) {
	if as.err != nil {
		return
	}
	e.remember(&record{
		status: as.status, token: e.own.attempt.Token, number: max(e.own.attempt.Number, 1), completed: as.at, fingerprint: e.own.fingerprint, ref: e.req.Ref,
		expires: upToSecond(as.at.Add(e.req.Retention)), body: as.body,
	}, as.data)
}

// finished reads the table's answer to the write of an outcome.
func (e ending) finished(ctx context.Context, rep reply, as ended, handlerErr error) (answer, error) {
	kind := KindCompleted
	if as.status == failed {
		kind = KindFailed
	}
	switch {
	case rep.applied:
		e.keep(as)
		e.tell(ctx, kind, as.err)
		return answer{completed: as.at}, handlerErr
	case rep.rec == nil:
		return e.notRecorded(ctx, errGone, handlerErr)
	case rep.rec.token == e.own.attempt.Token && rep.rec.finished():
		// Nobody else records under this token: it is our own write, whose reply was lost (I7).
		if !rep.rec.body.encoding.none {
			as.err = nil
		}
		e.tell(ctx, kind, as.err)
		if rep.rec.status != as.status || as.err == nil && !rep.rec.body.equal(as.body) {
			return answer{replayed: rep.rec, sent: true}, nil // edited by hand since: what is recorded counts (rule 22)
		}
		return answer{completed: rep.rec.completed}, handlerErr
	}
	return e.lost(ctx, rep.rec, handlerErr)
}

var errGone = errors.New("the record is gone")

func (e ending) notRecorded(ctx context.Context, cause, handlerErr error) (answer, error) {
	err := fmt.Errorf("%w: %w", ErrNotRecorded, cause)
	if handlerErr != nil {
		err = fmt.Errorf("%w; the handler's error: %w", err, handlerErr)
	}
	stateErr := e.stateError(err, nil)
	stateErr.Attempt = e.own.attempt.Number
	e.tell(ctx, KindNotRecorded, stateErr)
	return answer{}, stateErr
}

// release ends an attempt of which nothing has to be remembered.
func (e ending) release(ctx context.Context, handlerErr error) (answer, error) {
	if e.own.attempt.Prior != nil {
		return e.leave(ctx, unknown, KindUnknown, handlerErr) // the unknown that it found is still one (H1, rule 1)
	}
	return e.leave(ctx, released, KindReleased, handlerErr)
}

// unknown ends an attempt whose effect may have happened.
func (e ending) unknown(ctx context.Context, handlerErr error) (answer, error) {
	return e.leave(ctx, unknown, KindUnknown, handlerErr)
}

// leave ends the attempt without an outcome. Whatever becomes of the write, the caller gets the handler's error
// (C54): until the lease ends the record says "in progress", and then unknown. The exceptions are a record in which
// another attempt has recorded the outcome, and, once a transaction was sent, its own outcome and whatever leaves open
// whether it has committed.
func (e ending) leave(ctx context.Context, s status, kind Kind, handlerErr error) (answer, error) {
	rep, err := e.persist(ctx, e.r.table.leave(e.own, s, e.r.wallNow().Add(e.unknownRetention())), fewSends)
	switch {
	case err != nil && e.own.sent():
		// A copy of our transaction may still be on its way: that it did not commit is more than is known.
		return e.notRecorded(ctx, err, handlerErr)
	case err != nil:
		e.tell(ctx, KindStoreFailure, fmt.Errorf("%s not recorded: %w", s, err))
	case rep.applied, rep.rec != nil && e.wrote(rep.rec, s):
		e.tell(ctx, kind, handlerErr)
	case rep.rec == nil && e.own.sent():
		return e.notRecorded(ctx, errGone, handlerErr)
	case rep.rec == nil:
		e.tell(ctx, KindLeaseLost, errGone)
	case e.own.sent() && rep.rec.token == e.own.attempt.Token && rep.rec.finished():
		// An earlier copy of our own transaction has committed, whatever its later copies were told (H4).
		e.tell(ctx, KindCompleted, nil)
		return answer{replayed: rep.rec, sent: true}, nil
	default:
		answer, err := e.lost(ctx, rep.rec, handlerErr)
		if answer.replayed != nil || errors.Is(err, errOutlived) {
			return answer, err
		}
	}
	return answer{}, handlerErr
}

// outlived says that what a transaction may have committed can be over by now. Then no record tells any more whether it has.
func (e ending) outlived() bool {
	return e.own.sent() && !e.r.wallNow().Before(e.own.sentAt.Add(e.req.Retention))
}

var errOutlived = errors.New("a transaction was sent longer ago than its outcome is kept")

// wrote recognises our own ending write after its reply was lost: the record still has our token, or our token
// is the one before the present owner's, with the status that we left behind (H11, rule 10).
func (e ending) wrote(rec *record, s status) bool {
	token := e.own.attempt.Token
	return rec.token == token && rec.status == s || rec.prev == token && rec.prevEnd == s
}

// lost: another attempt has taken the record over. This one has changed nothing, and its caller gets the
// winner's outcome if there is one that is bound to the same request (I4, rule 4).
func (e ending) lost(ctx context.Context, winner *record, handlerErr error) (answer, error) {
	same := !winner.expired(e.r.wallNow()) && e.match(winner) == nil
	replays := same && winner.finished()
	if !replays && e.outlived() {
		return e.notRecorded(ctx, errOutlived, handlerErr)
	}
	err := ErrLeaseLost
	if handlerErr != nil {
		err = fmt.Errorf("%w; the handler's error: %w", err, handlerErr)
	}
	stateErr := e.stateError(err, nil) // another request's state is none of this caller's business
	if same {
		stateErr = e.stateError(err, winner)
	}
	e.tell(ctx, KindLeaseLost, stateErr)
	if replays {
		return answer{replayed: winner, lost: stateErr}, stateErr
	}
	return answer{}, stateErr
}

func (e ending) persist(ctx context.Context, w write, sends int) (reply, error) {
	ending := e.r.ending(ctx, e.own.times)
	if w.transact != nil {
		ending = e.r.endingFirst(ctx, e.own.times)
	}
	return e.r.table.persist(ending, &e.meter, w, sends)
}

func (e ending) tell(ctx context.Context, kind Kind, err error) {
	e.emit(ctx, kind, e.own.attempt.Number, e.began, err)
}
