package idempotency

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// running is one run of a handler, as its context carries it: what [AttemptFrom], [Step] and [TxFrom] work on.
type running struct {
	*call // nil in a test of a bare handler
	own   *ownership
	shown Attempt // the handler's copy
	tx    Tx

	mu    sync.Mutex
	steps map[string][]byte    // recorded results by name, of earlier attempts too
	names map[string]stepState // nil until the first step
	lost  error                // the record is no longer this attempt's: no further step begins
	over  bool                 // the handler has returned
	ref   string               // of StoreRef

	unrecorded bool // a step has run whose result is not there
}

func newRunning(c *call, own *ownership) *running {
	a := own.attempt
	if a.Prior != nil { // a copy: the library's own must not change when the handler changes what it got
		prior := *a.Prior
		prior.Steps = slices.Clone(prior.Steps)
		a.Prior = &prior
	}
	return &running{call: c, own: own, shown: a, steps: maps.Clone(own.steps)}
}

type runningKey struct{}

func (run *running) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, runningKey{}, run)
}

func runningFrom(ctx context.Context) *running {
	run, _ := ctx.Value(runningKey{}).(*running)
	return run
}

// open says that a step has run, or is still running, without being recorded.
func (run *running) open() bool {
	run.mu.Lock()
	defer run.mu.Unlock()
	for _, state := range run.names {
		if state == stepRunning {
			return true
		}
	}
	return run.unrecorded
}

// end says that the handler has returned: what it has left running can neither record a step nor stage a write.
func (run *running) end() {
	run.mu.Lock()
	defer run.mu.Unlock()
	run.over = true
	run.tx.seal()
}
