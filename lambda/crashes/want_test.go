package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// wantEnds compares what the two requests got.
func (c cell) wantEnds(t *testing.T, first, retry got) {
	t.Helper()
	if want := c.classes(c.ends().first, true); !slices.Equal(first.classes, want) {
		t.Errorf("the first request got %q, want %q", first.classes, want)
	}
	if want := c.classes(c.ends().retry, false); !slices.Equal(retry.classes, want) {
		t.Errorf("the retry got %q, want %q", retry.classes, want)
	}
	if first.answer != "" && retry.answer != "" && first.answer != retry.answer {
		t.Errorf("I3: two answers: %.100s and %.100s", first.answer, retry.answer)
	}
}

// wantKinds compares what was counted.
func (c cell) wantKinds(t *testing.T, first, retry got) {
	t.Helper()
	if want := c.kinds(c.classesOf(c.ends().first, true), false); !maps.Equal(first.kinds, want) {
		t.Errorf("of the first request was counted %v, want %v", first.kinds, want)
	}
	if want := c.kinds(c.classesOf(c.ends().retry, false), true); !maps.Equal(retry.kinds, want) {
		t.Errorf("of the retry was counted %v, want %v", retry.kinds, want)
	}
}

// wantEffects compares what has happened.
func (l *lane) wantEffects(t *testing.T, c cell, orders []order) {
	t.Helper()
	for i, o := range orders {
		want := c.effectsOf(i == c.message(c.at))
		got := l.of(o.ID)
		for _, e := range c.effects {
			n := fmt.Sprint(got[e.name])
			if e.staged {
				n = l.entries(t, o.ID)
			}
			if n != fmt.Sprint(want[e.name]) {
				t.Errorf("%s: %s effects %q, want %d", o.ID, n, e.name, want[e.name])
			}
			if most := map[bool][]string{false: {"0", "1"}, true: {"0", "1", "2"}}[c.rerun]; !slices.Contains(most, n) {
				t.Errorf("I5: %s: %s effects %q, which never may be, whatever the rules say", o.ID, n, e.name)
			}
		}
	}
}

// wantRecord: an outcome is recorded if somebody was given one, and it is the one that they were given.
func (l *lane) wantRecord(t *testing.T, c cell, orders []order, first, retry got) {
	t.Helper()
	for i, o := range orders {
		rec := l.record(t, o)
		done := first.classes[i].isAnswer() || retry.classes[i].isAnswer()
		want := cmp.Or(c.story().leaves, "INPROGRESS")
		if done {
			want = "COMPLETED"
		}
		if rec.Status != want {
			t.Errorf("%s: the record is %s, want %s", o.ID, rec.Status, want)
		}
		if stored := done && c.ends().retry != noBody; stored != (rec.Outcome != nil) {
			t.Errorf("%s: an outcome of %d bytes is recorded, want one %v", o.ID, len(rec.Outcome), stored)
		}
		for _, g := range []got{first, retry} {
			if run := runOf(g.answer); rec.Outcome != nil && !strings.Contains(string(rec.Outcome), run) {
				t.Errorf("I9: %s: answered was %s, recorded is %.100s", o.ID, run, rec.Outcome)
			}
		}
	}
}

// wantAnothersRefused sends another request under the same keys: there is a record by now, so it is refused (I1, C12).
func (l *lane) wantAnothersRefused(t *testing.T, c cell, orders []order) {
	t.Helper()
	others := make([]order, len(orders))
	for i, o := range orders {
		o.Amount++
		others[i] = o
	}
	for _, got := range l.ask(t, l.later, others, 1).classes {
		if got != mismatch {
			t.Errorf("I1: another request with the key got %q", got)
		}
	}
	l.wantEffects(t, c, orders)
}

// runOf is the name of the run that has given an answer.
func runOf(text string) string {
	var a answer
	_ = json.Unmarshal([]byte(text), &a) // of none: ""
	return a.Run
}
