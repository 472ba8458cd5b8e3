package lambda

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/oncekey/oncekey/idempotency"
)

// answerTime is kept of an invocation's time for its answer: what is done and not reported comes again.
const answerTime = 100 * time.Millisecond

// Why a message is not started.
const (
	errNoTime  skippedError = "too little time is left"
	errStopped skippedError = "the handler has panicked with another one"
)

// skippedError says why; it is an [ErrSkipped].
type skippedError string

func (e skippedError) Error() string { return ErrSkipped.Error() + ": " + string(e) }
func (e skippedError) Unwrap() error { return ErrSkipped }

// process runs the messages of a batch and returns the indexes of those that have failed, in order. There is one loop for all
// sources: a lane is a row of messages that run one after the other, up to the first that fails, and lanes run side by side.
// A message without an order has a lane of its own.
//
// A panic of a handler goes on to Lambda's runtime, once the messages that are running have ended. The whole batch comes again
// then, and those that were done are replayed.
func (w *worker[M]) process(ctx context.Context, batch []M) []int {
	ctx, flush := metered(ctx)
	defer flush()
	p := &pass[M]{timeout: w.cfg.Timeout, worker: w, batch: batch, facts: make([]facts, len(batch)), failed: make([]bool, len(batch)), keys: map[messageKey]chan struct{}{}}
	if deadline, ok := ctx.Deadline(); ok {
		p.end = deadline.Add(-min(answerTime, time.Until(deadline)/10))
		if p.timeout >= time.Until(p.end) { // or no message would start
			p.timeout = 0
		}
	}
	lanes := p.lanes()
	if workers := min(w.cfg.Concurrency, len(lanes)); workers > 1 {
		p.spread(ctx, lanes, workers)
	} else { // on this goroutine: a panic keeps its stack
		for _, lane := range lanes {
			p.run(ctx, lane)
		}
	}
	var failed []int
	for i, f := range p.failed {
		if f {
			failed = append(failed, i)
		}
	}
	if p.skipped > 0 && w.cfg.Failed == nil {
		w.log().WarnContext(ctx, "lambda: messages were not started and come again: one before them has failed, or too little time was left",
			"operation", w.cfg.Operation, "messages", p.skipped, "of", len(batch))
	}
	return failed
}

// pass is one delivery of a batch on its way through the loop.
type pass[M any] struct {
	*worker[M]
	batch  []M
	facts  []facts
	failed []bool    // by the message's index; each is written by its lane's worker alone
	end    time.Time // when all has to be done; zero: whenever

	timeout time.Duration // of a message; 0: what is left

	mu       sync.Mutex
	stopped  bool // by a handler's panic, or its runtime.Goexit
	panicked bool
	longest  time.Duration                // that a message of this batch has taken
	keys     map[messageKey]chan struct{} // running; closed when it no longer is
	skipped  int
}

// messageKey is what the id of a record is made of.
type messageKey struct{ operation, scope, key string }

// lanes groups the messages, by each lane's first one.
func (p *pass[M]) lanes() [][]int {
	var lanes [][]int
	known := map[string]int{}
	for i, m := range p.batch {
		p.facts[i] = p.worker.facts(m)
		at, ok := known[p.facts[i].lane]
		if !ok {
			at = len(lanes)
			lanes = append(lanes, nil)
			if p.facts[i].lane != "" {
				known[p.facts[i].lane] = at
			}
		}
		lanes[at] = append(lanes[at], i)
	}
	return lanes
}

// run takes the messages of a lane one after the other. After one that fails the rest is not started: it would overtake it.
func (p *pass[M]) run(ctx context.Context, lane []int) {
	for n, i := range lane {
		started, err := p.start(p.about(ctx, p.batch[i]), i)
		if err == nil {
			continue
		}
		p.fail(ctx, i, started, err)
		for _, later := range lane[n+1:] {
			p.fail(ctx, later, false, fmt.Errorf("%w: %s, which comes before it, has failed", ErrSkipped, p.facts[i].id))
		}
		return
	}
}

