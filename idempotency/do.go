package idempotency

import (
	"context"
	"errors"
	"io"
	"reflect"
	"slices"
	"time"
)

// Result is the answer to a request.
type Result[T any] struct {
	// Value is what the handler returned, as JSON gives it back: in the first run as in every replay.
	Value T

	// Replayed says that Value was recorded by another attempt and the handler's own, if it ran, is not it.
	Replayed bool

	// CompletedAt is when the outcome was recorded, by the clock of the attempt that did.
	CompletedAt time.Time

	// Class is what an error of this very run means, fn's or that of a transaction which was refused: whether it was
	// recorded, has released the key, or leaves the outcome unknown; a replayed failure is Recorded. 0 where there is
	// none. For wrappers that have to answer a caller.
	Class Class

	// Reruns says that the next request runs the handler again, after an error of this very run: the key was released, or
	// an unknown outcome does not stop it.
	Reruns bool
}

// Do runs fn once for the request's key and returns its result; every retry inside the window gets the recorded
// result instead, without running fn.
//
// fn's context ends before ctx does, so that time is left to record the outcome, and [AttemptFrom] gets the
// attempt out of it. Where ctx has no deadline, fn's ends before the lease.
//
// What fn returns decides: a result is recorded and replayed as JSON, and so is an error marked [Terminal]; an
// error marked [Unknown], a panic, runtime.Goexit or the end of fn's time leave the outcome unknown; any other
// error releases the key, and the next request runs fn again. The package comment has the whole table. The
// caller of this very run gets fn's own error, unwrapped and without its mark; a replayed failure is a
// [Failure], or what Config.Failure makes of it.
//
// What JSON does not show of a result (unexported fields, those tagged "-") is not replayed. A result of more than
// 7.5 MiB, or that encoding/json cannot encode or read back, is returned to this caller and recorded without its
// body: later requests get [ErrNoBody] and fn does not run again. So is one that is stored in items of its own
// ([Config.Inline]) if these cannot be written. [StoreRef] records a reference instead of the result.
//
// Errors of the protocol, each as a [StateError]: [ErrInProgress], [ErrMismatch], [ErrOutcomeUnknown],
// [ErrLeaseLost] (with the winner's result, if there is one), [ErrNotRecorded], [ErrUnavailable], [ErrNoTime],
// [ErrNoBody], [ErrBadRecord]; and a [FieldError] for a request that cannot be right.
func Do[T any](ctx context.Context, r *Runner, req Request, fn func(context.Context) (T, error)) (Result[T], error) {
	c, err := r.begin(req)
	if err != nil {
		return Result[T]{}, err
	}
	if fn == nil {
		return Result[T]{}, invalid("fn", "nil", "a handler is required")
	}
	known := r.resultOf(reflect.TypeFor[T]())
	if known.err != nil {
		return Result[T]{}, known.err
	}
	var value T
	answer, err := c.do(ctx, handler{
		run: func(ctx context.Context) (err error) {
			value, err = fn(ctx)
			return err
		},
		encode: func() (data []byte, err error) {
			if _, ok := any(value).(io.Reader); ok {
				return nil, errStream // in an any, whose type did not tell
			}
			// The first caller gets what every later one will read: what is in an any comes back as a map or a
			// json.Number, what is no UTF-8 as a replacement character, what has methods of its own as they like.
			// What cannot be read back is as good as not stored.
			if data, err = encode(&value); err != nil || known.exact && !repaired(data) {
				return data, err
			}
			var same T
			if err = undecoded(known.decode(data, &same)); err == nil {
				value = same
			}
			return data, err
		},
	})
	if answer.replayed != nil {
		res, err := replay[T](ctx, c, answer.replayed)
		if lost := answer.lost; lost != nil {
			lost.Winner = err
			return res, lost
		}
		if answer.sent && errors.Is(err, ErrUnavailable) {
			err = c.ownUnread(answer.replayed, err)
		}
		c.tellReplay(ctx, answer.replayed, err)
		return res, err
	}
	if err != nil {
		return Result[T]{Class: answer.class, Reruns: answer.reruns}, err
	}
	return Result[T]{Value: value, CompletedAt: answer.completed}, nil
}

var errStream = errors.New("the result is a stream, which cannot be recorded")

// Lookup returns the recorded outcome of the request's key and never runs anything. Besides Do's errors it
// returns [ErrNotFound] if there is no record, or one that the next request would run anew (its window is over,
// or it was released). Operation, Scope and Key are required; Input may be nil, and is then not compared.
func Lookup[T any](ctx context.Context, r *Runner, req Request) (Result[T], error) {
	if req.Input == nil {
		req.Input = AnyInput
	}
	c, err := r.begin(req)
	if err != nil {
		return Result[T]{}, err
	}
	if err := r.resultOf(reflect.TypeFor[T]()).err; err != nil {
		return Result[T]{}, err
	}
	answer, err := c.lookup(ctx)
	if err != nil {
		return Result[T]{}, err
	}
	res, err := replay[T](ctx, c, answer.replayed)
	c.tellReplay(ctx, answer.replayed, err)
	return res, err
}

// handler is the user's function, without its type.
type handler struct {
	run    func(context.Context) error
	encode func() ([]byte, error) // the result of a run without error
}

// answer is what a request gets.
type answer struct {
	replayed  *record     // another attempt's outcome
	sent      bool        // this request has sent an outcome, perhaps that one: that nothing was run would be wrong
	lost      *StateError // the caller's own attempt has lost its lease to that one
	completed time.Time   // of the handler's own result
	class     Class       // of the handler's error
	reruns    bool        // the next request runs again
}

// do takes the request through the protocol.
func (c *call) do(ctx context.Context, h handler) (answer, error) {
	if outer := runningFrom(ctx); outer != nil && outer.call != nil && outer.r == c.r && slices.Contains(c.ids, outer.id) {
		return answer{}, invalid("Request.Key", "that of the run which asks", "a handler must not ask for its own key, which it owns:"+
			" behind a wrapper, stage on TxFrom(ctx) instead of DoTx")
	}
	if found := c.cached(); found != nil {
		return answer{replayed: found}, nil
	}
	if found := c.readFirst(ctx); found != nil {
		return answer{replayed: found}, nil
	}
	if c.req.Tx == SingleShot {
		return c.singleShot(ctx, h)
	}
	found, own, err := c.acquire(ctx)
	if err != nil || found != nil {
		return answer{replayed: found}, err
	}
	return c.run(ctx, own, h)
}
