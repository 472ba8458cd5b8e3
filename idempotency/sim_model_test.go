package idempotency

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// simWrite is one write on its way.
type simWrite struct {
	name   string
	asking *simRequest
	ids    []string // of the items
	send   func() error
}

// reach is the moment at which the table gets the call. A write that it carries out is checked.
func (s *simulation) reach(w simWrite) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := w.send(); err != nil {
		if len(w.ids) > 0 {
			s.note(w.asking, "%s: %s", w.name, short(err))
		}
		return err // a call that fails here has failed at the table: nothing changed
	}
	for _, id := range w.ids {
		it := s.read(id)
		s.past.add(id, it)
		rec := s.records[id]
		if rec == nil {
			s.checkBeside(w, id, it)
			continue
		}
		before := rec.now
		rec.now = nil
		if len(it) > 0 {
			now, err := readRecord(it, Schema{}.withDefaults())
			if err != nil {
				s.fail("the record cannot be read: %v", err)
				continue
			}
			rec.now = now
		}
		s.note(w.asking, "%s of %s: %s -> %s", w.name, rec.key.name, before.brief(), rec.now.brief())
		s.checkSecrets(it)
		s.check(w.asking, rec, before)
	}
	return nil
}

func (s *simulation) read(id string) item {
	out, err := s.inner.GetItem(context.Background(), &dynamodb.GetItemInput{
		TableName: &s.table, Key: item{"id": textValue(id)}, ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return out.Item
}

// checkSecrets: what identifies the caller is not in the table (I11).
func (s *simulation) checkSecrets(it item) {
	for name, v := range it {
		if text, ok := v.(*types.AttributeValueMemberS); ok && strings.Contains(text.Value, "raw-") {
			s.fail("I11: attribute %s has %q", name, text.Value)
		}
	}
}

func (s *simulation) check(q *simRequest, rec *simRecord, before *record) {
	after := rec.now
	if after == nil {
		s.fail("the record is gone after a write")
		return
	}
	if q.key != rec.key {
		s.fail("I11: a request for %s has written to %s", q.key.name, rec.key.name)
		return
	}
	switch {
	case before != nil && after.window.Equal(before.window) && after.token == before.token:
		s.checkSameOwner(q, rec, before)
	case before != nil && after.window.Equal(before.window):
		s.checkNewOwner(q, rec, before)
	default:
		s.checkNewWindow(q, rec, before)
	}
	window := rec.windows[len(rec.windows)-1]
	window.setExpiry(after.expires)
	if after.finished() && (before == nil || !before.finished() || before.token != after.token) {
		s.checkOutcome(rec, window)
	}
	for name, data := range after.steps {
		if s.sealer != nil {
			data, _ = s.sealer.Open(context.Background(), stepName(rec.id, name), data[1:])
		}
		rec.key.charges[string(data)] = true
	}
}

func (s *simulation) checkSameOwner(q *simRequest, rec *simRecord, before *record) {
	after := rec.now
	if !after.finished() {
		s.checkSteps(before, after)
	}
	same := after.status == before.status && after.body.equal(before.body)
	if same && len(after.steps) == len(before.steps) {
		return // the write did not apply
	}
	if before.status != inProgress {
		s.fail("I3: %s was changed under the same token", before.status)
	}
	if s.owners[after.token] != q {
		s.fail("I4: an attempt of another request was changed")
	}
	if after.fingerprint != before.fingerprint {
		s.fail("I1: the fingerprint changed")
	}
	if before.prior != nil && !after.finished() && (after.prior == nil || after.status == released) {
		s.fail("rule 1: an ending erased the prior unknown")
	}
	for i := range rec.key.runs {
		if rec.key.runs[i].token == after.token {
			rec.key.runs[i].left = after.status == released
		}
	}
}

// checkSteps: what is recorded of steps stays until there is an outcome (rule 5).
func (s *simulation) checkSteps(before, after *record) {
	for name, data := range before.steps {
		if !bytes.Equal(after.steps[name], data) {
			s.fail("rule 5: the recorded step %q was lost or changed", name)
		}
	}
}

// checkNewOwner: a re-acquire, a take-over or a resolution inside the window.
func (s *simulation) checkNewOwner(q *simRequest, rec *simRecord, before *record) {
	after := rec.now
	switch {
	case before.finished():
		s.fail("I3: an outcome was replaced")
	case before.status == inProgress && s.stillOwns(before):
		s.fail("I6: a live lease was taken")
	case q.person() && before.token != q.found:
		s.fail("rule 23: a resolution of an attempt that was not found")
	case after.status != inProgress && !q.person():
		s.fail("I2: a new owner with status %s", after.status)
	}
	if after.fingerprint != before.fingerprint {
		s.fail("I1: the fingerprint changed with the owner")
	}
	if after.number != before.number+1 {
		s.fail("I4: attempt %d after %d", after.number, before.number)
	}
	s.newToken(q, rec)
	if q.person() {
		for i := range rec.key.runs {
			rec.key.runs[i].left = rec.key.runs[i].left || after.status == released && rec.key.runs[i].record == rec
		}
	}
	if after.finished() {
		return
	}
	s.checkSteps(before, after)
	if (before.status != released || before.prior != nil) && after.prior == nil && !q.person() {
		s.fail("rule 1: an unknown was taken over and is not remembered")
	}
}

func (s *simulation) checkNewWindow(q *simRequest, rec *simRecord, before *record) {
	if before != nil && before.expires >= time.Now().Unix() {
		s.fail("the record was replaced before its window ended")
	}
	if before != nil && before.status == inProgress && s.stillOwns(before) {
		s.fail("I6: the window's end took a live lease")
	}
	if before != nil && before.givenBack() {
		s.counts["made way for the other secret"]++
	}
	if rec.now.number != 1 || rec.now.status != inProgress {
		s.fail("a window begins with attempt %d, %s", rec.now.number, rec.now.status)
	}
	rec.windows = append(rec.windows, &simWindow{input: q.input})
	rec.key.runs = slices.DeleteFunc(rec.key.runs, func(run simRun) bool { return run.record == rec })
	s.newToken(q, rec)
}

// stillOwns: by its own clock, the owner has time left in which it may act.
func (s *simulation) stillOwns(rec *record) bool {
	return s.owners[rec.token].worker.clock().Before(rec.leaseEnd.Add(-clockMargin))
}

func (s *simulation) newToken(q *simRequest, rec *simRecord) {
	// A claim that was under way for longer than the retention can come late, a copy of it for a second time; no real
	// retention is that short.
	if rec.now.number == 1 {
		rec.late = q.worker.clock().Sub(rec.now.started) > simRetention-clockMargin
	}
	// While secrets rotate a claim is given back as if it had never been: its record can be swept at once, and a copy of the
	// claim come then. It blocks the key for a lease; nothing has run.
	givenBack := len(s.secrets) > 1 && rec.now.number == 1 && rec.now.status == inProgress
	if s.owners[rec.now.token] != nil && !rec.late && !givenBack {
		s.fail("rule 21: a token was used twice")
	}
	s.owners[rec.now.token] = q
}

// checkOutcome: what is recorded is what a handler of this key has returned, and all of it is there (I3, rule 25).
func (s *simulation) checkOutcome(rec *simRecord, window *simWindow) {
	now := rec.now
	text, err := outcomeOf(s.plain, rec.id, now)
	if err != nil {
		s.fail("rule 25: an outcome was recorded that cannot be read: %v", err)
		return
	}
	if window.status != "" {
		s.fail("I3: a second outcome in one window")
	}
	window.status, window.outcome = now.status, text
	body := now.body
	for kind, happened := range map[string]bool{
		"without its body": body.encoding.none, "sealed": body.encoding.sealed, "compressed": body.encoding.deflated,
		"kept beside": body.items != nil, "in several items": body.items != nil && body.items.count > 1,
	} {
		if happened {
			s.counts[kind]++
		}
	}
	if text == "" {
		return
	}
	if now.status == failed {
		var failure recordedFailure
		if err := json.Unmarshal([]byte(text), &failure); err != nil {
			s.fail("I3: the failure recorded is %.200s", text)
		}
		window.outcome = failure.Message
	} else if err := json.Unmarshal([]byte(text), &window.outcome); err != nil {
		s.fail("I3: the outcome recorded is %.200s", text)
	}
	if !slices.Contains(rec.key.done, window.outcome) {
		s.fail("I3, I11: the outcome recorded is %.200q, which no handler of %s has returned", window.outcome, rec.key.name)
	}
	if !strings.HasPrefix(window.outcome, window.input) {
		s.fail("I1: the outcome recorded for input %s is %.200q", window.input, window.outcome)
	}
}

// checkBeside: an item beside a record is written once, is none itself, and outlives it (rule 25).
func (s *simulation) checkBeside(w simWrite, id string, it item) {
	i := slices.IndexFunc(w.asking.key.records, func(rec *simRecord) bool { return strings.HasPrefix(id, rec.id+"#") })
	if i < 0 {
		s.fail("I11: a request for %s has written the item %s", w.asking.key.name, id)
		return
	}
	s.note(w.asking, "%s of an item beside %s", w.name, w.asking.key.name)
	if r := (reader{item: it}); r.text(attrKind) != kindChunk || it[attrStatus] != nil {
		s.fail("rule 25: an item beside a record can be taken for one")
	}
	if rec := w.asking.key.records[i]; rec.now != nil {
		r := reader{item: it}
		if now := rec.now; now.finished() && now.body.items != nil && strings.HasPrefix(id, rec.id+"#"+now.body.items.name) && r.second("expiration") < now.expires+24*60*60 {
			s.fail("H20: an item of the answer ends before a day after its record")
		}
	}
	versions := s.past[id]
	data := func(v simVersion) []byte {
		b, _ := v.item[attrData].(*types.AttributeValueMemberB)
		return b.Value
	}
	if first, last := versions[0], versions[len(versions)-1]; !bytes.Equal(data(first), data(last)) {
		s.fail("rule 25: an item beside a record was written with other bytes")
	}
}
