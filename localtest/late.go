package localtest

import (
	"slices"
	"time"
)

// lateWrite is a request that is still on its way. It arrives before the first request that is applied after its
// time: nobody could see it sooner, and no goroutine has to wait for it.
type lateWrite struct {
	due     time.Time // zero: only Flush brings it in
	request request
	call    *Call
}

// postpone sends the request on its way.
func (db *DB) postpone(delay time.Duration, r request, c *Call) {
	w := lateWrite{request: r, call: c}
	if delay > 0 {
		w.due = db.now().Add(delay)
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	db.late = append(db.late, w)
}

// Flush lets every request that a fault of the kind [AppliedLate] holds up arrive now, in the order in which they
// were sent, and returns how many these were. Those whose time has come arrive before the others.
func (db *DB) Flush() int {
	db.arriving.Lock()
	defer db.arriving.Unlock()
	return db.arriveDue() + db.arrive(db.takeLate(func(lateWrite) bool { return true }))
}

// applyDue lets the requests arrive whose time has come. None of them is under way any more when it returns, whoever
// has brought it in.
func (db *DB) applyDue() {
	db.arriving.Lock()
	defer db.arriving.Unlock()
	db.arriveDue()
}

// arriveDue is for holders of db.arriving.
func (db *DB) arriveDue() int {
	if !db.anyLate() { // the common case, which does not ask for the time
		return 0
	}
	now := db.now()
	due := db.takeLate(func(w lateWrite) bool { return !w.due.IsZero() && !w.due.After(now) })
	slices.SortStableFunc(due, func(a, b lateWrite) int { return a.due.Compare(b.due) })
	return db.arrive(due)
}

func (db *DB) anyLate() bool {
	db.mu.Lock()
	defer db.mu.Unlock()
	return len(db.late) > 0
}

// takeLate removes and returns the chosen ones, in the order in which they were sent.
func (db *DB) takeLate(chosen func(lateWrite) bool) []lateWrite {
	db.mu.Lock()
	defer db.mu.Unlock()
	var taken, rest []lateWrite
	for _, w := range db.late {
		if chosen(w) {
			taken = append(taken, w)
		} else {
			rest = append(rest, w)
		}
	}
	db.late = rest
	return taken
}

func (db *DB) arrive(writes []lateWrite) int {
	for _, w := range writes {
		// What became of it, the caller does not hear.
		if _, err := db.apply(w.request, w.call); err != nil {
			db.tb.Errorf("localtest: a late request of %s: %v", w.call.Operation, err)
		}
		db.told(w.call, AppliedLate.String())
	}
	return len(writes)
}
