package main

import (
	"flag"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

var all = flag.Bool("crashes.all", false, "run the whole matrix, not only what is quick")

// Every call of every path, whatever happens to it, and the requests that follow: what each caller gets, what has happened,
// and what is recorded, by the rules. Without -crashes.all: the quick cells.
func TestCrashMatrix(t *testing.T) {
	t.Parallel()
	var played tally
	t.Run("at work", func(t *testing.T) {
		inLanes(t, &played, 4, func(c cell) bool { return c.trouble.kind != throttle })
	})
	// These wait for Lambda's time-out, and have to end just before it: side by side, and not beside processes that start.
	t.Run("waiting", func(t *testing.T) {
		inLanes(t, &played, len(paths), func(c cell) bool { return c.trouble.kind == throttle })
	})
	t.Logf("%d cells of %d paths, %d not as the rules say", played.cells.Load(), len(paths), played.failed.Load())
	if n := played.left.Load(); n > 0 {
		t.Logf("%d more were not played, since so many had failed", n)
	}
}

// tally counts cells.
type tally struct{ cells, failed, left atomic.Int64 }

// enough is how many cells may fail before the others are left: by then a rule is broken, and its cells say so alike.
const enough = 20

func (n *tally) play(t *testing.T, l *lane, c cell) {
	t.Helper()
	if n.failed.Load() >= enough {
		n.left.Add(1)
		return
	}
	n.cells.Add(1)
	if !t.Run(c.String(), func(t *testing.T) { l.play(t, c) }) {
		n.failed.Add(1)
	}
}

// inLanes plays the chosen cells, as many paths at a time as there are lanes.
func inLanes(t *testing.T, played *tally, lanes int, chosen func(cell) bool) {
	t.Helper()
	longestFirst := slices.SortedStableFunc(slices.Values(paths), func(a, b path) int { return len(b.calls) - len(a.calls) })
	work := make(chan path, len(paths))
	for _, p := range longestFirst {
		work <- p
	}
	close(work)
	var wg sync.WaitGroup
	for range lanes {
		wg.Go(func() {
			for p := range work {
				list := slices.DeleteFunc(cells(p, *all), func(c cell) bool { return !chosen(c) })
				if len(list) == 0 {
					continue
				}
				t.Run(p.title, func(t *testing.T) {
					l := newLane(t, p)
					l.wantCalls(t)
					for _, c := range list {
						played.play(t, l, c)
					}
				})
			}
		})
	}
	wg.Wait()
}

// wantCalls: the calls that the matrix knows are all that a first request makes.
func (l *lane) wantCalls(t *testing.T) {
	t.Helper()
	c := cell{path: l.path}
	l.db.ResetCalls()
	if got := l.ask(t, l.now, c.orders(), 1); got.classes[0] != answered {
		t.Fatalf("an undisturbed request got %q", got.classes)
	}
	var want, got []string
	for _, call := range l.calls {
		want = append(want, call.operation)
	}
	for _, call := range l.db.Calls("") {
		got = append(got, call.Operation)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("a first request calls %q, and the matrix knows of %q", got, want)
	}
}

// quick cells are those that show most in little time: the delays, the kills under one policy, and one where time and policy do
// not matter.
func (c cell) quick() bool {
	switch c.trouble.kind {
	case delay:
		return true
	case died, diedDone:
		return !c.rerun
	case passing:
		return !c.rerun && !c.late
	default: // takes 3 s
		return !c.rerun && !c.late && c.calls[c.at].role == claim && c.batch == 0
	}
}

// cells of a path; all, or the quick ones.
func cells(p path, all bool) (list []cell) {
	for at := range p.calls {
		for _, tr := range troubles {
			for _, rerun := range []bool{false, true} {
				for _, late := range []bool{false, true} {
					if c := (cell{path: p, at: at, trouble: tr, late: late, rerun: rerun}); all || c.quick() {
						list = append(list, c)
					}
				}
			}
		}
	}
	return list
}
