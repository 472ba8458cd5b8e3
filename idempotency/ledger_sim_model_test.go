package idempotency

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// ledgerOwner is who has written a token into a record.
type ledgerOwner struct {
	worker *ledgerWorker
	asking *ledgerRequest // nil: a resolution
	window *ledgerWindow
}

// reach is the moment at which the table gets the call. One that it carries out is checked.
func (s *ledgerSim) reach(w *ledgerWorker, what ledgerWrite) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := what.send()
	p := what.payment
	if p == nil {
		return err
	}
	before := p.now
	if err != nil {
		s.note(what.asking, "%s of %s: %s (%v)", what.name, p.key, before.brief(), short(err))
		return err // nothing has changed
	}
	s.counts[what.name]++
	if what.beside {
		s.note(what.asking, "%s of %s", what.name, p.key)
		return nil // it means nothing before the record points to it
	}
	run := runOf(what.transact)
	row := false
	p.now, row = s.look(p, run)
	s.note(what.asking, "%s of %s: %s -> %s", what.name, p.key, before.brief(), p.now.brief())
	s.check(w, what, before, run, row)
	return nil
}

// runOf is the handler's run whose payment is in the transaction; "" if there is none.
func runOf(in *dynamodb.TransactWriteItemsInput) string {
	if in == nil {
		return ""
	}
	for _, a := range in.TransactItems[1:] {
		if a.Put != nil {
			return strings.TrimPrefix(a.Put.Item["id"].(*types.AttributeValueMemberS).Value, rowID(""))
		}
	}
	return ""
}

// look reads the record, the payment row and its twin for the outbox, and the accounts, as they are at one moment.
func (s *ledgerSim) look(p *ledgerPayment, run string) (rec *record, row bool) {
	get := func(table, id string) types.TransactGetItem {
		return types.TransactGetItem{Get: &types.Get{TableName: aws.String(table), Key: item{"id": textValue(id)}}}
	}
	gets := []types.TransactGetItem{get(s.records, p.id)}
	if run != "" {
		gets = append(gets, get(s.books, rowID(run)), get(s.books, outboxID(run)))
		for i := range s.balances {
			gets = append(gets, get(s.books, accountID(i)))
		}
	}
	out, err := s.inner.TransactGetItems(context.Background(), &dynamodb.TransactGetItemsInput{TransactItems: gets})
	if err != nil {
		s.t.Fatal(err)
	}
	s.past.add(p.id, out.Responses[0].Item)
	if it := out.Responses[0].Item; len(it) > 0 {
		if rec, err = readRecord(it, Schema{}.withDefaults()); err != nil {
			s.fail("the record cannot be read: %v", err)
		}
	}
	if run == "" {
		return rec, false
	}
	row = len(out.Responses[1].Item) > 0
	if row != (len(out.Responses[2].Item) > 0) {
		s.fail("I10: the payment row and the outbox row were not written together")
	}
	if _, known := s.rows[run]; row && !known {
		s.balances[p.from] -= p.amount
		s.balances[p.to] += p.amount
	}
	for i, want := range s.balances {
		r := reader{item: out.Responses[3+i].Item}
		if got := r.number("balance"); got != want {
			s.fail("I10: account %d has %d, want %d", i, got, want)
		}
	}
	return rec, row
}

