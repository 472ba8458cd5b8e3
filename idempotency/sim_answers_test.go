package idempotency

import (
	"context"
	"errors"
	"time"
)

// simRequest is one request of a caller.
type simRequest struct {
	key    *simKey
	worker *simWorker
	name   string
	input  string
	lookup bool   // it asks for what is recorded and runs nothing
	found  string // the token of the attempt that a person resolves

	came    time.Time // by its process's clock
	windows []int     // how many its key's records had had by then
	runs    int
	own     string // what its last handler has returned
}

// person says that it is no request but a resolution.
func (q *simRequest) person() bool { return q.worker.number == simPerson }

// comes notes what a request could know when it was made.
func (s *simulation) comes(q *simRequest, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q.came = q.worker.clock()
	for _, rec := range q.key.records {
		q.windows = append(q.windows, len(rec.windows))
	}
	s.note(q, "%s, input %s, clock %s", what, q.input, q.worker.skew)
}

// since are the windows that were open at some time since the request came. What a process remembers, or reads from an old
// copy, may be of a window that another one's clock has ended, as long as its own has not (rule 24).
func (q *simRequest) since() (windows []*simWindow) {
	for i, rec := range q.key.records {
		for j, window := range rec.windows {
			if j >= q.windows[i] || window.expires >= expiredBefore(q.came) {
				windows = append(windows, window)
			}
		}
	}
	return windows
}

// bound says that the key was bound to this request, or to another one, at some time since this one came. An outcome that is
// recorded late may be over at once, and a claim that is given back as if it had never been: it is the expiry that the record
// had until then that counts.
func (q *simRequest) bound(mine bool) bool {
	came := q.came.Add(-q.worker.skew)
	for i, rec := range q.key.records {
		for j, window := range rec.windows {
			if (window.input == q.input) == mine && (j >= q.windows[i] || window.latest(came) >= expiredBefore(q.came)) {
				return true
			}
		}
	}
	return false
}

// started checks that a handler may start, and that nothing was left untold before it.
func (s *simulation) started(q *simRequest, a *Attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts["run"]++
	q.runs++
	s.note(q, "run attempt %d, prior %v", a.Number, a.Prior != nil)
	if a.Prior != nil {
		s.counts["prior"]++
	}
	rec := s.records[a.RecordID()]
	if q.lookup {
		s.fail("a look-up has run the handler")
	}
	if rec.now == nil || rec.now.token != a.Token || rec.now.status != inProgress {
		s.fail("I2, I8: a handler started whose attempt does not own the record")
		return
	}
	if a.Fence != fence(rec.now.window.UnixMilli(), rec.now.number) || a.Number != rec.now.number {
		s.fail("I4: attempt %d with fence %d, of a record with %d", a.Number, a.Fence, rec.now.number)
	}
	if a.Fence <= rec.fence && !rec.late {
		s.fail("I4: the fence went from %d to %d", rec.fence, a.Fence)
	}
	rec.fence = max(a.Fence, rec.fence)
	for _, run := range q.key.runs {
		switch {
		case run.left, run.record.now == nil:
		case run.record != rec:
			s.checkOtherSecret(run)
		case s.policy == Refuse:
			s.fail("I5: a handler started after a run that did not tell its outcome, under Refuse")
		case a.Prior == nil:
			s.fail("I5: a handler started without being told of an earlier run")
		}
	}
	q.key.runs = append(q.key.runs, simRun{token: a.Token, record: rec})
}

// checkOtherSecret: a handler starts while the key has a record under another secret, in which another one has run
// (rule 27).
func (s *simulation) checkOtherSecret(run simRun) {
	now := run.record.now
	if now.expires < time.Now().Unix() {
		return
	}
	switch {
	case now.finished():
		s.fail("I3: a handler started although there is an outcome under another secret")
	case now.status == inProgress && s.stillOwns(now):
		s.fail("I2: a handler started beside that of the record under another secret")
	case s.policy == Refuse:
		s.fail("I5: a handler started after a run that did not tell its outcome, under another secret and Refuse")
	}
}

// charges checks that a step may run.
func (s *simulation) charges(q *simRequest, a *Attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts["step"]++
	s.note(q, "step")
	if now := s.records[a.RecordID()].now; now != nil && now.token == a.Token && now.steps["charge"] != nil {
		s.fail("a recorded step ran again")
	}
}

