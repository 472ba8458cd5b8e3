package dynamo

import "unicode/utf8"

// operand is what a condition compares and an update assigns: it has a value for an item, or none (nil).
type operand interface {
	of(item attrs) *value
}

// constant is a :placeholder's value.
type constant struct{ v *value }

func (c constant) of(attrs) *value { return c.v }

func (p path) of(item attrs) *value { return p.lookup(item) }

// sizeOf is the function size.
type sizeOf struct{ operand }

func (s sizeOf) of(item attrs) *value {
	v := s.operand.of(item)
	if v == nil {
		return nil
	}
	n := 0
	switch v.kind {
	case kindS:
		n = utf8.RuneCountInString(v.str)
	case kindB:
		n = len(v.str)
	case kindL, kindSS, kindNS, kindBS:
		n = len(v.list)
	case kindM:
		n = len(v.m)
	case kindN, kindBOOL, kindNULL: // have no size: the comparison fails, as with an absent attribute
		return nil
	}
	return intValue(n)
}

// sameOperand reports whether two operands are the same path or constant written twice.
func sameOperand(a, b operand) bool {
	p, ok := a.(path)
	if !ok {
		return false
	}
	q, ok := b.(path)
	return ok && p.compare(q) == 0
}
