package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// rules are the Makefile's targets, and those that .ci/run comes to.
type rules struct {
	root  string
	needs map[string][]string // the targets that a target needs; never nil
	comes map[string]bool
}

var (
	rule    = regexp.MustCompile(`(?m)^([a-z][A-Za-z -]*):([^=#\n]*)(?:#.*)?$`)
	runLine = regexp.MustCompile(`(?m)^make ([^<\n]+)`)
)

func makefile(root string) (*rules, error) {
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		return nil, err
	}
	run, err := os.ReadFile(filepath.Join(root, ".ci", "run"))
	if err != nil {
		return nil, err
	}
	r := &rules{root: root, needs: map[string][]string{}, comes: map[string]bool{}}
	for _, m := range rule.FindAllStringSubmatch(string(text), -1) {
		for target := range strings.FieldsSeq(m[1]) {
			r.needs[target] = append(append([]string{}, r.needs[target]...), strings.Fields(m[2])...)
		}
	}
	for _, m := range runLine.FindAllStringSubmatch(string(run), -1) {
		for target := range strings.FieldsSeq(m[1]) {
			r.come(target)
		}
	}
	return r, nil
}

func (r *rules) come(target string) {
	if r.needs[target] == nil || r.comes[target] {
		return
	}
	r.comes[target] = true
	for _, next := range r.needs[target] {
		r.come(next)
	}
}

// exists says whether there is what is to hold a command: "make target", where .ci/run comes to it, or folder.Test.
func (r *rules) exists(by string) bool {
	if target, isTarget := strings.CutPrefix(by, "make "); isTarget {
		return r.comes[target]
	}
	dot := strings.LastIndex(by, ".")
	if dot < 0 {
		return false
	}
	tests, err := filepath.Glob(filepath.Join(r.root, by[:dot], "*_test.go"))
	if err != nil {
		return false
	}
	for _, name := range tests {
		if text, err := os.ReadFile(name); err == nil && strings.Contains(string(text), "\nfunc "+by[dot+1:]+"(t *testing.T)") {
			return true
		}
	}
	return false
}
