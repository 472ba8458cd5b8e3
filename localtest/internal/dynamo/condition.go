package dynamo

import "strings"

// condition is a parsed condition, key condition or filter. An absent item is one without attributes.
type condition interface {
	holds(item attrs) bool
}

type (
	andOf struct{ a, b condition }
	orOf  struct{ a, b condition }
	notOf struct{ c condition }

	comparison struct {
		operator string
		a, b     operand
	}
	between struct{ v, low, high operand }
	in      struct {
		v    operand
		list []operand
	}

	exists  struct{ p path }
	hasType struct {
		v    operand
		kind kind
	}
	beginsWith struct{ v, prefix operand }
	contains   struct{ v, part operand }
)

func (c andOf) holds(item attrs) bool { return c.a.holds(item) && c.b.holds(item) }
func (c orOf) holds(item attrs) bool  { return c.a.holds(item) || c.b.holds(item) }
func (c notOf) holds(item attrs) bool { return !c.c.holds(item) }

func (c comparison) holds(item attrs) bool {
	a, b := c.a.of(item), c.b.of(item)
	if a == nil || b == nil {
		// What is absent is unequal to everything, even to something else that is absent, and has no order.
		return c.operator == "<>"
	}
	switch c.operator {
	case "=":
		return a.equal(b)
	case "<>":
		return !a.equal(b)
	}
	order, ok := a.compare(b)
	if !ok {
		return false
	}
	switch c.operator {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	default:
		return order >= 0
	}
}

func (c between) holds(item attrs) bool {
	return comparison{">=", c.v, c.low}.holds(item) && comparison{"<=", c.v, c.high}.holds(item)
}

func (c in) holds(item attrs) bool {
	for _, o := range c.list {
		if (comparison{"=", c.v, o}).holds(item) {
			return true
		}
	}
	return false
}

func (c exists) holds(item attrs) bool { return c.p.lookup(item) != nil }

func (c hasType) holds(item attrs) bool {
	v := c.v.of(item)
	return v != nil && v.kind == c.kind
}

func (c beginsWith) holds(item attrs) bool {
	v, prefix := c.v.of(item), c.prefix.of(item)
	return v != nil && prefix != nil && v.kind == prefix.kind && (v.kind == kindS || v.kind == kindB) &&
		strings.HasPrefix(v.str, prefix.str)
}

func (c contains) holds(item attrs) bool {
	v, part := c.v.of(item), c.part.of(item)
	if v == nil || part == nil {
		return false
	}
	switch v.kind {
	case kindS, kindB:
		return part.kind == v.kind && strings.Contains(v.str, part.str)
	case kindL, kindSS, kindNS, kindBS:
		return v.has(part)
	case kindN, kindBOOL, kindNULL, kindM:
	}
	return false
}
