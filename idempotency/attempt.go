package idempotency

import (
	"context"
	"time"
)

// Attempt is one owned execution of a handler. [AttemptFrom] gets it out of the handler's context.
type Attempt struct {
	// Token is the attempt's random identity in the record.
	Token string

	// Number counts the attempts of the key's window, from 1.
	Number int64

	// Fence grows with every attempt of the key, from window to window too (as long as clocks, and the calls
	// that acquire the key, are late by less than the retention): a downstream system that remembers the
	// highest one seen can refuse a late attempt.
	Fence int64

	// Prior is set if an earlier attempt ended without telling: its effect may have happened. Of an attempt whose
	// whole window is over it is set only where that is still to be seen: not if time to live has deleted its
	// record, or the reply to the write that replaced it was lost.
	Prior *Prior

	id string // of the record
}

// Prior tells about the attempts before this one that ended without telling.
type Prior struct {
	Number   int64     // of the latest of them
	Started  time.Time // when the first of them started: search the other side from there
	LeaseEnd time.Time // when the lease of the latest ended
	Steps    []string  // names of the steps that are recorded
}

// AttemptFrom returns the attempt that ctx belongs to, and nil outside of a handler.
func AttemptFrom(ctx context.Context) *Attempt {
	if run := runningFrom(ctx); run != nil {
		return &run.shown
	}
	return nil
}

// WithAttempt returns a context as a handler gets it, for tests that call a bare handler. The downstream keys of an
// Attempt that the test has made depend on its Token only. Steps run and are not recorded; what is staged for a
// transaction is there for the test to look at ([Tx.Actions]).
func WithAttempt(ctx context.Context, a Attempt) context.Context {
	if a.id == "" {
		a.id = "test#" + a.Token
	}
	return newRunning(nil, &ownership{attempt: a}).in(ctx)
}

// RecordID returns the record's id, for logs: operation, "#", hash; never the raw key. It is "" of a nil Attempt.
func (a *Attempt) RecordID() string {
	if a == nil {
		return ""
	}
	return a.id
}

// DownstreamKey returns the idempotency key for a call that the handler makes to another system, such as a card
// processor: 32 characters of a–z and 2–7, the same in every attempt of this key. The name tells two calls of
// one handler apart.
//
// It panics on a nil Attempt, since a call outside of an attempt would have no key to be recognised by.
func (a *Attempt) DownstreamKey(name string) string {
	a.mustOwn()
	return downstreamKey(a.id, name)
}

// DownstreamUUID is [Attempt.DownstreamKey] as a UUID (version 8), for systems that ask for one.
func (a *Attempt) DownstreamUUID(name string) string {
	a.mustOwn()
	return downstreamUUID(a.id, name)
}

func (a *Attempt) mustOwn() {
	if a == nil {
		panic("idempotency: downstream key of a nil Attempt: the context is not one that Do gave to the handler" +
			" (in a test of a bare handler, use WithAttempt)")
	}
}
