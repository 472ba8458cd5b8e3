package dynamo

import (
	"maps"
	"slices"
	"strconv"
)

// update is a parsed update expression.
type update struct {
	sets    []assignment // SET
	removes []path       // REMOVE
	adds    []change     // ADD
	deletes []change     // DELETE
	touched []path       // all places that the actions touch
}

type assignment struct {
	path path
	to   expression
}

type change struct {
	path path
	by   *value
}

// paths collects all places that the actions touch.
func (u *update) paths() []path {
	paths := make([]path, 0, len(u.sets)+len(u.removes)+len(u.adds)+len(u.deletes))
	for _, a := range u.sets {
		paths = append(paths, a.path)
	}
	paths = append(paths, u.removes...)
	for _, c := range slices.Concat(u.adds, u.deletes) {
		paths = append(paths, c.path)
	}
	return paths
}

// onlyRemoves reports whether all the update does is take away: it makes no item where there is none.
func (u *update) onlyRemoves() bool {
	return u != nil && len(u.removes) == len(u.touched)
}

// apply is the item after the update. The old one stays as it is; what did not change is shared.
func (u *update) apply(item attrs) (attrs, error) {
	next := maps.Clone(item)
	if u == nil {
		return next, nil
	}
	results, removes, err := u.evaluate(item)
	if err != nil {
		return nil, err
	}
	// An index means an element of the old list. What is set beyond its end is appended: in the order of the indexes,
	// so that no later one finds an appended element in its place.
	slices.SortStableFunc(results, func(a, b result) int { return a.path.compare(b.path) })
	for _, r := range results {
		if err := r.path.set(next, r.value); err != nil {
			return nil, err
		}
	}
	// From the last to the first, so that what is removed moves nothing that is still to be removed.
	slices.SortFunc(removes, func(a, b path) int { return b.compare(a) })
	for _, p := range removes {
		if err := p.remove(next, item); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// result is what an action puts at its path.
type result struct {
	path  path
	value *value
}

// evaluate gives what the actions put and remove. Each of them sees the item as it was before the update.
func (u *update) evaluate(item attrs) (results []result, removes []path, err error) {
	for _, a := range u.sets {
		v, err := a.to.value(item)
		if err != nil {
			return nil, nil, err
		}
		results = append(results, result{a.path, v})
	}
	for _, c := range u.adds {
		v, err := c.added(c.path.lookup(item))
		if err != nil {
			return nil, nil, err
		}
		results = append(results, result{c.path, v})
	}
	removes = slices.Clone(u.removes)
	for _, c := range u.deletes {
		old := c.path.lookup(item)
		v, err := c.deleted(old)
		switch {
		case err != nil:
			return nil, nil, err
		case old == nil: // nothing to delete from
		case v == nil: // an empty set can't be stored: the attribute goes
			removes = append(removes, c.path)
		default:
			results = append(results, result{c.path, v})
		}
	}
	return results, removes, nil
}

var (
	errPath    = invalid("The document path provided in the update expression is invalid for update")
	errOperand = invalid("An operand in the update expression has an incorrect data type")
	errAbsent  = invalid("The provided expression refers to an attribute that does not exist in the item")
)

// set puts v at the path. It changes item, which must be the caller's own, and copies what lies below.
func (p path) set(item attrs, v *value) error {
	if len(p) == 1 {
		item[p[0].name] = v
		return nil
	}
	parent, err := p.copied(item)
	if err != nil {
		return err
	}
	last := p[len(p)-1]
	switch {
	case last.index < 0 && parent.kind == kindM:
		parent.m[last.name] = v
	case last.index >= 0 && parent.kind == kindL && last.index < len(parent.list):
		parent.list[last.index] = v
	case last.index >= 0 && parent.kind == kindL:
		parent.list = append(parent.list, v)
	default:
		return errPath
	}
	return nil
}

// remove takes away what was at the path in the old item, if anything was; its parent must have been there.
func (p path) remove(item, old attrs) error {
	if len(p) == 1 {
		delete(item, p[0].name)
		return nil
	}
	last, was := p[len(p)-1], p[:len(p)-1].lookup(old)
	switch {
	case was == nil, last.index < 0 && was.kind != kindM, last.index >= 0 && was.kind != kindL:
		return errPath
	case last.of(was) == nil: // an element that is there by now was appended by the same update
		return nil
	}
	parent, err := p.copied(item)
	if err != nil {
		return err
	}
	if last.index < 0 {
		delete(parent.m, last.name)
	} else {
		parent.list = slices.Delete(parent.list, last.index, last.index+1)
	}
	return nil
}

// copied replaces everything between the item and the path's last step by copies, and gives the last container.
func (p path) copied(item attrs) (*value, error) {
	v := item[p[0].name]
	if v == nil {
		return nil, errPath
	}
	v = v.clone()
	item[p[0].name] = v
	for _, s := range p[1 : len(p)-1] {
		child := s.of(v)
		if child == nil {
			return nil, errPath
		}
		child = child.clone()
		if s.index < 0 {
			v.m[s.name] = child
		} else {
			v.list[s.index] = child
		}
		v = child
	}
	return v, nil
}

// clone is a copy of v whose own map or list may be changed; what is in it is shared.
func (v *value) clone() *value {
	c := *v
	c.m = maps.Clone(v.m)
	c.list = slices.Clone(v.list)
	return &c
}

// added is what ADD makes of the old value.
func (c change) added(old *value) (*value, error) {
	switch {
	case old == nil:
		return c.by, nil
	case old.kind != c.by.kind:
		return nil, errOperand
	case old.kind == kindN:
		sum, err := old.number().add(c.by.number())
		return numberValue(sum), err
	}
	return &value{kind: old.kind, list: union(old.list, c.by.list)}, nil
}

// deleted is what DELETE leaves of the old set, nil if nothing.
func (c change) deleted(old *value) (*value, error) {
	if old == nil {
		return nil, nil
	}
	if old.kind != c.by.kind {
		return nil, errOperand
	}
	rest := less(old.list, c.by.list)
	if len(rest) == 0 {
		return nil, nil
	}
	return &value{kind: old.kind, list: rest}, nil
}

func intValue(n int) *value {
	num, err := parseNumber(strconv.Itoa(n))
	if err != nil { // every int is in range
		panic(err)
	}
	return numberValue(num)
}
