package dynamo

import "slices"

// parseCondition reads a condition or key condition.
func parseCondition(expression, s string, ph *placeholders) (condition, error) {
	p, err := newParser(expression, s, ph)
	if err != nil {
		return nil, err
	}
	return p.whole()
}

// parseFilter reads a filter, and tells which attributes it mentions.
func parseFilter(s string, ph *placeholders) (condition, map[string]bool, error) {
	p, err := newParser("FilterExpression", s, ph)
	if err != nil {
		return nil, nil, err
	}
	p.mentioned = map[string]bool{}
	c, err := p.whole()
	return c, p.mentioned, err
}

func (p *parser) whole() (condition, error) {
	c, err := p.or()
	if err != nil {
		return nil, err
	}
	return c, p.end()
}

func (p *parser) or() (condition, error) {
	c, err := p.and()
	for err == nil && p.accept("OR") {
		var right condition
		if err = p.operator(); err != nil {
			break
		}
		right, err = p.and()
		c = orOf{c, right}
	}
	return c, err
}

func (p *parser) and() (condition, error) {
	c, err := p.not()
	for err == nil && p.accept("AND") {
		var right condition
		if err = p.operator(); err != nil {
			break
		}
		right, err = p.not()
		c = andOf{c, right}
	}
	return c, err
}

func (p *parser) not() (condition, error) {
	if !p.accept("NOT") {
		return p.primary()
	}
	if err := p.operator(); err != nil {
		return nil, err
	}
	c, err := p.not()
	return notOf{c}, err
}

// primary reads a condition in parentheses, a function, or a comparison.
func (p *parser) primary() (condition, error) {
	if p.token().is("(") && !p.operandParens() {
		return p.parens()
	}
	if p.token().kind == tokenWord && p.peek().is("(") && !p.token().is("size") {
		return p.function()
	}
	return p.comparison()
}

// operandParens reports whether the parenthesis ahead holds one operand of a comparison, not a condition.
func (p *parser) operandParens() bool {
	end := p.closing(p.at)
	return end >= 0 && slices.ContainsFunc(comparators, p.tokens[end+1].is)
}

var comparators = []string{"=", "<>", "<", "<=", ">", ">=", "BETWEEN", "IN"}

// closing is the index of the parenthesis that closes the one at open, -1 if none does.
func (p *parser) closing(open int) int {
	depth := 0
	for i := open; i < len(p.tokens); i++ {
		switch {
		case p.tokens[i].is("("):
			depth++
		case p.tokens[i].is(")"):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

func (p *parser) parens() (condition, error) {
	end := p.closing(p.at)
	if p.peek().is("(") && end >= 0 && p.closing(p.at+1) == end-1 {
		return nil, p.fail("The expression has redundant parentheses;")
	}
	p.at++
	c, err := p.or()
	if err != nil {
		return nil, err
	}
	return c, p.expect(")")
}

func (p *parser) comparison() (condition, error) {
	a, err := p.operand()
	if err != nil {
		return nil, err
	}
	t := p.token()
	if !slices.ContainsFunc(comparators, t.is) {
		if _, ok := a.(sizeOf); ok {
			return nil, p.fail("The function is not allowed to be used this way in an expression; function: size")
		}
		return nil, p.syntax()
	}
	if err := p.operator(); err != nil {
		return nil, err
	}
	p.at++
	switch {
	case t.is("BETWEEN"):
		return p.between(a)
	case t.is("IN"):
		return p.in(a)
	}
	b, err := p.operand()
	if err != nil {
		return nil, err
	}
	if sameOperand(a, b) {
		return nil, p.fail("The first operand must be distinct from the remaining operands for this operator or function; operator: %s, first operand: %s", t.text, a)
	}
	if t.text != "=" && t.text != "<>" {
		if err := p.checkOrdered(t.text, a, b); err != nil {
			return nil, err
		}
	}
	return comparison{t.text, a, b}, nil
}

// checkOrdered refuses constants that have no order.
func (p *parser) checkOrdered(operator string, operands ...operand) error {
	for _, o := range operands {
		if c, ok := o.(constant); ok && !c.v.kind.ordered() {
			return p.wrongOperand(operator, c.v.kind)
		}
	}
	return nil
}

func (p *parser) wrongOperand(operator string, k kind) error {
	return p.fail("Incorrect operand type for operator or function; operator or function: %s, operand type: %s", operator, k)
}

func (p *parser) between(v operand) (condition, error) {
	low, err := p.operand()
	if err != nil {
		return nil, err
	}
	if err := p.expect("AND"); err != nil {
		return nil, err
	}
	high, err := p.operand()
	if err != nil {
		return nil, err
	}
	if err := p.checkOrdered("BETWEEN", v, low, high); err != nil {
		return nil, err
	}
	l, lok := low.(constant)
	h, hok := high.(constant)
	if lok && hok {
		order, same := l.v.compare(h.v)
		switch {
		case !same:
			return nil, p.fail("The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: AttributeValue: %s, upper bound operand: AttributeValue: %s", l.v.show(), h.v.show())
		case order > 0:
			return nil, p.fail("The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: %s, upper bound operand: AttributeValue: %s", l.v.show(), h.v.show())
		}
	}
	return between{v, low, high}, nil
}

// show is how messages print a scalar.
func (v *value) show() string { return "{" + v.kind.String() + ":" + v.scalar() + "}" }

func (p *parser) in(v operand) (condition, error) {
	if !p.token().is("(") {
		return nil, p.syntax()
	}
	list, err := p.operands()
	if err != nil {
		return nil, err
	}
	if len(list) > maxIn {
		return nil, p.fail("The IN operator is provided with too many operands; number of operands: %d", len(list))
	}
	return in{v, list}, nil
}
