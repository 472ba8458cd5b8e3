package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// line is one known difference. A test's name ends in * where it stands for all names that begin so.
type line struct {
	number int
	skip   bool // the test must not even run
	test   string
	reason string
}

func (l line) matches(test string) bool {
	if start, ok := strings.CutSuffix(l.test, "*"); ok {
		return strings.HasPrefix(test, start)
	}
	return test == l.test
}

// table is the known differences of one DynamoDB.
type table []line

// parseTable reads lines of "fail TEST REASON" and "skip TEST REASON"; empty lines and those that start with # are for
// people.
func parseTable(text string) (table, error) {
	var t table
	number := 0
	seen := map[string]bool{}
	for raw := range strings.Lines(text) {
		number++
		raw = strings.TrimSpace(raw)
		if raw == "" || strings.HasPrefix(raw, "#") {
			continue
		}
		verb, rest, _ := strings.Cut(raw, " ")
		test, reason, _ := strings.Cut(strings.TrimSpace(rest), " ")
		l := line{number, verb == "skip", test, strings.TrimSpace(reason)}
		switch {
		case verb != "fail" && verb != "skip":
			return nil, fmt.Errorf("line %d: %q is neither fail nor skip", number, verb)
		case l.test == "" || l.reason == "":
			return nil, fmt.Errorf("line %d: a test and a reason are needed", number)
		case seen[l.test]:
			return nil, fmt.Errorf("line %d: %s has a line already", number, l.test)
		case l.skip && strings.Contains(l.test, "/"):
			return nil, fmt.Errorf("line %d: only a whole test can be skipped, not %s", number, l.test)
		}
		seen[l.test] = true
		t = append(t, l)
	}
	return t, nil
}

// skips reports whether the test must not run.
func (t table) skips(test string) bool {
	return slices.ContainsFunc(t, func(l line) bool { return l.skip && l.matches(test) })
}

// skipPattern is the value of go test's -skip.
func (t table) skipPattern() string {
	var names []string
	for _, l := range t {
		if !l.skip {
			continue
		}
		name := regexp.QuoteMeta(strings.TrimSuffix(l.test, "*"))
		if strings.HasSuffix(l.test, "*") {
			name += ".*"
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return ""
	}
	return "^(" + strings.Join(names, "|") + ")$"
}
