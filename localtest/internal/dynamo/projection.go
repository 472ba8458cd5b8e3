package dynamo

import (
	"maps"
	"slices"
)

// project is the part of the item that the paths lead to; list elements close up in their order.
func project(item attrs, paths []path) attrs {
	tree := &branch{}
	for _, p := range paths {
		tree.grow(p)
	}
	out := attrs{}
	for name, b := range tree.members {
		if v := item[name]; v != nil {
			if cut := b.cut(v); cut != nil {
				out[name] = cut
			}
		}
	}
	return out
}

// branch is a set of paths with a common start; one without children takes everything.
type branch struct {
	members  map[string]*branch
	elements map[int]*branch
}

func (b *branch) grow(p path) {
	for _, s := range p {
		next := &branch{}
		if s.index < 0 {
			if b.members == nil {
				b.members = map[string]*branch{}
			}
			if old := b.members[s.name]; old != nil {
				next = old
			}
			b.members[s.name] = next
		} else {
			if b.elements == nil {
				b.elements = map[int]*branch{}
			}
			if old := b.elements[s.index]; old != nil {
				next = old
			}
			b.elements[s.index] = next
		}
		b = next
	}
}

// cut is the part of v under the branch, nil if the paths lead nowhere in it.
func (b *branch) cut(v *value) *value {
	switch {
	case b.members != nil && v.kind == kindM:
		m := attrs{}
		for name, next := range b.members {
			if child := v.m[name]; child != nil {
				if c := next.cut(child); c != nil {
					m[name] = c
				}
			}
		}
		if len(m) > 0 {
			return &value{kind: kindM, m: m}
		}
	case b.elements != nil && v.kind == kindL:
		var list []*value
		for _, i := range slices.Sorted(maps.Keys(b.elements)) {
			if i < len(v.list) {
				if c := b.elements[i].cut(v.list[i]); c != nil {
					list = append(list, c)
				}
			}
		}
		if len(list) > 0 {
			return &value{kind: kindL, list: list}
		}
	case b.members == nil && b.elements == nil:
		return v
	}
	return nil
}
