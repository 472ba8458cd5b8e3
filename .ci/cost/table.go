package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/oncekey/oncekey/localtest"
)

// The list prices of DynamoDB on demand in us-east-1, in dollars a million, as seen on pages of third parties in 2025.
const (
	writePrice = 0.625
	readPrice  = 0.125
)

// dollars is the price of a million such bills.
func (b bill) dollars() float64 { return b.write*writePrice + b.read*readPrice }

// String is as 2 calls, 3 W, $1.88.
func (b bill) String() string {
	text := fmt.Sprintf("%d calls", b.calls)
	if b.calls == 1 {
		text = "1 call"
	}
	for _, u := range []struct {
		units float64
		name  string
	}{{b.write, "W"}, {b.read, "R"}} {
		if u.units > 0 {
			text += ", " + strconv.FormatFloat(u.units, 'f', -1, 64) + " " + u.name
		}
	}
	text += ", " + money(b.dollars())
	if b.noBody {
		text += "; not stored"
	}
	return text
}

// money has cents, or three digits where that is less than a dollar.
func money(d float64) string {
	if d >= 1 {
		return "$" + strconv.FormatFloat(math.Round(d*100)/100, 'f', 2, 64)
	}
	text := strconv.FormatFloat(d, 'g', 3, 64)
	if len(text) == len("0.5") {
		text += "0"
	}
	return "$" + text
}

// row is a line of a table: what it is called, and what it says of an answer.
type row struct {
	name string
	cell func(measured) string
}

var rows = []row{
	{"stored as", func(m measured) string {
		if m.items == 1 {
			return fmt.Sprintf("1 item, %s KB", kilo(m.bytes))
		}
		return fmt.Sprintf("%d items, %s KB", m.items, kilo(m.bytes))
	}},
	{"first run", func(m measured) string { return m.first.String() }},
	{"replay", func(m measured) string { return m.replay.String() }},
	{"first run, `ReadFirst`", func(m measured) string { return m.firstRead.String() }},
	{"replay, `ReadFirst`", func(m measured) string { return m.replayed.String() }},
	{"a waiting duplicate's poll", func(m measured) string { return m.pollRunning.String() }},
	{"its poll that finds the answer", func(m measured) string { return m.pollEnd.String() }},
	mixture("0.5 % duplicates", 0.005, false),
	mixture("0.5 %, `ReadFirst`", 0.005, true),
	mixture("5 % duplicates", 0.05, false),
	mixture("5 %, `ReadFirst`", 0.05, true),
}

// mixture is a million operations, and as many duplicates besides as the share says.
func mixture(name string, share float64, readFirst bool) row {
	return row{name, func(m measured) string {
		first, again := m.first, m.replay
		if readFirst {
			first, again = m.firstRead, m.replayed
		}
		return money(first.dollars() + share*again.dollars())
	}}
}

// kilo is thousands with three digits, as 0.913, 98.1 or 1002.
func kilo(n int) string {
	f := float64(n) / 1000
	digits := 0
	switch {
	case f < 10:
		digits = 2
	case f < 100:
		digits = 1
	}
	return strconv.FormatFloat(f, 'f', digits, 64)
}

// preface says what the figures are; its lines are as long as those of other documents.
const preface = `Each cell is what DynamoDB bills for one such request: calls, write units (W) and read units (R), and what a million of them
cost. The last four rows are a million operations, and as many duplicates of them besides as is said. List prices on demand in
us-east-1, as pages of third parties had them in 2025: $%v a million write units, $%v a million read units. KB are
1000 bytes; what is stored includes the rest of the record.
`

// report is the whole text.
func report(tb localtest.TB, sizes []size) (string, error) {
	tb.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, preface, writePrice, readPrice)
	for _, content := range []struct {
		name    string
		measure func(size) (measured, error)
	}{
		{"JSON, a list of orders", func(s size) (measured, error) {
			orders, err := ordersOf(s)
			if err != nil {
				return measured{}, err
			}
			return measure(tb, orders)
		}},
		{"random bytes in base64", func(s size) (measured, error) { return measure(tb, randomOf(s)) }},
	} {
		all := make([]measured, len(sizes))
		for i, s := range sizes {
			var err error
			if all[i], err = content.measure(s); err != nil {
				return "", fmt.Errorf("%s, %v: %w", content.name, s, err)
			}
		}
		writeTable(&b, content.name, sizes, all)
	}
	return b.String(), nil
}

func writeTable(b *strings.Builder, name string, sizes []size, all []measured) {
	fmt.Fprintf(b, "\n| %s |", name)
	for _, s := range sizes {
		fmt.Fprintf(b, " %v |", s)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(sizes)) + "\n")
	for _, r := range rows {
		fmt.Fprintf(b, "| %s |", r.name)
		for _, m := range all {
			fmt.Fprintf(b, " %s |", r.cell(m))
		}
		b.WriteString("\n")
	}
}
