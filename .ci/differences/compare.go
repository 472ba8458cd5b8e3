package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// comparison is how results and table agree.
type comparison struct {
	passed   int
	known    map[string]int // failures by their reason
	skipped  map[string]int
	problems []string
}

// compare judges the results; names are all tests of the package, those that were not run included.
func compare(known table, names []string, rs results) comparison {
	c := comparison{known: map[string]int{}, skipped: map[string]int{}}
	used := make([]int, len(known))
	for _, r := range rs.judged() {
		at := slices.IndexFunc(known, func(l line) bool { return !l.skip && l.matches(r.name) })
		if at >= 0 {
			used[at]++
		}
		switch {
		case r.action == "": // whatever the table says: it is not known what would have become of it
			c.problems = append(c.problems, "no result: "+r.name+"\n"+shortened(r.output))
		case r.action == "skip":
			c.skipped[r.reason()]++
		case r.action == "fail" && at >= 0:
			c.known[known[at].reason]++
		case r.action == "fail":
			c.problems = append(c.problems, "not in the table: "+r.name+"\n"+shortened(r.output))
		case at >= 0:
			c.problems = append(c.problems, fmt.Sprintf("line %d: %s passes", known[at].number, r.name))
		default:
			c.passed++
		}
	}
	for _, name := range names {
		if !rs.began(name) && !known.skips(name) {
			c.problems = append(c.problems, "no result: "+name)
		}
	}
	for i, l := range known {
		if l.skip {
			for _, name := range names {
				if l.matches(name) {
					used[i]++
					c.skipped[l.reason]++
				}
			}
		}
		if used[i] == 0 {
			c.problems = append(c.problems, fmt.Sprintf("line %d: there is no test %s", l.number, l.test))
		}
	}
	return c
}

// shortened is an output that leaves room for others.
func shortened(s string) string {
	const most = 2000
	if len(s) > most {
		s = s[:most] + "…\n"
	}
	return s
}

// report is the counts.
func (c comparison) report(title string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d passed, %d known differences, %d skipped\n", title, c.passed, sum(c.known), sum(c.skipped))
	for _, group := range []struct {
		what   string
		counts map[string]int
	}{{"differ", c.known}, {"skipped", c.skipped}} {
		reasons := slices.SortedFunc(maps.Keys(group.counts), func(a, b string) int {
			return cmp.Or(group.counts[b]-group.counts[a], strings.Compare(a, b))
		})
		for _, reason := range reasons {
			fmt.Fprintf(&b, "%6d %s: %s\n", group.counts[reason], group.what, reason)
		}
	}
	return b.String()
}

func sum(counts map[string]int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}

// problem is nil if table and results agree.
func (c comparison) problem(file string) error {
	if len(c.problems) == 0 {
		return nil
	}
	return fmt.Errorf("%d disagreements with %s:\n%s", len(c.problems), file, strings.Join(c.problems, "\n"))
}
