package dynamo

import (
	"slices"
	"strconv"
	"strings"
)

// step is one step of a document path: into a map's member or a list's element.
type step struct {
	name  string
	index int // -1 for a member
}

// path is a document path; its first step is an attribute's name.
type path []step

// String is the form in which messages show paths.
func (p path) String() string {
	parts := make([]string, len(p))
	for i, s := range p {
		parts[i] = s.name
		if s.index >= 0 {
			parts[i] = "[" + strconv.Itoa(s.index) + "]"
		}
	}
	return "[" + join(parts) + "]"
}

func join(parts []string) string { return strings.Join(parts, ", ") }

// lookup is the value at the path, nil if there is none.
func (p path) lookup(item attrs) *value {
	v := item[p[0].name]
	for _, s := range p[1:] {
		if v == nil {
			return nil
		}
		v = s.of(v)
	}
	return v
}

// of is the member or element of v that the step leads to, nil if there is none.
func (s step) of(v *value) *value {
	switch {
	case s.index < 0 && v.kind == kindM:
		return v.m[s.name]
	case s.index >= 0 && v.kind == kindL && s.index < len(v.list):
		return v.list[s.index]
	default:
		return nil
	}
}

// compare orders paths so that elements of one list come in the order of their indexes.
func (p path) compare(q path) int {
	return slices.CompareFunc(p, q, func(s, t step) int {
		if c := strings.Compare(s.name, t.name); c != 0 {
			return c
		}
		return s.index - t.index
	})
}

// checkPaths refuses paths of which one is part of another, or that need one place to be a map and a list.
func checkPaths(expression string, paths []path) error {
	for i, p := range paths {
		for _, q := range paths[:i] {
			n := min(len(p), len(q))
			at := 0
			for at < n && p[at] == q[at] {
				at++
			}
			verb := ""
			switch {
			case at == n:
				verb = "overlap"
			case (p[at].index < 0) != (q[at].index < 0):
				verb = "conflict"
			default:
				continue
			}
			return invalid("Invalid %s: Two document paths %s with each other; must remove or rewrite one of these paths; path one: %s, path two: %s",
				expression, verb, q, p)
		}
	}
	return nil
}
