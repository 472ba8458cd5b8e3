package localtest

import (
	"context"
	"errors"
	"time"

	"github.com/oncekey/oncekey/localtest/internal/dynamo"
)

// answer is what goes back to the caller.
type answer struct {
	dynamo.Reply
	// truncated: only half of the body arrives.
	truncated bool
}

// errCut says that the caller gets no answer: the connection breaks.
var errCut = errors.New("connection cut by an injected fault")

// exchange serves one request. Its error is errCut or that of the caller's context.
type exchange func(ctx context.Context, operation string, body []byte) (answer, error)

// serve is the one way in, for both transports: it logs the call, lets faults strike and carries the request out.
func (db *DB) serve(ctx context.Context, operation string, body []byte) (answer, error) {
	r := db.engine.Parse(operation, body)
	c := newCall(r)
	before := c.copied()
	db.log(c)
	return db.suffer(ctx, db.strike(before), r, c)
}

// suffer serves the request under the fault; that of no fault does nothing.
func (db *DB) suffer(ctx context.Context, f Fault, r *dynamo.Request, c *Call) (answer, error) {
	if f.Before != nil {
		f.Before()
	}
	if f.Kind == 0 {
		if err := wait(ctx, f.Delay); err != nil {
			db.told(c, Hang.String())
			return answer{}, err
		}
		f.Delay = 0
	}
	if f.Kind == AppliedLate {
		db.postpone(f.Delay, r, c)
		f.Delay = 0
	}
	if f.Kind == Unprocessed {
		r.Hold()
	}
	var a answer
	if f.Kind.applies() {
		db.applyDue() // not sooner: the call may have waited
		a.Reply = db.apply(r, c)
		if f.After != nil {
			f.After()
		}
	}
	return db.end(ctx, f, r, c, a)
}

// end tells the caller what the fault lets it know; a is the database's answer.
func (db *DB) end(ctx context.Context, f Fault, r *dynamo.Request, c *Call, a answer) (answer, error) {
	if refusal, ok := db.refusal(f.Kind, r); ok {
		a.Reply = refusal
		db.told(c, refusal.Code)
	}
	if f.Kind.silent() || f.Kind == TruncatedReply {
		db.told(c, f.Kind.String())
	}
	if f.Kind == Hang || f.Kind == HangApplied {
		<-ctx.Done()
		return answer{}, ctx.Err()
	}
	if err := wait(ctx, f.Delay); err != nil {
		return answer{}, err
	}
	if f.Kind.silent() {
		return answer{}, errCut
	}
	a.truncated = f.Kind == TruncatedReply
	return a, nil
}

// refusal is the answer that the fault puts in the place of the database's.
func (db *DB) refusal(k FaultKind, r *dynamo.Request) (reply dynamo.Reply, ok bool) {
	if k == 0 { // the common case
		return dynamo.Reply{}, false
	}
	refuse := map[FaultKind]func() dynamo.Reply{
		Throttled:             func() dynamo.Reply { return db.engine.Throttled(r) },
		ServerError:           dynamo.InternalError,
		ServerErrorApplied:    dynamo.InternalError,
		AccessDenied:          func() dynamo.Reply { return dynamo.AccessDenied(r) },
		Conflict:              func() dynamo.Reply { return dynamo.Conflict(r) },
		ReplicatedConflict:    dynamo.ReplicatedConflict,
		TransactionInProgress: dynamo.InProgress,
	}[k]
	if refuse == nil {
		return dynamo.Reply{}, false
	}
	return refuse(), true
}

// wait lets d pass, unless ctx ends first.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
