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
}

type assignment struct {
	path path
	to   expression
}

type change struct {
	path path
	by   *value
}

// paths are all places that the update touches.
func (u *update) paths() []path {
	if u == nil {
		return nil
	}
	var paths []path
	for _, a := range u.sets {
		paths = append(paths, a.path)
	}
	paths = append(paths, u.removes...)
	for _, c := range slices.Concat(u.adds, u.deletes) {
		paths = append(paths, c.path)
	}
	return paths
}

// apply is the item after the update. The old one stays as it is; what did not change is shared.
func (u *update) apply(item attrs) (attrs, error) {
	next := maps.Clone(item)
	if u == nil {
		return next, nil
	}
	// Every right side sees the item as it was before the update.
	values := make(map[*assignment]*value, len(u.sets))
	order := make([]*assignment, len(u.sets))
	for i := range u.sets {
		a := &u.sets[i]
		v, err := a.to.value(item)
		if err != nil {
			return nil, err
		}
		order[i], values[a] = a, v
	}
	// Elements set beyond a list's end are appended in the order of their indexes.
	slices.SortStableFunc(order, func(a, b *assignment) int { return a.path.compare(b.path) })
	for _, a := range order {
		if err := a.path.set(next, values[a]); err != nil {
			return nil, err
		}
	}
	for _, c := range u.adds {
		v, err := c.added(c.path.lookup(item))
		if err != nil {
			return nil, err
		}
		if err := c.path.set(next, v); err != nil {
			return nil, err
		}
	}
	removes := slices.Clone(u.removes)
	for _, c := range u.deletes {
		old := c.path.lookup(item)
		v, err := c.deleted(old)
		switch {
		case err != nil:
			return nil, err
		case old == nil: // nothing to delete from
		case v == nil: // an empty set can't be stored: the attribute goes
			removes = append(removes, c.path)
		default:
			if err := c.path.set(next, v); err != nil {
				return nil, err
			}
		}
	}
	// From the last to the first, so that an index still means the element that it meant in the old item.
	slices.SortFunc(removes, func(a, b path) int { return b.compare(a) })
	for _, p := range removes {
		if err := p.remove(next); err != nil {
			return nil, err
		}
	}
	return next, nil
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

// remove takes away what is at the path, if anything is; its parent must be there.
func (p path) remove(item attrs) error {
	if len(p) == 1 {
		delete(item, p[0].name)
		return nil
	}
	parent, err := p.copied(item)
	if err != nil {
		return err
	}
	last := p[len(p)-1]
	switch {
	case last.index < 0 && parent.kind == kindM:
		delete(parent.m, last.name)
	case last.index >= 0 && parent.kind == kindL:
		if last.index < len(parent.list) {
			parent.list = slices.Delete(parent.list, last.index, last.index+1)
		}
	default:
		return errPath
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
	union := &value{kind: old.kind, list: slices.Clone(old.list)}
	for _, e := range c.by.list {
		if !old.has(e) {
			union.list = append(union.list, e)
		}
	}
	return union, nil
}

// deleted is what DELETE leaves of the old set, nil if nothing.
func (c change) deleted(old *value) (*value, error) {
	if old == nil {
		return nil, nil
	}
	if old.kind != c.by.kind {
		return nil, errOperand
	}
	rest := &value{kind: old.kind}
	for _, e := range old.list {
		if !c.by.has(e) {
			rest.list = append(rest.list, e)
		}
	}
	if len(rest.list) == 0 {
		return nil, nil
	}
	return rest, nil
}

func intValue(n int) *value {
	num, err := parseNumber(strconv.Itoa(n))
	if err != nil { // every int is in range
		panic(err)
	}
	return numberValue(num)
}
