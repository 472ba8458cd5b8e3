package idempotency

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// comes notes what a request could know when it was made.
func (w *ledgerWorker) comes(q *ledgerRequest) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q.window, q.came = q.payment.last, w.clock()
	q.settled = q.window != nil && q.window.outcome != ""
	w.note(q, "asks, %s", q.mode.name)
}

// started checks that a handler may start.
func (s *ledgerSim) started(q *ledgerRequest, run string, a *Attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts["run"]++
	s.note(q, "run %s, attempt %d, prior %v", run, a.Number, a.Prior != nil)
	q.runs = append(q.runs, run)
	if now := q.payment.now; q.mode.tx != SingleShot && (now == nil || now.token != a.Token || now.status != inProgress) {
		s.fail("I2: a handler started whose attempt does not own the record")
	}
}

// charged is the processor's side of a charge.
func (s *ledgerSim) charged(q *ledgerRequest, a *Attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts["charge"]++
	p := q.payment
	s.note(q, "%s charged", p.key)
	if p.card == "" {
		p.card = a.DownstreamKey("card")
	}
	if a.DownstreamKey("card") != p.card {
		s.fail("two downstream keys of one payment: the processor would charge twice")
	}
	owner := s.owners[a.Token]
	if owner == nil || owner.asking != q {
		s.fail("I4: a charge by an attempt that has never owned the record")
		return
	}
	if p.charges[a.Token]++; p.charges[a.Token] > 1 {
		s.fail("an attempt has charged twice")
	}
	owner.window.charges++
	if q.mode.tx != 0 {
		return // an attempt that charges and dies before the step is recorded leaves nothing that policies are asked about
	}
	if owner.window.asked++; owner.window.asked > 1 && s.policy == Refuse && owner.window.resolved != released {
		s.fail("I5: a second charge in one window under Refuse")
	}
}

// answered checks what a client got.
func (s *ledgerSim) answered(w *ledgerWorker, q *ledgerRequest, value string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(q, "answer %q, %v", value, short(err))
	state, protocol := err.(*StateError)       //nolint:errorlint // not one inside a handler's error
	failure, replayedFailure := err.(*Failure) //nolint:errorlint // as it was returned
	own, handlers := err.(*ledgerError)        //nolint:errorlint // as it was returned
	switch {
	case err == nil:
		s.checkRecorded(q, value, completed)
	case replayedFailure:
		s.checkRecorded(q, failure.Message, failed)
	case protocol:
		s.checkRefusal(q, state)
		if value != "" {
			s.checkRecorded(q, value, completed)
		}
	case handlers && own.class == Recorded:
		s.checkRecorded(q, own.text, failed)
	case handlers && own.class == Ambiguous, errors.Is(err, errReset), errors.Is(err, context.DeadlineExceeded):
	default:
		if _, ok := err.(*WriteError); !ok && !handlers { //nolint:errorlint // as it was returned
			s.fail("a client got %v", err)
		}
		q.nothing = true
		s.checkNothing(q)
		// A retry of what is done gets what was recorded, not what the handler thinks of it (C46, rules 15 and 16).
		if now := q.payment.now; q.settled && q.window == q.payment.last && now != nil && !now.expired(w.clock()) {
			s.fail("H4: a retry was answered %v, and the outcome is %s", err, q.window.outcome)
		}
	}
}

// checkRecorded: an answer is what was recorded, in a window that was open since the request came (I3, I9). Of what a process
// remembers, or reads from an old copy, its own clock says whether it is over.
func (s *ledgerSim) checkRecorded(q *ledgerRequest, text string, as status) {
	for _, window := range q.payment.windows {
		over := q.window != nil && window.begun.Before(q.window.begun) && window.expires < expiredBefore(q.came)
		own := window.outcome == noBody && slices.Contains(q.returned, text)
		if window.status == as && !over && (own || strings.Contains(window.outcome, `"`+text+`"`)) {
			return
		}
	}
	s.fail("I3, I9: a client got %q, which is not recorded as %s in a window that is open", text, as)
}

