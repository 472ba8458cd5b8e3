package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// The matrix: every call of every path through the protocol, each way in which it can fail or the process can die
// there, and then the requests that follow, at once and after the lease, under both policies. What has to hold is
// said once, by guard.

// guard watches the handlers and the callers of one key.
type guard struct {
	t       *testing.T
	open    bool // a run has ended without telling, or its telling may not have been recorded
	settled bool // an outcome was handed out
	value   string
}

// guarding starts from what a path finds.
func guarding(t *testing.T, f *fixture, p path, req idempotency.Request) *guard {
	t.Helper()
	p.found(t, f, req)
	g := &guard{t: t}
	it := f.record(t, req)
	if it.number("expiration") < time.Now().Unix() {
		it = nil
	}
	switch it.text("status") {
	case "COMPLETED", "FAILED":
		g.settled, g.value = true, "first"
	case "INPROGRESS", "UNKNOWN":
		g.open = true
	}
	return g
}

// run is h, and what has to hold when it starts: I3, I5, rule 1.
func (g *guard) run(policy string, h handler) handler {
	return func(ctx context.Context) (string, error) {
		a := idempotency.AttemptFrom(ctx)
		switch {
		case g.settled:
			g.t.Errorf("attempt %d runs although an outcome was handed out", a.Number)
		case g.open && policy == "refuse":
			g.t.Errorf("attempt %d runs under Refuse although an earlier one may have had its effect", a.Number)
		case g.open && a.Prior == nil:
			g.t.Errorf("attempt %d runs and is not told of an earlier one", a.Number)
		}
		before := g.open
		g.open = true // if h does not return
		value, err := h(ctx)
		if errors.Is(err, errPlain) && err == errPlain { //nolint:errorlint // unmarked: nothing happened
			g.open = before
		}
		return value, err
	}
}

// told looks at what a caller got: I3, I9, C19.
func (g *guard) told(f *fixture, req idempotency.Request, res idempotency.Result[string], err error) {
	g.t.Helper()
	if err == nil {
		if g.settled && res.Value != g.value {
			g.t.Errorf("answered %q, and earlier %q", res.Value, g.value)
		}
		g.settled, g.value = true, res.Value
		if it := f.wantStatus(g.t, req, "COMPLETED"); it.text("data") != fmt.Sprintf("%q", res.Value) {
			g.t.Errorf("answered %q, recorded is %s", res.Value, it.text("data"))
		}
		return
	}
	if _, ok := errors.AsType[*idempotency.Failure](err); ok {
		g.settled = true
	}
	if !slices.ContainsFunc([]error{
		errPlain, idempotency.ErrInProgress, idempotency.ErrMismatch, idempotency.ErrOutcomeUnknown,
		idempotency.ErrUnavailable, idempotency.ErrNotRecorded,
	}, func(known error) bool { return errors.Is(err, known) || known.Error() == err.Error() }) {
		g.t.Errorf("the caller got %v", err)
	}
}

// follow sends two more requests by healthy workers: at once, and after the lease.
func (g *guard) follow(f *fixture, p path, req idempotency.Request, policy string) {
	g.t.Helper()
	options := map[string]option{"refuse": refuse, "rerun": rerun}
	for _, after := range []time.Duration{0, time.Minute} {
		pass(after)
		res, err := f.worker(g.t, options[policy]).do(localtest.Invocation(g.t, 15*time.Second), req, g.run(policy, returns("next")))
		g.told(f, req, res, err)
		if _, failure := errors.AsType[*idempotency.Failure](err); err == nil || failure || after == 0 || p.name == "in progress" {
			continue
		}
		// C10: after the lease nothing is in the way but the policy.
		if policy == "rerun" {
			g.t.Errorf("under Rerun the key is blocked: %v", err)
		}
		wantErr(g.t, err, idempotency.ErrOutcomeUnknown)
	}
}

// claims says which of a path's calls makes it the owner; -1: none.
func (p path) claim() int {
	switch {
	case len(p.calls) == 1:
		return -1
	default:
		return len(p.calls) - 2
	}
}

// nthOf is which call of its operation a path's i-th call is.
func (p path) nthOf(i int) int {
	n := 0
	for _, operation := range p.calls[:i+1] {
		if operation == p.calls[i] {
			n++
		}
	}
	return n
}

