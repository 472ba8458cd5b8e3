package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
)

// row is a line of the table.
type row struct {
	what           string
	got, want      string
	calls, charges [2]int // as they are, as they should be
	booked         *int   // payments and commissions in the ledger; nil where something is still going on
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

// end notes, in the last row, what the ledger has: at the end of every situation each charge has its row there.
func (w *world) end(ctx context.Context) error {
	booked, err := w.booked(ctx)
	if len(w.rows) > 0 {
		w.rows[len(w.rows)-1].booked = &booked
	}
	return err
}

func (r row) asExpected() bool {
	return r.got == r.want && r.calls[0] == r.calls[1] && r.charges[0] == r.charges[1] &&
		(r.booked == nil || *r.booked == r.charges[1])
}

// report makes the table and counts the lines that are not as expected.
func report(worlds []*world) (table string, wrong int) {
	var text strings.Builder // takes every write, so none of the errors below can be
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(t, "SITUATION\tTHE CLIENT GETS\tCHARGES\tROWS\tOK")
	for _, w := range worlds {
		for _, r := range w.rows {
			verdict, booked := "yes", ""
			if r.booked != nil {
				booked = strconv.Itoa(*r.booked)
			}
			if !r.asExpected() {
				wrong++
				verdict = fmt.Sprintf("NO: want %s, %d charges, as many rows, %d calls for them and not %d", r.want, r.charges[1], r.calls[1], r.calls[0])
			}
			_, _ = fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\n", r.what, r.got, r.charges[0], booked, verdict)
		}
	}
	_ = t.Flush()
	return text.String(), wrong
}
