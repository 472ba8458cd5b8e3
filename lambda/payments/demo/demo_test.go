package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"
)

// The demo is a test of its own: every line of its table says what must be so.
func TestDemo(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the function and waits for leases to end")
	}
	demo(t.Context(), t, func(text string) {
		t.Log("\n" + text)
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > 100 {
				t.Errorf("a line of %d columns, want at most 100: %s", n, line)
			}
		}
	})
}

func TestReport_CountsWhatDiffers(t *testing.T) {
	t.Parallel()
	one, none := 1, 0
	fine := row{what: "fine", got: "a", want: "a", calls: [2]int{1, 1}, charges: [2]int{1, 1}, booked: &one}
	answer, calls, charges, booked := fine, fine, fine, fine
	answer.got = "b"
	calls.calls[0] = 2
	charges.charges[0] = 2
	booked.booked = &none
	table, wrong := report([]*world{{rows: []row{fine, answer}}, {rows: []row{calls, charges, booked}}})
	if wrong != 4 {
		t.Errorf("%d lines counted as wrong, want 4:\n%s", wrong, table)
	}
	if n := strings.Count(table, "NO: want a, 1 charges, as many rows, 1 calls"); n != 4 {
		t.Errorf("%d lines say what is wrong, want 4:\n%s", n, table)
	}
}

func TestAnswer_IsTheSameOnlyIfItIsReplayed(t *testing.T) {
	t.Parallel()
	reply := func(status int, body string, headers ...string) answer {
		a := answer{status: status, body: body, header: http.Header{}}
		for i := 0; i < len(headers); i += 2 {
			a.header.Set(headers[i], headers[i+1])
		}
		return a
	}
	const body, another = `{"charge":"ch_1","attempt":1}`, `{"charge":"ch_1","attempt":2}`
	first := reply(201, body, "Content-Type", "application/json", "Date", "1")
	for what, c := range map[string]struct {
		a    answer
		want string
	}{
		"the same":        {reply(201, body, "Content-Type", "application/json", "Date", "2", "Idempotent-Replayed", "true"), sameAnswer},
		"not replayed":    {reply(201, body, "Content-Type", "application/json"), receipt("ch_1", 1)},
		"another body":    {reply(201, another, "Content-Type", "application/json", "Idempotent-Replayed", "true"), receipt("ch_1", 2) + ", replayed"},
		"another header":  {reply(201, body, "Content-Type", "text/plain", "Idempotent-Replayed", "true"), receipt("ch_1", 1) + ", replayed"},
		"a header less":   {reply(201, body, "Idempotent-Replayed", "true"), receipt("ch_1", 1) + ", replayed"},
		"another status":  {reply(200, body, "Content-Type", "application/json", "Idempotent-Replayed", "true"), "200 , replayed"},
		"a problem":       {reply(409, `{"code":"operation_in_progress"}`, "Retry-After", "1"), inProgress},
		"no Retry-After":  {reply(409, `{"code":"operation_in_progress"}`), "409 operation_in_progress"},
		"the gateway's":   {reply(500, `{"message":"Internal Server Error"}`), functionDied},
		"no JSON":         {reply(200, "OK"), "200 OK"},
		"hung up":         {answer{lost: context.Canceled}, "nothing"},
		"connection lost": {answer{lost: errors.New("reset")}, "no answer: reset"},
	} {
		if got := c.a.after(first); got != c.want {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}

func TestTries_EachStatusOnce(t *testing.T) {
	t.Parallel()
	last := answer{status: 201, body: `{"charge":"ch_1","attempt":1}`}
	for want, statuses := range map[string][]string{
		"503, 409, 201 ch_1, attempt 1": {"503", "409", "409", "201"},
		"201 ch_1, attempt 1":           {"201"},
	} {
		if got := (&tries{statuses: statuses}).before(last); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