func (s *ledgerSim) checkRefusal(q *ledgerRequest, state *StateError) {
	now := q.payment.now
	mine := now != nil && s.owners[now.token] != nil && s.owners[now.token].asking == q
	switch {
	case errors.Is(state.Err, ErrNotRecorded), errors.Is(state.Err, ErrNoTime) && len(q.runs) > 0:
	case errors.Is(state.Err, ErrNoBody):
		for _, window := range q.payment.windows {
			if window.outcome == noBody {
				return
			}
		}
		s.fail("rule 25: an outcome's body is not there, and was stored")
	case errors.Is(state.Err, ErrLeaseLost):
		if mine && now.finished() {
			s.fail("I7: a request has lost its lease to itself")
		}
	case errors.Is(state.Err, ErrInProgress), errors.Is(state.Err, ErrUnavailable), errors.Is(state.Err, ErrNoTime), errors.Is(state.Err, ErrOutcomeUnknown):
		if mine && now.status == inProgress && errors.Is(state.Err, ErrInProgress) {
			s.fail("I7: a request is kept out by itself")
		}
		if s.policy == Rerun && errors.Is(state.Err, ErrOutcomeUnknown) {
			s.fail("refused under Rerun")
		}
		q.nothing = true
		s.checkNothing(q)
	default:
		s.fail("a client got %v", state)
	}
}

// checkNothing: who was told that nothing was written has written nothing.
func (s *ledgerSim) checkNothing(q *ledgerRequest) {
	for _, run := range q.runs {
		if _, ok := s.rows[run]; ok {
			s.fail("I9: %s was told that nothing was written, and its payment is there", q.name)
		}
	}
}

// truth is what the reconciler finds out about an unknown.
func (w *ledgerWorker) truth(rec Record) (Resolution, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.payments, func(p *ledgerPayment) bool { return p.id == rec.ID })
	owner := w.owners[rec.Token]
	if i < 0 || owner == nil {
		w.fail("Unknowns found %s, token %s", rec.ID, rec.Token)
		return Resolution{}, false
	}
	window := owner.window
	if now := w.payments[i].now; window.rows > 0 && now != nil && now.token == rec.Token && !now.finished() {
		w.fail("I10: a payment was made and its outcome is unknown")
	}
	switch {
	case w.chance(40):
		return Resolution{}, false // nobody has looked yet
	case window.charges > 0 && w.chance(50):
		return Completed(fmt.Sprintf("resolved %d", len(w.log))), true // the rest was done by hand
	case window.charges > 0 || w.chance(30):
		return Failed(fmt.Errorf("resolved %d", len(w.log))), true
	}
	return NotDone(), true
}

// close checks the books when all is over: what there is, is what the model knows.
func (s *ledgerSim) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	out, err := s.inner.Scan(s.t.Context(), &dynamodb.ScanInput{TableName: &s.books})
	if err != nil {
		s.t.Fatal(err)
	}
	sum, rows := int64(0), 0
	for _, it := range out.Items {
		r := reader{item: it}
		if _, ok := it["balance"]; ok {
			sum += r.number("balance")
		} else if run, ok := strings.CutPrefix(r.text("id"), rowID("")); ok {
			rows++
			if s.rows[run] == "" {
				s.fail("I10: a payment row that nobody wrote: %s", run)
			}
		}
	}
	if sum != s.total || rows != len(s.rows) {
		s.fail("I10: the accounts have %d, want %d; %d payment rows, want %d", sum, s.total, rows, len(s.rows))
	}
	for _, p := range s.payments {
		rec, _ := s.look(p, "-")
		if rec != nil && rec.finished() != (p.last.outcome != "") {
			s.fail("%s is %s and its outcome is %q", p.key, rec.status, p.last.outcome)
		}
	}
}

// note is for holders of s.mu, remark for others.
func (s *ledgerSim) note(q *ledgerRequest, format string, args ...any) {
	who := "-"
	if q != nil {
		who = q.name
	}
	s.say(who, format, args...)
}

func (s *ledgerSim) remark(q *ledgerRequest, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(q, format, args...)
}
