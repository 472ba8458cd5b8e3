package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
)

// say writes to a person, or a pipe; one that has gone is told of nothing.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }

// table writes rows in columns.
type table struct{ w *tabwriter.Writer }

func newTable(w io.Writer) table { return table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)} }

// row writes cells; what would break the table, or a terminal, is shown escaped.
func (t table) row(cells ...string) {
	for i, cell := range cells {
		cells[i] = printable(cell)
	}
	say(t.w, "%s\n", strings.Join(cells, "\t"))
}

func (t table) flush() { _ = t.w.Flush() }

// printable shows a text of somebody else's without its control characters.
func printable(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}

// visible is text with what a terminal would obey, or not show, written as an escape. Lines stay lines.
func visible(s string) string {
	var out strings.Builder
	for _, c := range s {
		if unicode.IsPrint(c) || c == '\n' || c == '\t' {
			out.WriteRune(c)
		} else {
			fmt.Fprintf(&out, "\\u%04x", c)
		}
	}
	return out.String()
}

// document writes v as JSON, on one line or on several.
func document(w io.Writer, v any, indent string) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	return enc.Encode(v)
}

// moment is a time for a person; the zero time is none.
func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// span is a duration for a person: its two largest units.
func span(d time.Duration) string {
	if d < 0 {
		return "-" + span(-d)
	}
	units := []struct {
		unit time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}}
	for i, u := range units {
		if d < u.unit {
			continue
		}
		text := strconv.FormatInt(int64(d/u.unit), 10) + u.name
		if i+1 < len(units) {
			if rest := d % u.unit / units[i+1].unit; rest > 0 {
				text += strconv.FormatInt(int64(rest), 10) + units[i+1].name
			}
		}
		return text
	}
	return "0s"
}

// distance says how far t is from now.
func distance(t, now time.Time) string {
	if d := t.Sub(now); d >= 0 {
		return "in " + span(d)
	}
	return span(now.Sub(t)) + " ago"
}

// bytesOf is a size for a person.
func bytesOf(n int) string {
	if n < 10_000 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f KB", float64(n)/1000)
}

// timeOrNil leaves a zero time out of a document.
func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
