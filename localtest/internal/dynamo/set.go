package dynamo

import "slices"

// A set keeps its members sorted: text and binary by their bytes, numbers by value. So it is answered, and so two sets
// of any size are compared, united and subtracted member by member.

// arrange sorts the members of a set as it came, and refuses an empty one and equal members.
func (v *value) arrange() error {
	if len(v.list) == 0 {
		if v.kind == kindBS {
			return invalidParameter("Binary sets should not be empty")
		}
		return invalidParameter("An %s set  may not be empty", map[kind]string{kindSS: "string", kindNS: "number"}[v.kind])
	}
	sorted := slices.SortedFunc(slices.Values(v.list), compareMembers)
	// Number sets of equal numbers in different spelling have duplicates too: members are canonical by now.
	for i, e := range sorted[1:] {
		if compareMembers(sorted[i], e) == 0 {
			return v.duplicates()
		}
	}
	v.list = sorted
	return nil
}

// duplicates is the error on a set with equal members, which it shows in the order given.
func (v *value) duplicates() error {
	texts := make([]string, len(v.list))
	for i, e := range v.list {
		texts[i] = e.scalar()
	}
	of := " "
	if v.kind == kindBS {
		of = "of type BS "
	}
	return invalidParameter("Input collection [%s]%scontains duplicates.", join(texts), of)
}

// compareMembers orders the members of sets of one kind.
func compareMembers(a, b *value) int {
	c, _ := a.compare(b)
	return c
}

// isMember reports whether e is among the members.
func isMember(members []*value, e *value) bool {
	_, found := slices.BinarySearchFunc(members, e, compareMembers)
	return found
}

// union is the members of either set.
func union(a, b []*value) []*value {
	all := make([]*value, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		c := compareMembers(a[0], b[0])
		if c <= 0 {
			all, a = append(all, a[0]), a[1:]
		} else {
			all = append(all, b[0])
		}
		if c >= 0 {
			b = b[1:]
		}
	}
	return append(append(all, a...), b...)
}

// less is the members of a that b does not have.
func less(a, b []*value) []*value {
	var rest []*value
	for _, e := range a {
		if !isMember(b, e) {
			rest = append(rest, e)
		}
	}
	return rest
}
