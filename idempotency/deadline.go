package idempotency

import (
	"context"
	"fmt"
	"time"
)

// deadlines are the times of one attempt, all counted from its start. Local clocks only stop an attempt early;
// the record's lease, compared by the table, decides who owns it.
//
//	lease end        = context's deadline + clock margin, or start + Config.Lease
//	end              = context's deadline, but not after lease end - clock margin
//	hard deadline    = end - a quarter of the reserve, at most 100 ms, for the answer; = end, where the context has no deadline
//	handler deadline = end - reserve
type deadlines struct {
	start    time.Time // by the Runner's clock, and the three below too
	handler  time.Time
	hard     time.Time
	leaseEnd time.Time
	reserve  time.Duration
}

// answerTime is the most that is kept of the reserve for the answer, a quarter otherwise: Lambda kills the process at the context's
// deadline, and what is said then nobody hears.
const answerTime = 100 * time.Millisecond

// wallNow reads the Runner's clock without its monotonic part, which stands still while a sandbox is frozen.
func (r *Runner) wallNow() time.Time { return r.cfg.Now().Round(0) }

// plan computes the times of an attempt that starts now, or says why none can start.
func (r *Runner) plan(ctx context.Context) (deadlines, error) {
	d := deadlines{start: r.wallNow()}
	lease := r.cfg.Lease
	left := maxRetention
	deadline, limited := ctx.Deadline()
	if limited {
		// The context's timer runs by the process's clock, whatever the Runner's says; so does this.
		left = min(time.Until(deadline.Round(0)), maxRetention)
		if lease == 0 {
			left = min(left, maxLease)
		}
		needed := left + clockMargin
		switch {
		case lease == 0:
			lease = needed
		case lease < needed:
			// The handler would outlive its lease, and another attempt could run beside it (rule 3).
			return d, invalid(
				"Config.Lease", lease.String(),
				fmt.Sprintf("must cover the context's deadline, %s from now, and %s for clocks that differ; zero does so by itself", left, clockMargin),
			)
		}
	} else if lease == 0 {
		lease = DefaultLease
	}
	left = min(left, lease-clockMargin)
	d.reserve = r.cfg.Reserve
	if d.reserve == 0 {
		d.reserve = min(max(left/reserveShare, reserveMin), reserveMax)
	}
	d.leaseEnd = d.start.Add(lease)
	d.hard = d.start.Add(left)
	d.handler = d.hard.Add(-d.reserve)
	if limited {
		d.hard = d.hard.Add(-min(answerTime, d.reserve/4))
	}
	if !d.start.Before(d.handler) {
		return d, fmt.Errorf("%w: %s left, of which %s are kept to record the outcome", ErrNoTime, max(left, 0), d.reserve)
	}
	return d, nil
}

// toContext translates a time of the Runner's clock into one of the process's, which contexts run by.
func (r *Runner) toContext(t time.Time) time.Time {
	return time.Now().Round(0).Add(t.Sub(r.wallNow()))
}

// acquiring bounds the calls before the handler: after its deadline nothing would start, and after half a minute
// nobody waits for it.
func (r *Runner) acquiring(ctx context.Context, d deadlines) context.Context {
	end := d.handler
	if latest := d.start.Add(maxTrying); end.After(latest) {
		end = latest
	}
	return before(ctx, r.toContext(end))
}

// handling is the handler's context. It ends before the caller's and before the lease.
func (r *Runner) handling(ctx context.Context, d deadlines) (context.Context, context.CancelFunc) {
	return context.WithDeadlineCause(ctx, r.toContext(d.handler), timeOverError{d.reserve})
}

// timeOverError is the cause of a handler's context that has ended before its caller's.
type timeOverError struct{ reserve time.Duration }

func (e timeOverError) Error() string {
	return fmt.Sprintf("idempotency: the handler's time is over, %s are kept to record its outcome", e.reserve)
}

func (timeOverError) Unwrap() error { return context.DeadlineExceeded }

// ending is the context of an ending write. It is detached from the caller's: a client that hangs up, or the end
// of the handler's time, must not lose the outcome of what was done (C16). It is bounded by the hard deadline, and
// by half a minute, after which no gateway waits for the answer any more. A handler that has overrun even that (no
// Lambda then, which would have killed it) still has its reserve: a late attempt that nobody has replaced may end
// its record.
func (r *Runner) ending(ctx context.Context, d deadlines) context.Context {
	now := r.wallNow()
	end := d.hard
	if latest := now.Add(maxTrying); end.After(latest) {
		end = latest
	}
	if !now.Before(end) {
		end = now.Add(d.reserve)
	}
	return before(context.WithoutCancel(ctx), r.toContext(end))
}

// bounded is a context with an earlier deadline and without a timer of its own. What is done in it are calls of the table,
// each of which has one ([limitCall]), and pauses between them ([sleep]). Whatever else waits on it needs a timer of its own: its
// Done does not close at its end.
type bounded struct {
	context.Context //nolint:containedctx // it is one
	end             time.Time
}

func (b bounded) Deadline() (time.Time, bool) { return b.end, true }

// timerless is a key whose value is there in a bounded context, and in those derived from one.
type timerless struct{}

func (b bounded) Value(key any) any {
	if key == (timerless{}) {
		return b
	}
	return b.Context.Value(key)
}

func before(ctx context.Context, end time.Time) context.Context {
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(end) {
		return ctx
	}
	return bounded{ctx, end}
}

// endingFirst is a shorter ending, of a write that another one follows if it fails: half of the reserve is left for that one.
func (r *Runner) endingFirst(ctx context.Context, d deadlines) context.Context {
	ending := r.ending(ctx, d)
	deadline, _ := ending.Deadline()
	return before(ending, deadline.Add(-d.reserve/2))
}