// charged checks what a step gives to the handler.
func (s *simulation) charged(q *simRequest, value string, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if again {
		s.counts["step kept"]++
	}
	if !q.key.charges[`"`+value+`"`] {
		s.fail("I9: the handler got the step's result %q, which was never recorded", value)
	}
}

// returns notes what a handler is about to return.
func (s *simulation) returns(q *simRequest, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q.key.done = append(q.key.done, text)
	q.own = text
}

// answered checks what a caller got.
func (s *simulation) answered(q *simRequest, res Result[string], err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(q, "answer %.40q, %v", res.Value, short(err))
	state, protocol := err.(*StateError)       //nolint:errorlint // not one inside a handler's error
	failure, replayedFailure := err.(*Failure) //nolint:errorlint // as it was returned
	switch {
	case err == nil:
		if q.lookup {
			s.counts["looked up"]++
		}
		s.checkRecorded(q, res.Value, completed)
	case replayedFailure:
		s.checkRecorded(q, failure.Message, failed)
	case protocol:
		s.checkRefusal(q, state)
		if res.Value != "" {
			s.checkRecorded(q, res.Value, completed)
		}
		if winner, ok := errors.AsType[*Failure](state.Winner); ok {
			s.checkRecorded(q, winner.Message, failed)
		}
	default:
		own, ok := err.(*simError) //nolint:errorlint // as it was returned
		switch {
		case q.runs == 0:
			s.fail("a caller whose handler has not run got %v", err)
		case ok && own.class == Recorded:
			s.checkRecorded(q, own.text, failed)
		case !ok && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled):
			s.fail("a caller got %v", err)
		}
	}
}

// checkRecorded: an answer was recorded, for this request, in a window that was open since it came (I1, I3, I9, I11, H6).
func (s *simulation) checkRecorded(q *simRequest, text string, as status) {
	for _, window := range q.since() {
		switch {
		case window.input != q.input || window.status != as:
		case window.outcome == text:
			return
		case window.outcome == "" && q.own == text:
			return // done, and what there was to record could not be
		}
	}
	s.fail("I1, I3, I9: a caller with input %s got %.200q, which was not recorded for it as %s in a window that is open", q.input, text, as)
}

func (s *simulation) checkRefusal(q *simRequest, state *StateError) {
	sentinel := func(errs ...error) bool {
		for _, err := range errs {
			if errors.Is(state.Err, err) {
				return true
			}
		}
		return false
	}
	if untouched := sentinel(ErrInProgress, ErrMismatch, ErrOutcomeUnknown, ErrUnavailable, ErrNotFound, ErrNoTime) && !sentinel(ErrNotRecorded, ErrLeaseLost); untouched && q.runs > 0 {
		s.fail("I8: a caller was told %v, and its handler has run", state)
	}
	now := s.records[state.ID].now
	// While secrets rotate it may be by the lease of a claim that it could not give back.
	mine := now != nil && s.owners[now.token] == q && len(q.key.records) == 1
	if mine && (now.status == inProgress && sentinel(ErrInProgress) || now.finished() && sentinel(ErrLeaseLost)) {
		s.fail("I7: a request was kept out by itself")
	}
	switch {
	case sentinel(ErrNotRecorded, ErrLeaseLost):
		if q.runs == 0 {
			s.fail("a caller whose handler has not run got %v", state)
		}
	case sentinel(ErrMismatch):
		if !q.bound(false) {
			s.fail("rule 24: a mismatch, and the key is bound to nothing else in a window that is open")
		}
	case sentinel(ErrNoBody):
		for _, window := range q.since() {
			if window.status != "" && window.outcome == "" {
				return
			}
		}
		s.fail("rule 25: an outcome's body is not there, and was stored")
	case sentinel(ErrInProgress, ErrOutcomeUnknown) && !q.bound(true):
		s.fail("I1: a request was told of the state of another one's record")
	case sentinel(ErrOutcomeUnknown):
		if s.policy == Rerun && !q.lookup {
			s.fail("refused under Rerun")
		}
	case sentinel(ErrInProgress, ErrUnavailable, ErrNoTime), sentinel(ErrNotFound) && q.lookup:
	default:
		s.fail("a caller got %v", state)
	}
}
