package main

import (
	"bytes"
	"errors"
	"log"
	"slices"
	"strings"
	"testing"

	"github.com/oncekey/oncekey/localtest"
)

// The demo is a test of its own: every line of its table says what must be so.
func TestDemo(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the function and waits for leases to end")
	}
	demo(t.Context(), t, func(text string) { t.Log("\n" + text) })
}

func TestReport_CountsWhatDiffers(t *testing.T) {
	t.Parallel()
	fine := row{what: "fine", got: "a", want: "a", calls: [2]int{1, 1}, charges: [2]int{1, 1}}
	answer, calls, charges := fine, fine, fine
	answer.got = "b"
	calls.calls[0] = 2
	charges.charges[0] = 2
	table, wrong := report([]*world{{rows: []row{fine, answer}}, {rows: []row{calls, charges}}})
	if wrong != 3 {
		t.Errorf("%d lines counted as wrong, want 3:\n%s", wrong, table)
	}
	if n := strings.Count(table, "NO: want a, 1 calls, 1 charges"); n != 3 {
		t.Errorf("%d lines say what is wrong, want 3:\n%s", n, table)
	}
}

func TestAnswer_SameBytesOnlyIfTheyAre(t *testing.T) {
	t.Parallel()
	first := answer{payload: []byte(`{"charge":"ch_1","attempt":1}`)}
	declined := &localtest.FunctionError{Type: "CardDeclined"}
	for _, c := range []struct {
		name string
		a    answer
		want string
	}{
		{"equal", answer{payload: slices.Clone(first.payload)}, sameAnswer},
		{"another attempt's", answer{payload: []byte(`{"charge":"ch_1","attempt":2}`)}, receipt("ch_1", 2)},
		{"equal, but an error", answer{payload: first.payload, err: declined}, "error CardDeclined"},
		{"no answer", answer{payload: first.payload, lost: errors.New("gone")}, "no answer: gone"},
		{"no receipt", answer{payload: []byte(`{}`)}, "no receipt: {}"},
	} {
		if got := c.a.after(first); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestStage_FatalEndsTheRunAndCleansUp(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	s := &stage{log: log.New(&text, "demo: ", 0)}
	var order []string
	s.run(func() {
		s.Cleanup(func() { order = append(order, "first") })
		s.Cleanup(func() { order = append(order, "second") })
		s.Fatalf("no %s", "Go")
		order = append(order, "went on")
	})
	if !slices.Equal(order, []string{"second", "first"}) || !s.Failed() || text.String() != "demo: no Go\n" {
		t.Errorf("order %v, failed %v, log %q", order, s.Failed(), text.String())
	}
}
