package idempotency

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
)

// Resolution is what somebody has found out about an unknown: [Completed], [Failed] or [NotDone].
type Resolution struct {
	status status
	data   []byte
	err    error // of the value
}

// Completed says that the operation took place. Value is what its handler would have returned: it is recorded as JSON and
// replayed, so it must fit the handler's result type. Behind an HTTP wrapper that is an answer, which
// lambda.HTTPAnswer makes.
func Completed(value any) Resolution {
	if _, stream := value.(io.Reader); stream {
		return Resolution{completed, nil, errStream}
	}
	data, err := encode(value)
	return Resolution{completed, data, err}
}

// Failed says that the operation has failed for good, with the handler's error; it is replayed as one marked [Terminal] is.
func Failed(err error) Resolution {
	if err == nil {
		return Resolution{status: failed, err: invalid("Failed's err", "nil", "an error is required")}
	}
	res := failureResult(unmarked(err))
	return Resolution{failed, res.data, res.err}
}

// NotDone says that nothing has happened, apart from the recorded steps: the next request runs, without [Attempt.Prior].
// A process of the attempt that is frozen can still act later; only the other side can refuse it, by the fence.
func NotDone() Resolution { return Resolution{status: released} }

// Resolve settles an unknown that [Runner.Unknowns] has found. It never changes an outcome: if the record has another
// attempt or an outcome since it was found, nothing is written and the error is [ErrInProgress] (its lease is alive),
// [ErrLeaseLost] (otherwise) or [ErrNotFound] (it is gone). The attempt that ended without telling, should it come back, is
// told that it has lost its lease, with what was resolved.
//
// The outcome is kept for Config.Retention from now, and until the record's own end at least. Other errors are those of [Do]
// before it has run anything, and [ErrNotRecorded] where the write had no answer: it may have been made, and can be repeated.
func (r *Runner) Resolve(ctx context.Context, rec Record, as Resolution) error {
	switch {
	case r == nil || r.table.client == nil:
		return invalid("Runner", "nil", "make one with New")
	case rec.ID == "":
		return invalid("Record.ID", "empty", "give a record as Unknowns returns it")
	case rec.Token == "":
		return invalid("Record.Token", "empty", "give a record as Unknowns returns it")
	case as.status == "":
		return invalid("Resolution", "the zero value", "must be Completed, Failed or NotDone")
	case as.err != nil:
		return fmt.Errorf("idempotency: the resolution's value cannot be recorded: %w", as.err)
	}
	c := &call{r: r, req: Request{Operation: rec.Operation, Ref: rec.Ref, Retention: r.cfg.Retention}, id: rec.ID, begun: r.wallNow()}
	return c.resolve(ctx, rec, as)
}

func (c *call) resolve(ctx context.Context, found Record, as Resolution) error {
	token := rand.Text()
	sending, cancel := context.WithTimeout(ctx, maxTrying)
	defer cancel()
	outcome := ended{status: released, at: c.r.storedNow()}
	if as.status != released {
		outcome = c.outcome(sending, as.status, result{data: as.data})
		expires := outcome.at.Add(c.req.Retention)
		if found.Expires.After(expires) {
			expires = found.Expires
		}
		if outcome.err != nil {
			return fmt.Errorf("idempotency: the resolution's value cannot be recorded: %w", outcome.err)
		}
		if err := c.storeBeside(sending, &outcome, expires); err != nil {
			return c.unavailable(ctx, "resolve", err) // nothing is resolved
		}
	}
	w := c.r.table.resolve(found, outcome, c.r.cfg, token)
	rep, err := c.r.table.persist(sending, &c.meter, w, fewSends)
	kind := map[status]Kind{completed: KindCompleted, failed: KindFailed, released: KindReleased}[as.status]
	switch {
	case badRecord(err), err != nil && refused(err):
		return c.unavailable(ctx, "resolve", err)
	case err != nil:
		err = c.stateError(fmt.Errorf("%w: %w", ErrNotRecorded, err), nil)
		c.emit(ctx, KindNotRecorded, found.Attempt, c.begun, err)
		return err
	case rep.applied, rep.rec != nil && (rep.rec.token == token || rep.rec.prev == token && rep.rec.prevEnd == as.status):
		c.emit(ctx, kind, found.Attempt+1, c.begun, nil)
		return nil
	case rep.rec == nil:
		return c.stateError(ErrNotFound, nil)
	case rep.rec.live(c.r.wallNow()):
		return c.stateError(ErrInProgress, rep.rec)
	}
	return c.stateError(fmt.Errorf("%w: the record has changed since it was found", ErrLeaseLost), rep.rec)
}
