package dynamo

import "slices"

// expression is the right side of a SET action.
type expression interface {
	// value is what to assign, or why the item has no such value.
	value(item attrs) (*value, error)
}

type (
	ifNotExists struct {
		p    path
		then expression
	}
	listAppend struct{ a, b expression }
	arithmetic struct {
		minus bool
		a, b  expression
	}
)

func (c constant) value(attrs) (*value, error) { return c.v, nil }

func (p path) value(item attrs) (*value, error) {
	v := p.lookup(item)
	if v == nil {
		return nil, errAbsent
	}
	return v, nil
}

func (e ifNotExists) value(item attrs) (*value, error) {
	if v := e.p.lookup(item); v != nil {
		return v, nil
	}
	return e.then.value(item)
}

func (e listAppend) value(item attrs) (*value, error) {
	a, b, err := both(item, e.a, e.b, kindL)
	if err != nil {
		return nil, err
	}
	return &value{kind: kindL, list: slices.Concat(a.list, b.list)}, nil
}

func (e arithmetic) value(item attrs) (*value, error) {
	a, b, err := both(item, e.a, e.b, kindN)
	if err != nil {
		return nil, err
	}
	n := b.number()
	if e.minus {
		n = n.negate()
	}
	sum, err := a.number().add(n)
	return numberValue(sum), err
}

// both evaluates two operands that must be of one kind.
func both(item attrs, a, b expression, k kind) (*value, *value, error) {
	v, err := a.value(item)
	if err != nil {
		return nil, nil, err
	}
	w, err := b.value(item)
	if err != nil {
		return nil, nil, err
	}
	if v.kind != k || w.kind != k {
		return nil, nil, errOperand
	}
	return v, w, nil
}
