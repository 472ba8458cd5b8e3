package lambda

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/oncekey/oncekey/idempotency"
)

// answerTime is kept of an invocation's time for its answer: what is done and not reported comes again.
const answerTime = 100 * time.Millisecond

// Why a message is not started.
var (
	errNoTime   = fmt.Errorf("%w: too little time is left", ErrSkipped)
	errPanicked = fmt.Errorf("%w: the handler has panicked with another one", ErrSkipped)
)

// process runs the messages of a batch and returns the indexes of those that have failed, in order. There is one loop for all
// sources: a lane is a row of messages that run one after the other, up to the first that fails, and lanes run side by side.
// A message without an order has a lane of its own.
//
// A panic of a handler goes on to Lambda's runtime, once the messages that are in work have ended. The whole batch comes again
// then, and those that were done are replayed.
func (w *worker[M]) process(ctx context.Context, batch []M) []int {
	ctx, flush := metered(ctx)
	defer flush()
	p := &pass[M]{worker: w, batch: batch, facts: make([]facts, len(batch)), failed: make([]bool, len(batch)), keys: map[messageKey]chan struct{}{}}
	if deadline, ok := ctx.Deadline(); ok {
		p.end = deadline.Add(-min(answerTime, time.Until(deadline)/10))
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
		slog.WarnContext(ctx, "lambda: messages were not started and come again: one before them has failed, or too little time was left",
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

	mu       sync.Mutex
	started  bool
	panicked bool
	longest  time.Duration                // that a message of this batch has taken
	keys     map[messageKey]chan struct{} // in work; closed when it no longer is
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
		err := p.start(ctx, i)
		if err == nil {
			continue
		}
		p.fail(ctx, i, err)
		for _, later := range lane[n+1:] {
			p.fail(ctx, later, fmt.Errorf("%w: %s, which comes before it, has failed", ErrSkipped, p.facts[i].id))
		}
		return
	}
}

// start runs a message, if it can end in time.
func (p *pass[M]) start(ctx context.Context, i int) error {
	if err := p.mayStart(ctx); err != nil {
		return err
	}
	if !p.end.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, p.end)
		defer cancel()
	}
	return p.one(ctx, p.batch[i], p.facts[i], p.alone)
}

// mayStart says whether a message that starts now can end in time. The first one of a batch always may: no other delivery
// would give it more.
func (p *pass[M]) mayStart(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	// With what is kept of a message's time to record its outcome: a tenth of the whole, within bounds (Config.Reserve).
	need := p.longest + min(max(p.longest/9, 50*time.Millisecond), time.Second)
	switch {
	case !p.started:
		need = 0
	case p.cfg.Timeout > 0:
		need = p.cfg.Timeout
	}
	switch {
	case p.panicked:
		return errPanicked
	case ctx.Err() != nil, !p.end.IsZero() && time.Until(p.end) <= need:
		return errNoTime
	}
	p.started = true
	return nil
}

// alone keeps two messages of one key in this batch from being in work at once: the later one would meet the other's lease and
// be reported failed. It waits for a message that is in work, never for one that is yet to start, so no two wait for each
// other. The message's own time begins after that: it returns its context, and what ends it.
func (p *pass[M]) alone(ctx context.Context, req idempotency.Request) (_ context.Context, end func(), err error) {
	id := messageKey{req.Operation, req.Scope, req.Key}
	for {
		p.mu.Lock()
		other, busy := p.keys[id]
		if !busy {
			mine := make(chan struct{})
			p.keys[id] = mine
			p.mu.Unlock()
			began, cancel := time.Now(), context.CancelFunc(func() {})
			if p.cfg.Timeout > 0 {
				ctx, cancel = context.WithTimeout(ctx, p.cfg.Timeout)
			}
			return ctx, func() {
				cancel()
				p.mu.Lock()
				defer p.mu.Unlock()
				p.longest = max(p.longest, time.Since(began))
				delete(p.keys, id)
				close(mine)
			}, nil
		}
		p.mu.Unlock()
		select {
		case <-other:
			if err := p.mayStart(ctx); err != nil {
				return ctx, nil, err
			}
		case <-ctx.Done():
			return ctx, nil, errNoTime
		}
	}
}

// fail notes a message that comes again, and tells of it.
func (p *pass[M]) fail(ctx context.Context, i int, err error) {
	p.failed[i] = true
	if errors.Is(err, ErrSkipped) {
		p.mu.Lock()
		p.skipped++
		p.mu.Unlock()
	}
	p.tell(ctx, p.facts[i].id, err)
}

// spread runs the lanes with several workers, which have ended when it returns: no goroutine outlives the invocation.
func (p *pass[M]) spread(ctx context.Context, lanes [][]int, workers int) {
	next := make(chan []int, len(lanes))
	for _, lane := range lanes {
		next <- lane
	}
	close(next)
	var wg sync.WaitGroup
	var first sync.Once
	goOn := func() {}
	for range workers {
		wg.Go(func() {
			ended := false
			defer func() {
				if ended {
					return
				}
				value := recover() // nil: the handler has called runtime.Goexit
				p.mu.Lock()
				p.panicked = true
				p.mu.Unlock()
				first.Do(func() {
					if goOn = runtime.Goexit; value != nil {
						// Its stack is of use, and would be gone with this goroutine.
						slog.ErrorContext(ctx, "lambda: a message's handler has panicked", "operation", p.cfg.Operation, "panic", value, "stack", string(debug.Stack()))
						goOn = func() { panic(value) }
					}
				})
			}()
			for lane := range next {
				p.run(ctx, lane)
			}
			ended = true
		})
	}
	wg.Wait()
	goOn()
}