// start runs a message, if it can end in time. Its time is that of its request function and that of its run, not what it waits
// for another message of its key in between.
func (p *pass[M]) start(ctx context.Context, i int) (started bool, err error) {
	if err := p.mayStart(ctx); err != nil {
		return false, err
	}
	began := time.Now()
	naming, cancel := p.limited(ctx, p.timeout)
	defer cancel()
	req, run, err := p.request(naming, p.batch[i], p.facts[i])
	took := time.Since(began)
	switch {
	case err != nil && naming.Err() != nil:
		return false, errNoTime // whatever the error says: nothing is wrong with the message
	case err != nil && p.cfg.Undecodable != nil && p.cfg.Undecodable(ctx, p.facts[i].id, err):
		return true, nil
	case err != nil:
		return true, err
	}
	recorded := false
	started, err = p.alone(ctx, req, func(ctx context.Context) (err error) {
		began := time.Now()
		defer func() { p.note(took + time.Since(began)) }()
		running, cancel := p.limited(ctx, p.timeout-took)
		defer cancel()
		recorded, err = p.do(running, req, run)
		return err
	})
	if recorded && p.drop(ctx, p.facts[i].id, err) {
		return true, nil
	}
	return started, err
}

// limited is a message's context, which ends in time for the answer, and with what is left of the message's own time-out.
func (p *pass[M]) limited(ctx context.Context, left time.Duration) (context.Context, context.CancelFunc) {
	end := p.end
	if own := time.Now().Add(left); p.timeout > 0 && (end.IsZero() || own.Before(end)) {
		end = own
	}
	if end.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, end)
}

// note notes what a message has taken.
func (p *pass[M]) note(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.longest = max(p.longest, d)
}

// mayStart says whether a message that starts now can end in time, as far as can be told.
func (p *pass[M]) mayStart(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	need := p.timeout
	if need == 0 {
		// With what is kept of a message's time to record its outcome: a tenth of the whole, within bounds (Config.Reserve).
		need = p.longest + min(max(p.longest/9, 50*time.Millisecond), time.Second)
	}
	switch {
	case p.stopped:
		return errStopped
	case ctx.Err() != nil, !p.end.IsZero() && time.Until(p.end) <= need:
		return errNoTime
	}
	return nil
}

// alone runs f while no other message of this batch that has the same key runs: it would meet the other's lease and be reported
// failed. It waits for a message that is running, never for one that is yet to start, so no two wait for each other.
func (p *pass[M]) alone(ctx context.Context, req idempotency.Request, f func(context.Context) error) (started bool, err error) {
	key := messageKey{req.Operation, req.Scope, req.Key}
	mine := make(chan struct{})
	for {
		p.mu.Lock()
		other, busy := p.keys[key]
		if !busy {
			p.keys[key] = mine
		}
		p.mu.Unlock()
		if !busy {
			break
		}
		select {
		case <-other:
			if err := p.mayStart(ctx); err != nil {
				return false, err
			}
		case <-ctx.Done():
			return false, errNoTime
		}
	}
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.keys, key)
		close(mine)
	}()
	return true, f(ctx)
}

// fail notes a message that comes again, and tells of it.
func (p *pass[M]) fail(ctx context.Context, i int, started bool, err error) {
	p.failed[i] = true
	if !started {
		p.mu.Lock()
		p.skipped++
		p.mu.Unlock()
	}
	p.tell(p.about(ctx, p.batch[i]), p.facts[i].id, started, err)
}

// spread runs the lanes with several workers, which have ended when it returns: no goroutine outlives the invocation.
func (p *pass[M]) spread(ctx context.Context, lanes [][]int, workers int) {
	next := make(chan []int, len(lanes))
	for _, lane := range lanes {
		next <- lane
	}
	close(next)
	var wg sync.WaitGroup
	var goOn func() // with the first panic
	for range workers {
		wg.Go(func() {
			ended := false
			defer func() {
				if !ended {
					value := recover() // nil: the handler has called runtime.Goexit
					p.mu.Lock()
					defer p.mu.Unlock()
					switch {
					case value != nil: // its stack is of use, and would be gone with this goroutine
						p.log().ErrorContext(ctx, "lambda: a message's handler has panicked", "operation", p.cfg.Operation, "panic", value, "stack", string(debug.Stack()))
						if !p.panicked {
							goOn = func() { panic(value) }
						}
						p.panicked = true
					case goOn == nil:
						goOn = runtime.Goexit
					}
					p.stopped = true
				}
			}()
			for lane := range next {
				p.run(ctx, lane)
			}
			ended = true
		})
	}
	wg.Wait()
	if goOn != nil {
		goOn()
	}
}
