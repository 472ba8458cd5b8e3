package lambda

import (
	"context"
	"errors"
	"log/slog"

	"github.com/oncekey/oncekey/idempotency"
)

// facts are what the loop has to know of a message, whatever its source.
type facts struct {
	id       string // what its source and the hooks know it by
	lane     string // messages of one lane run one after the other, in order; "": it has no order
	scope    string
	key      string // if there is no request function
	input    any    // if that leaves it nil
	received bool   // before this delivery, too
}

// worker is a batch's wrapper but for the event's form. M is the source's type of a message.
type worker[M any] struct {
	runner *idempotency.Runner
	cfg    Batch
	facts  func(M) facts

	// prepare names the request of a message, and returns what runs for it. named is false where there is no request function.
	prepare func(context.Context, M) (req idempotency.Request, named bool, run func(context.Context) error, err error)
}

// plain is the prepare of a source whose messages are not decoded.
func plain[M any](request func(context.Context, M) (idempotency.Request, error), h func(context.Context, M) error) func(context.Context, M) (idempotency.Request, bool, func(context.Context) error, error) {
	return func(ctx context.Context, m M) (req idempotency.Request, named bool, run func(context.Context) error, err error) {
		if request != nil {
			req, err = request(ctx, m)
		}
		return req, request != nil, func(ctx context.Context) error { return h(ctx, m) }, err
	}
}

// request is the whole request of a message.
func (w *worker[M]) request(ctx context.Context, m M, f facts) (idempotency.Request, func(context.Context) error, error) {
	req, named, run, err := w.prepare(ctx, m)
	if err != nil {
		return req, nil, err
	}
	if !named { // a request function that leaves its key empty has found none, and gets no other (C26)
		req.Key = f.key
	}
	if req.Operation == "" {
		req.Operation = w.cfg.Operation
	}
	if req.Scope == "" {
		req.Scope = f.scope
	}
	if req.Input == nil {
		req.Input = f.input
	}
	req.Scope = tenantScope(ctx, req.Scope)
	req.ReadFirst = req.ReadFirst || f.received
	return req, run, nil
}

// one takes one message through the protocol. It returns nil for a message that is done with, and else why it is to come
// again: another worker has it, its outcome is unknown, its key is another message's, the table cannot be asked, its handler
// has failed.
func (w *worker[M]) one(ctx context.Context, m M, f facts, alone func(context.Context, idempotency.Request) (own context.Context, end func(), err error)) error {
	req, run, err := w.request(ctx, m, f)
	if err != nil {
		if w.cfg.Undecodable != nil && w.cfg.Undecodable(ctx, f.id, err) {
			return nil
		}
		return err
	}
	ctx, end, err := alone(ctx, req)
	if err != nil {
		return err
	}
	defer end()
	var own error // the handler's
	res, err := idempotency.Do(ctx, w.runner, req, func(ctx context.Context) (struct{}, error) {
		own = run(ctx)
		return struct{}{}, own
	})
	recorded := res.Class == idempotency.Recorded
	if state, ok := err.(*idempotency.StateError); ok && !errors.Is(own, state) { //nolint:errorlint // Do's own, not one that a handler has returned
		if res.Replayed && errors.Is(state, idempotency.ErrLeaseLost) {
			err = state.Winner // what the winner has recorded is this message's outcome, too
		} else {
			recorded = false // whatever the handler meant its error to be
		}
		recorded = recorded || res.Replayed && errors.Is(err, idempotency.ErrNoBody) // done, whatever it was
	}
	if err == nil || recorded && w.drop(ctx, f.id, err) {
		return nil
	}
	return err
}

// drop says whether a message that has failed for good is acknowledged.
func (w *worker[M]) drop(ctx context.Context, id string, err error) bool {
	if w.cfg.Terminal != nil {
		return w.cfg.Terminal(ctx, id, err)
	}
	slog.WarnContext(ctx, "lambda: the message has failed for good and is acknowledged", "operation", w.cfg.Operation, "message", id, "error", err)
	return true
}

// tell tells of a message that is reported failed.
func (w *worker[M]) tell(ctx context.Context, id string, err error) {
	switch {
	case w.cfg.Failed != nil:
		w.cfg.Failed(ctx, id, err)
	case errors.Is(err, ErrSkipped): // their number is logged at the end
	case errors.Is(err, idempotency.ErrInProgress): // an ordinary thing after a crash
		slog.WarnContext(ctx, "lambda: the message is in work elsewhere and comes again", "operation", w.cfg.Operation, "message", id, "error", err)
	default:
		slog.ErrorContext(ctx, "lambda: the message has failed and comes again", "operation", w.cfg.Operation, "message", id, "error", err)
	}
}
