package localtest

import (
	"slices"
	"time"

	"github.com/oncekey/oncekey/localtest/internal/dynamo"
)

// lateWrite is a request that is still on its way. It arrives before the first request that comes after its time:
// nobody could see it sooner, and no goroutine has to wait for it.
type lateWrite struct {
	due     time.Time // zero: only Flush brings it in
	request *dynamo.Request
	call    *Call
}

// postpone sends the request on its way.
func (db *DB) postpone(delay time.Duration, r *dynamo.Request, c *Call) {
	w := lateWrite{request: r, call: c}
	if delay > 0 {
		w.due = db.now().Add(delay)
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	db.late = append(db.late, w)
}

// Flush lets every request that a fault of the kind [AppliedLate] holds up arrive now, in the order in which they
// were sent, and returns how many these were.
func (db *DB) Flush() int {
	return db.arrive(func(lateWrite) bool { return true })
}

// applyDue lets the requests arrive whose time has come.
func (db *DB) applyDue() {
	db.mu.Lock()
	none := len(db.late) == 0
	db.mu.Unlock()
	if none {
		return
	}
	now := db.now()
	db.arrive(func(w lateWrite) bool { return !w.due.IsZero() && !w.due.After(now) })
}

func (db *DB) arrive(due func(lateWrite) bool) int {
	db.mu.Lock()
	var ready, rest []lateWrite
	for _, w := range db.late {
		if due(w) {
			ready = append(ready, w)
		} else {
			rest = append(rest, w)
		}
	}
	db.late = rest
	db.mu.Unlock()
	slices.SortStableFunc(ready, func(a, b lateWrite) int { return a.due.Compare(b.due) })
	for _, w := range ready {
		db.apply(w.request, w.call)
		db.told(w.call, AppliedLate.String()) // what became of it, the caller does not hear
	}
	return len(ready)
}
