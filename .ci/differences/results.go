package main

import (
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
)

// result is what became of one test.
type result struct {
	name   string
	action string // pass, fail or skip; "" of one that did not end
	output string
}

func (r *result) failed() bool { return r.action == "fail" || r.action == "" }

// reason is the last line that a skipped test wrote itself.
func (r *result) reason() string {
	reason := "no reason given"
	for text := range strings.Lines(r.output) {
		text = strings.TrimSpace(text)
		if place := sourceLine.FindString(text); place != "" {
			reason = strings.TrimPrefix(text, place)
		}
	}
	return reason
}

var sourceLine = regexp.MustCompile(`^\w+\.go:\d+: `)

// results are in the order in which the tests began.
type results []*result

func (rs results) anyFailed() bool {
	for _, r := range rs {
		if r.failed() {
			return true
		}
	}
	return false
}

// began reports whether there is anything of the test. One that panics or takes too long ends those behind it as well.
func (rs results) began(name string) bool {
	return slices.ContainsFunc(rs, func(r *result) bool { return r.name == name })
}

// judged are the tests that a table speaks of: those without subtests, and one that failed though no subtest of it did.
func (rs results) judged() results {
	parents, failing := map[string]bool{}, map[string]bool{}
	for _, r := range rs {
		for parent := above(r.name); parent != ""; parent = above(parent) {
			parents[parent] = true
			failing[parent] = failing[parent] || r.failed()
		}
	}
	var list results
	for _, r := range rs {
		if !parents[r.name] || r.failed() && !failing[r.name] {
			list = append(list, r)
		}
	}
	return list
}

// above is the test that a subtest belongs to, "" of one that is none.
func above(name string) string {
	i := strings.LastIndex(name, "/")
	if i < 0 {
		return ""
	}
	return name[:i]
}

// read takes in the stream of go test -json; other is what belongs to no test, as errors of the compiler.
func read(stream io.Reader) (rs results, other string, err error) {
	byName := map[string]*result{}
	d := json.NewDecoder(stream)
	for {
		var e struct{ Action, Test, Output string }
		if err := d.Decode(&e); errors.Is(err, io.EOF) {
			return rs, other, nil
		} else if err != nil {
			return rs, other, err
		}
		if e.Test == "" {
			other += e.Output
			continue
		}
		r := byName[e.Test]
		if r == nil {
			r = &result{name: e.Test}
			byName[e.Test] = r
			rs = append(rs, r)
		}
		switch e.Action {
		case "output":
			r.output += e.Output
		case "pass", "fail", "skip":
			r.action = e.Action
		}
	}
}