func (s *ledgerSim) check(w *ledgerWorker, what ledgerWrite, before *record, run string, row bool) {
	p, after := what.payment, what.payment.now
	if after == nil && before == nil {
		return // a late copy of a transaction that was answered by its token, of a record that is swept
	}
	if after == nil {
		s.fail("the record is gone after a write")
		return
	}
	switch {
	case before == nil || !after.window.Equal(before.window):
		s.checkNewWindow(what, before)
	case after.token != before.token:
		s.checkNewOwner(what, before)
	case after.status != before.status || !after.body.equal(before.body):
		if before.status != inProgress {
			s.fail("I3: %s was changed", before.status)
		}
		if o := s.owners[after.token]; o.asking != what.asking {
			s.fail("I4: an attempt of another request was ended")
		}
	}
	if s.owners[after.token] == nil {
		s.owners[after.token] = &ledgerOwner{w, what.asking, p.last}
	}
	window := p.last
	_, known := s.rows[run]
	paid := row && !known
	window.expires = after.expires
	if after.finished() && (before == nil || !before.finished() || before.token != after.token) {
		outcome := s.outcome(p)
		if window.outcome != "" && window.outcome != outcome {
			s.fail("I3: a second outcome, %s after %s", outcome, window.outcome)
		}
		window.outcome, window.status = outcome, after.status
		if what.asking == nil {
			window.resolved = after.status
		} else if paid != (after.status == completed) {
			s.fail("I10: a payment row: %v, with the outcome %s", paid, after.status)
		}
	} else if paid {
		s.fail("I10: a payment without an outcome")
	}
	if paid {
		s.rows[run] = window.name
		if what.asking.nothing {
			s.checkNothing(what.asking)
		}
		if window.rows++; window.rows > 1 || window.resolved != "" && window.resolved != released {
			s.fail("I10: %d payments in one window, resolved %q", window.rows, window.resolved)
		}
		if window.outcome != noBody && !strings.Contains(window.outcome, `"`+run+`"`) {
			s.fail("I10: the outcome of %s is %s", run, window.outcome)
		}
	}
}

// noBody is the outcome of which it is recorded only that there is one.
const noBody = "done"

// outcome reads the payment's outcome, of which all must be there by now (rule 25).
func (s *ledgerSim) outcome(p *ledgerPayment) string {
	text, err := outcomeOf(s.plain, p.id, p.now)
	if err != nil {
		s.fail("rule 25: an outcome was recorded that cannot be read: %v", err)
	}
	for kind, happened := range map[string]bool{
		"without its body": text == "", "sealed": p.now.body.encoding.sealed, "kept beside": p.now.body.items != nil,
	} {
		if happened {
			s.counts[kind]++
		}
	}
	if text == "" {
		return noBody
	}
	return text
}

func (s *ledgerSim) checkNewWindow(what ledgerWrite, before *record) {
	p := what.payment
	if before != nil {
		s.counts["window ended"]++
		if before.expires >= time.Now().Unix() {
			s.fail("the record was replaced before its window ended")
		}
		if before.status == inProgress && s.stillOwns(before) {
			s.fail("I6: the window's end took a live lease")
		}
	}
	if p.now.number != 1 {
		s.fail("a window begins with attempt %d", p.now.number)
	}
	name := fmt.Sprint(p.key, " ", p.now.window.UnixMilli())
	if p.windows[name] == nil {
		p.windows[name] = &ledgerWindow{name: name, begun: time.Now()}
	} else if !s.short { // a write can be under way for longer than a short retention, and its record be swept before
		s.fail("a window came back")
	}
	p.last = p.windows[name]
}

func (s *ledgerSim) checkNewOwner(what ledgerWrite, before *record) {
	after := what.payment.now
	switch {
	case before.finished():
		s.fail("I3: an outcome was replaced")
	case before.status == inProgress && s.stillOwns(before):
		s.fail("I6: a live lease was taken")
	case s.owners[after.token] != nil:
		s.fail("rule 21: a token was used twice")
	case after.number != before.number+1:
		s.fail("I4: attempt %d after %d", after.number, before.number)
	}
	if what.asking == nil {
		what.payment.last.resolved = after.status
		return
	}
	harmless := what.asking.mode.tx != 0 && before.form == formTx && !before.external && before.prior == nil
	switch {
	case before.status == released && before.prior == nil, harmless:
		s.counts["taken over unasked"]++
	case s.policy == Refuse:
		s.fail("I5, rule 13: an unknown was taken over under Refuse")
	case after.status == inProgress && after.prior == nil:
		s.fail("rule 1: an unknown was taken over and is not remembered")
	}
}

// stillOwns: by its own clock, the owner has time left in which it may act.
func (s *ledgerSim) stillOwns(rec *record) bool {
	return s.owners[rec.token].worker.clock().Before(rec.leaseEnd.Add(-clockMargin))
}
