package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// row is a line of the table.
type row struct {
	what           string
	got, want      string
	calls, charges [2]int // as they are, as they should be
}

// expect adds a row: what was done, what the client got and should get, and how often the card processor should have
// been called and have charged by now.
func (w *world) expect(what, got, want string, calls, charges int) {
	w.rows = append(w.rows, row{
		what: what, got: got, want: want,
		calls:   [2]int{w.cards.Requests(), calls},
		charges: [2]int{w.cards.Charges(), charges},
	})
}

func (r row) asExpected() bool {
	return r.got == r.want && r.calls[0] == r.calls[1] && r.charges[0] == r.charges[1]
}

// report makes the table and counts the lines that are not as expected.
func report(worlds []*world) (table string, wrong int) {
	var text strings.Builder // takes every write, so none of the errors below can be
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "SITUATION\tTHE CLIENT GETS\tCALLS\tCHARGES\tOK")
	for _, w := range worlds {
		for _, r := range w.rows {
			verdict := "yes"
			if !r.asExpected() {
				wrong++
				verdict = fmt.Sprintf("NO: want %s, %d calls, %d charges", r.want, r.calls[1], r.charges[1])
			}
			_, _ = fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%s\n", r.what, r.got, r.calls[0], r.charges[0], verdict)
		}
	}
	_ = t.Flush()
	return text.String(), wrong
}