func TestFaults_EveryCall(t *testing.T) {
	t.Parallel()
	policies := []string{"refuse", "rerun"}
	for _, p := range paths {
		for i, operation := range p.calls {
			for _, kind := range faultKinds {
				t.Run(fmt.Sprintf("%s/%s %d/%s", p.name, operation, p.nthOf(i), kind), func(t *testing.T) {
					t.Parallel()
					// Of the two policies for the requests that follow, each of the four has one, in turn.
					turn := i + int(kind)
					for name, tt := range map[string]struct {
						times  int
						sdk    option
						policy string
					}{
						"once":                       {1, func(*settings) {}, policies[turn%2]},
						"once, no SDK retries":       {1, withoutRetries, policies[(turn+1)%2]},
						"to the end":                 {forever, func(*settings) {}, policies[(turn+1)%2]},
						"to the end, no SDK retries": {forever, withoutRetries, policies[turn%2]},
					} {
						t.Run(name+", then "+tt.policy, func(t *testing.T) {
							synctest.Test(t, func(t *testing.T) { faultyCall(t, newFixture(t), p, i, kind, tt.times, tt.sdk, tt.policy) })
						})
					}
				})
			}
		}
	}
}

func faultyCall(t *testing.T, f *fixture, p path, i int, kind localtest.FaultKind, times int, sdk option, policy string) {
	t.Helper()
	req := request("k")
	g := guarding(t, f, p, req)
	found := f.record(t, req).text("status")
	f.quiet()
	f.db.Inject(localtest.Fault{Operation: p.calls[i], Nth: p.nthOf(i), Kind: kind, Times: times, Delay: lateBy(kind)})
	rule := "refuse"
	if slices.Contains(p.kinds, idempotency.KindTakenOver) {
		rule = "rerun"
	}
	res, err := f.worker(t, p.policy, sdk).do(localtest.Invocation(t, 15*time.Second), p.ask(req), g.run(rule, p.h))
	f.db.ClearFaults()
	g.told(f, req, res, err)

	// A write that was applied is recognised, and one fault, whatever it is, is got over.
	applied := slices.Contains([]localtest.FaultKind{localtest.ReplyLost, localtest.TruncatedReply, localtest.HangApplied, localtest.ServerErrorApplied}, kind)
	late := kind == localtest.AppliedLate
	want, status := p.err, p.status
	ran := 1
	if p.claim() < 0 {
		ran = 0
	}
	if times == forever && !applied {
		switch {
		case i == p.claim():
			want, status, ran = idempotency.ErrUnavailable, found, 0
		case i == p.claim()+1 && p.claim() >= 0:
			if outcome := p.status == "COMPLETED" || p.status == "FAILED"; !outcome {
				status = "INPROGRESS"
			} else if !late { // else one of the copies arrives while the attempt still asks
				want, status = idempotency.ErrNotRecorded, "INPROGRESS"
			}
		}
	}
	if want != nil {
		wantErr(t, err, want)
	} else if _, failure := errors.AsType[*idempotency.Failure](err); err != nil && !failure {
		t.Errorf("error %v, want none", err)
	}
	f.wantRuns(t, ran)
	if !late {
		f.wantStatus(t, req, status)
	}
	for _, e := range f.seen() {
		if e.Kind == idempotency.KindLeaseLost {
			t.Errorf("an own write was taken for another attempt's: %v", e.Err)
		}
	}
	g.follow(f, p, req, policy)
}

// C09, C10: the process dies before or after a call, or in the handler.
func TestFaults_EveryCrash(t *testing.T) {
	t.Parallel()
	for _, p := range paths {
		if p.claim() < 0 {
			continue
		}
		for i, operation := range p.calls {
			for _, when := range []string{"before", "after"} {
				crashAt(t, p, fmt.Sprintf("%s %s %d", when, operation, p.nthOf(i)), i > p.claim() || i == p.claim() && when == "after",
					i == len(p.calls)-1 && when == "after", func(w *worker, h handler) handler {
						die := nth(operation, p.nthOf(i), w.die)
						if when == "after" {
							w.after = die
						} else {
							w.before = func(operation string) error { die(operation); return nil }
						}
						return h
					})
			}
		}
		crashAt(t, p, "in the handler", true, false, func(w *worker, _ handler) handler {
			return func(context.Context) (string, error) { w.die(); return "", nil }
		})
	}
}

func crashAt(t *testing.T, p path, name string, owner, ended bool, arm func(*worker, handler) handler) {
	t.Helper()
	for _, policy := range []string{"refuse", "rerun"} {
		t.Run(p.name+"/"+name+"/"+policy, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				req := request("k")
				g := guarding(t, f, p, req)
				status := f.record(t, req).text("status")
				switch {
				case ended:
					status = p.status
				case owner:
					status = "INPROGRESS"
				}
				w := f.worker(t, p.policy)
				rule := "refuse"
				if slices.Contains(p.kinds, idempotency.KindTakenOver) {
					rule = "rerun"
				}
				w.abandon(localtest.Invocation(t, 15*time.Second), p.ask(req), g.run(rule, arm(w, p.h)))
				f.wantStatus(t, req, status)
				if owner && !ended {
					_, err := f.worker(t, rerun).do(localtest.Invocation(t, time.Second), req, returns("twin"))
					wantErr(t, err, idempotency.ErrInProgress)
				}
				g.follow(f, p, req, policy)
			})
		})
	}
}
