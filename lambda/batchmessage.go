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
	event  func(M) any // what MessageFrom finds; nil: M itself

	prepare prepare[M]
}

// about is the context of everything that has to do with a message.
func (w *worker[M]) about(ctx context.Context, m M) context.Context {
	if w.event != nil {
		return context.WithValue(ctx, batchMessageKey{}, w.event(m))
	}
	return context.WithValue(ctx, batchMessageKey{}, m)
}

// prepare names the request of a message, and returns what runs for it. named is false where there is no request function.
type prepare[M any] func(context.Context, M) (req idempotency.Request, named bool, run func(context.Context) error, err error)

// plain is the prepare of a source whose messages are not decoded.
func plain[M any](request func(context.Context, M) (idempotency.Request, error), h func(context.Context, M) error) prepare[M] {
	return func(ctx context.Context, m M) (req idempotency.Request, named bool, run func(context.Context) error, err error) {
		if request != nil {
			req, err = request(ctx, m)
		}
		return req, request != nil, func(ctx context.Context) error { return h(ctx, m) }, err
	}
}

// handler is the batch's wrapper: messages reads an event, and answer is told the indexes of those that have failed.
func handler[E, M, R any](w *worker[M], messages func(E) ([]M, error), answer func([]M, []int) R) Handler[E, R] {
	return func(ctx context.Context, e E) (out R, err error) {
		batch, err := messages(e)
		if err != nil {
			return out, named(err)
		}
		return answer(batch, w.process(ctx, batch)), nil
	}
}

// misdirected refuses what is no event of the source: answered with an empty list, or run as something else, it would be lost.
func misdirected[M any](records []M, sourceOf func(M) string, want string) error {
	if records == nil {
		return &idempotency.FieldError{Field: "the event's Records", Value: "missing", Rule: "is the function invoked by " + want + "?"}
	}
	for _, m := range records {
		if got := sourceOf(m); got != "" && got != want {
			return &idempotency.FieldError{Field: "eventSource", Value: got, Rule: "must be " + want}
		}
	}
	return nil
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
	if req.Wait == 0 {
		req.Wait = idempotency.NoWait // a message that waits stops those behind it, and the source delivers again
	}
	req.Scope = tenantScope(ctx, req.Scope)
	req.ReadFirst = req.ReadFirst || f.received
	return req, run, nil
}

// do takes a message's request through the protocol. It returns nil for a message that is done with, and else why it is not:
// another worker has it, its outcome is unknown, its key is another message's, the table cannot be asked, its handler has
// failed. recorded says that it would fail so each time.
func (w *worker[M]) do(ctx context.Context, req idempotency.Request, run func(context.Context) error) (recorded bool, err error) {
	var own error // the handler's
	res, err := idempotency.Do(ctx, w.runner, req, func(ctx context.Context) (struct{}, error) {
		own = run(ctx)
		return struct{}{}, own
	})
	recorded = res.Class == idempotency.Recorded
	if state, ok := err.(*idempotency.StateError); ok && !errors.Is(own, state) { //nolint:errorlint // Do's own, not one that a handler has returned
		if res.Replayed && errors.Is(state, idempotency.ErrLeaseLost) {
			err = state.Winner // what the winner has recorded is this message's outcome, too
		} else {
			recorded = false // whatever the handler meant its error to be
		}
		recorded = recorded || res.Replayed && errors.Is(err, idempotency.ErrNoBody) // done, whatever it was
	}
	return recorded, err
}

// drop says whether a message that has failed for good is acknowledged.
func (w *worker[M]) drop(ctx context.Context, id string, err error) bool {
	if w.cfg.Terminal != nil {
		return w.cfg.Terminal(ctx, id, err)
	}
	what := "lambda: the message has failed for good and is acknowledged"
	if errors.Is(err, idempotency.ErrNoBody) {
		what = "lambda: the message was done with before, its outcome could not be stored, and it is acknowledged"
	}
	w.log().WarnContext(ctx, what, "operation", w.cfg.Operation, "message", id, "error", err)
	return true
}

// tell tells of a message that comes again.
func (w *worker[M]) tell(ctx context.Context, id string, started bool, err error) {
	switch {
	case w.cfg.Failed != nil:
		w.cfg.Failed(ctx, id, err)
	case !started: // their number is logged at the end
	case errors.Is(err, idempotency.ErrInProgress): // an ordinary thing after a crash
		w.log().WarnContext(ctx, "lambda: the message is in progress elsewhere and comes again", "operation", w.cfg.Operation, "message", id, "error", err)
	default:
		w.log().ErrorContext(ctx, "lambda: the message has failed and comes again", "operation", w.cfg.Operation, "message", id, "error", err)
	}
}

func (w *worker[M]) log() *slog.Logger {
	if w.cfg.Logger == nil {
		return slog.Default()
	}
	return w.cfg.Logger
}
