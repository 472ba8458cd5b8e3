package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/oncekey/oncekey/localtest"
)

// cell is one field of the matrix, at one time of the retry and under one policy.
type cell struct {
	path
	at      int // the call
	trouble trouble
	late    bool // the retry comes after the lease
	rerun   bool // the policy
	cut     bool // see story.cut
}

func (c cell) String() string {
	when, policy := "at once", "Refuse"
	if c.late {
		when = "after the lease"
	}
	if c.rerun {
		policy = "Rerun"
	}
	return fmt.Sprintf("%d %s/%s/%s/%s", c.at+1, c.calls[c.at].what, c.trouble.name, when, policy)
}

var numbers atomic.Int64

// orders are new ones, as many as the path's event has.
func (c cell) orders() []order {
	n := numbers.Add(1)
	orders := make([]order, max(1, c.batch))
	for i := range orders {
		orders[i] = order{ID: fmt.Sprintf("order-%d-%d", n, i+1), Amount: 5, Rerun: c.rerun}
	}
	return orders
}

// play lets the first request meet the trouble, then sends the retry, and at last another request with the same key.
func (l *lane) play(t *testing.T, c cell) {
	t.Helper()
	orders := c.orders()
	l.db.ResetCalls()
	l.takeKinds()
	retryBy := l.now
	if c.late {
		retryBy = l.later
	}
	pair := l.playOneByOne
	if c.trouble.how == delayed {
		pair = l.playTheRetryFirst
	}
	first, retry := pair(t, c, orders, retryBy)
	if t.Failed() {
		return
	}
	c = c.given(first)
	c.wantEnds(t, first, retry)
	c.wantKinds(t, first, retry)
	l.wantEffects(t, c, orders)
	l.wantRecord(t, c, orders, first, retry)
	l.wantAnothersRefused(t, c, orders)
	if t.Failed() {
		t.Logf("the rule, %s: %s", c.story().word, c.story().says)
	}
}

func (l *lane) playOneByOne(t *testing.T, c cell, orders []order, retryBy *localtest.Function) (first, retry got) {
	t.Helper()
	var struck atomic.Bool
	first = l.ask(t, l.victim(t, c, func() { struck.Store(true) }), orders, 1)
	l.db.ClearFaults()
	l.atReply(0, nil)
	if !struck.Load() {
		t.Errorf("the trouble has not struck; the first request got %q", first.classes)
	}
	if n := l.db.Flush(); (n > 0) != (c.trouble.is == localtest.AppliedLate) {
		t.Errorf("%d requests were on their way", n)
	}
	return first, l.ask(t, retryBy, orders, 2)
}

func (l *lane) playTheRetryFirst(t *testing.T, c cell, orders []order, retryBy *localtest.Function) (first, retry got) {
	t.Helper()
	arrived, released := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(released) })
	defer release() // also if the retry fails the test
	l.db.Inject(localtest.Fault{Nth: c.at + 1, Before: func() { close(arrived); <-released }})
	ended := make(chan got, 1)
	go func() { ended <- l.ask(t, l.now, orders, 1) }()
	select {
	case <-arrived:
	case first = <-ended:
		t.Fatalf("the first request has not come to its call, and got %q", first.classes)
	}
	retry = l.ask(t, retryBy, orders, 2)
	release()
	return <-ended, retry
}

// victim is the function that the first request goes to, with the trouble in its way.
func (l *lane) victim(t *testing.T, c cell, hit func()) *localtest.Function {
	t.Helper()
	f := localtest.Fault{Nth: c.at + 1}
	fn := l.now
	switch c.trouble.how {
	case killBefore:
		fn = l.start(t, patient)
		f.Kind, f.Before = localtest.RequestLost, func() { hit(); fn.Kill() }
	case killApplied:
		fn = l.start(t, patient)
		f.After = func() { hit(); fn.Kill() }
	case killReplied:
		fn = l.start(t, patient, "-replies")
		l.atReply(c.at+1, func() { hit(); fn.Kill() })
		return fn
	case throttled:
		fn = l.hurried
		f = localtest.Fault{Operation: c.calls[c.at].operation, Nth: c.nth(c.at), Kind: localtest.Throttled, Times: -1, Before: hit}
	default:
		f.Kind, f.Before = c.trouble.is, hit
	}
	l.db.Inject(f)
	return fn
}
