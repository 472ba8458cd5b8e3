package localtest

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/oncekey/oncekey/localtest/internal/dynamo"
)

// answer is what goes back to the caller.
type answer struct {
	dynamo.Reply
	header http.Header // of a real database; nil: the embedded one's
	// truncated: only half of the body arrives.
	truncated bool
}

// head is what goes over the wire before the body.
func (a answer) head() http.Header {
	if a.header == nil {
		return a.Header()
	}
	h := a.header.Clone()
	h.Set("Content-Length", strconv.Itoa(len(a.Body)))
	return h
}

// errCut says that the caller gets no answer: the connection breaks.
var errCut = errors.New("connection cut by an injected fault")

// exchange serves one request. Its error is errCut, that of the caller's context, or that of the real network.
type exchange func(ctx context.Context, operation string, body []byte) (answer, error)

// serve is the one way in, for both transports: it logs the call, lets faults strike and carries the request out.
func (db *DB) serve(ctx context.Context, operation string, body []byte) (answer, error) {
	r := db.parse(operation, body)
	c := newCall(r.Request)
	before := c.copied()
	db.log(c)
	return db.suffer(ctx, db.strike(before), r, c)
}

// suffer serves the request under the fault; that of no fault does nothing.
func (db *DB) suffer(ctx context.Context, f Fault, r request, c *Call) (answer, error) {
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
		var err error
		if a, err = db.apply(r, c); err != nil {
			return answer{}, err
		}
		if f.After != nil {
			f.After()
		}
	}
	return db.end(ctx, f, r, c, a)
}

// end tells the caller what the fault lets it know; a is the database's answer.
func (db *DB) end(ctx context.Context, f Fault, r request, c *Call, a answer) (answer, error) {
	if refusal, ok := db.refusal(f, r.Request); ok {
		a = answer{Reply: refusal}
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
func (db *DB) refusal(f Fault, r *dynamo.Request) (reply dynamo.Reply, ok bool) {
	if f.Kind == 0 { // the common case
		return dynamo.Reply{}, false
	}
	refuse := map[FaultKind]func() dynamo.Reply{
		Throttled:             func() dynamo.Reply { return db.engine.Throttled(r, f.Reason) },
		ServerError:           dynamo.InternalError,
		Unavailable:           dynamo.Unavailable,
		ServerErrorApplied:    dynamo.InternalError,
		AccessDenied:          func() dynamo.Reply { return dynamo.AccessDenied(r) },
		Conflict:              func() dynamo.Reply { return dynamo.Conflict(r) },
		ReplicatedConflict:    dynamo.ReplicatedConflict,
		TransactionInProgress: dynamo.InProgress,
	}[f.Kind]
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
