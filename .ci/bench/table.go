package main

import (
	"fmt"
	"strconv"
	"strings"
)

// measure is one that the two sides of a pair are compared by.
type measure struct {
	name  string
	unit  string
	scale float64 // from the unit to what is shown
	limit func(limits) float64
	noise float64 // of the ratio, as repeated runs have shown it
}

var measures = []measure{
	{name: "allocations", unit: "allocs/op", scale: 1, limit: func(l limits) float64 { return l.allocations }},
	{name: "bytes", unit: "B/op", scale: 1, limit: func(l limits) float64 { return l.bytes }},
	{name: "instructions, thousands", unit: "instructions", scale: 1e3, limit: func(l limits) float64 { return l.instructions }, noise: 0.01},
	{name: "time", unit: "ns/op", scale: 1e3, limit: func(limits) float64 { return 0 }},
}

// counted says that the pair's instructions are: counting takes seconds for each.
func (p pair) counted() bool {
	return p.pkg == "idempotency" && strings.Contains(p.ours, "/server=none/")
}

// render makes the tables, and a line for each budget that is broken.
func render(found results, instructions map[string]float64) (text string, broken []string, err error) {
	for name, n := range instructions {
		found.add(name, "instructions", n)
	}
	var b strings.Builder
	b.WriteString("| what : baseline |")
	for _, m := range measures {
		b.WriteString(" " + m.name + " |")
	}
	b.WriteString(" budget |\n|---|" + strings.Repeat("--:|", len(measures)) + "--:|\n")
	for _, p := range pairs {
		fmt.Fprintf(&b, "| %s |", p.what)
		for _, m := range measures {
			if m.unit == "instructions" && found[p.ours][m.unit] == nil {
				b.WriteString(" |") // not counted
				continue
			}
			cell, over, err := compare(found, p, m)
			if err != nil {
				return "", nil, err
			}
			b.WriteString(" " + cell + " |")
			if over != "" {
				broken = append(broken, over)
			}
		}
		b.WriteString(" " + p.limits.String() + " |\n")
	}
	b.WriteString("\n| what | |\n|---|---|\n")
	for _, f := range figures {
		var cells []string
		for _, unit := range f.units {
			values, err := found.all(f.bench, unit)
			if err != nil {
				return "", nil, err
			}
			cells = append(cells, shown(median(values), unit))
		}
		fmt.Fprintf(&b, "| %s | %s |\n", f.what, strings.Join(cells, ", "))
	}
	return b.String(), broken, nil
}

// compare is a cell, and what is wrong with it.
func compare(found results, p pair, m measure) (cell, over string, err error) {
	ours, err := found.all(p.ours, m.unit)
	if err != nil {
		return "", "", err
	}
	base, err := found.all(p.base, m.unit)
	if err != nil {
		return "", "", err
	}
	a, z := median(ours), median(base)
	ratio := a / z
	if m.unit == "ns/op" { // each beside its neighbour in time
		ratios := make([]float64, min(len(ours), len(base)))
		for i := range ratios {
			ratios[i] = ours[i] / base[i]
		}
		return fmt.Sprintf("%.2f", median(ratios)), "", nil
	}
	cell = fmt.Sprintf("%s : %s = %.3f", thousands(a/m.scale), thousands(z/m.scale), ratio)
	if limit := m.limit(p.limits); limit > 0 && ratio > limit+m.noise {
		cell = fmt.Sprintf("%s : %s = **%.3f**", thousands(a/m.scale), thousands(z/m.scale), ratio)
		over = fmt.Sprintf("%s: %s: %.3f is above the budget of %.2f", p.what, m.name, ratio, limit)
	}
	return cell, over, nil
}

// String is a budget as the table has it.
func (l limits) String() string {
	if !l.any() {
		return ""
	}
	if l.instructions > l.allocations {
		return fmt.Sprintf("%.2f, instructions %.2f", l.allocations, l.instructions)
	}
	return fmt.Sprintf("%.2f", l.allocations)
}

// words are units as a reader has them.
var words = map[string]string{
	"allocs/op": "allocations", "B/op": "bytes", "writes/op": "writes", "reads/op": "reads", "read-units/op": "read units",
	"read-units": "read units", "write-units": "write units", "heap-B/run": "bytes of heap", "stack-B/run": "bytes of stack", "virtual-s": "s",
}

// shown is a value with its unit.
func shown(v float64, unit string) string {
	switch {
	case unit == "ns/op" && v >= 1e6:
		return thousands(v/1e6) + " ms"
	case unit == "ns/op" && v >= 1e4:
		return thousands(v/1e3) + " µs"
	case unit == "ns/op":
		return thousands(v) + " ns"
	case v == 1 && unit == "allocs/op":
		return "1 allocation"
	case words[unit] != "":
		return thousands(v) + " " + words[unit]
	}
	return thousands(v) + " " + unit
}

// thousands writes a number with commas, and a small one with a digit behind the point.
func thousands(v float64) string {
	digits := 0
	if v != float64(int64(v)) && v < 100 {
		digits = 1
	}
	s := strconv.FormatFloat(v, 'f', digits, 64)
	whole, fraction, _ := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction != "" {
		whole += "." + fraction
	}
	return whole
}
