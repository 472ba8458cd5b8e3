package dynamo

import (
	"slices"
	"strings"
)

// operands reads a list of at least one operand in parentheses.
func (p *parser) operands() ([]operand, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	var list []operand
	for {
		o, err := p.operand()
		if err != nil {
			return nil, err
		}
		list = append(list, o)
		if !p.accept(",") {
			return list, p.expect(")")
		}
	}
}

// operand reads a path, a constant, size(…), or one of these in parentheses.
func (p *parser) operand() (operand, error) {
	t := p.token()
	switch {
	case t.kind == tokenValue:
		return p.value()
	case t.is("("):
		if p.peek().is("(") {
			return nil, p.fail("The expression has redundant parentheses;")
		}
		p.at++
		o, err := p.operand()
		if err != nil {
			return nil, err
		}
		return o, p.expect(")")
	case t.kind == tokenWord && p.peek().is("("):
		return p.size()
	default:
		return p.path()
	}
}

// size reads the one function that has a value.
func (p *parser) size() (operand, error) {
	name := p.token().text
	switch name {
	case "size":
	case "attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains", "if_not_exists", "list_append":
		return nil, p.fail("The function is not allowed to be used this way in an expression; function: %s", name)
	default:
		return nil, p.fail("Invalid function name; function: %s", name)
	}
	if err := p.operator(); err != nil {
		return nil, err
	}
	p.at++
	args, err := p.operands()
	if err != nil {
		return nil, err
	}
	if len(args) != 1 {
		return nil, p.wrongCount(name, len(args))
	}
	if c, ok := args[0].(constant); ok && (c.v.kind == kindN || c.v.kind == kindBOOL || c.v.kind == kindNULL) {
		return nil, p.wrongOperand(name, c.v.kind)
	}
	return sizeOf{args[0]}, nil
}

func (p *parser) wrongCount(name string, n int) error {
	return p.fail("Incorrect number of operands for operator or function; operator or function: %s, number of operands: %d", name, n)
}

// function reads a function that is a condition by itself. Names of functions have one case.
func (p *parser) function() (condition, error) {
	name := p.token().text
	arity := 2
	switch name {
	case "attribute_exists", "attribute_not_exists":
		arity = 1
	case "attribute_type", "begins_with", "contains":
	case "if_not_exists", "list_append":
		return nil, p.fail("The function is not allowed in a condition expression; function: %s", name)
	default:
		if slices.ContainsFunc(keywords, p.token().is) {
			return nil, p.syntax()
		}
		return nil, p.fail("Invalid function name; function: %s", name)
	}
	if err := p.operator(); err != nil {
		return nil, err
	}
	p.at++
	args, err := p.operands()
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(comparators, p.token().is) {
		return nil, p.fail("The function is not allowed to be used this way in an expression; function: %s", name)
	}
	if len(args) != arity {
		return nil, p.wrongCount(name, len(args))
	}
	return p.call(name, args)
}

var keywords = []string{"AND", "OR", "NOT", "BETWEEN", "IN"}

// call checks a function's arguments.
func (p *parser) call(name string, args []operand) (condition, error) {
	switch name {
	case "attribute_exists", "attribute_not_exists":
		attribute, ok := args[0].(path)
		if !ok {
			return nil, p.fail("Operator or function requires a document path; operator or function: %s", name)
		}
		if name == "attribute_exists" {
			return exists{attribute}, nil
		}
		return notOf{exists{attribute}}, nil
	case "attribute_type":
		c, ok := args[1].(constant)
		if !ok {
			return nil, p.fail("Incorrect operand type for operator or function; operator or function: %s, operand type: Document Path", name)
		}
		if c.v.kind != kindS {
			return nil, p.wrongOperand(name, c.v.kind)
		}
		k, known := kindOf(c.v.str)
		if !known {
			return nil, p.fail("Invalid attribute type name found; type: %s, valid types: {%s}", c.v.str, strings.Join(kindNames[1:], ","))
		}
		return hasType{args[0], k}, nil
	}
	if sameOperand(args[0], args[1]) {
		return nil, p.fail("The first operand must be distinct from the remaining operands for this operator or function; operator: %s, first operand: %s", name, args[0])
	}
	if name == "contains" {
		return contains{args[0], args[1]}, nil
	}
	for _, a := range args {
		if c, ok := a.(constant); ok && c.v.kind != kindS && c.v.kind != kindB {
			return nil, p.wrongOperand(name, c.v.kind)
		}
	}
	return beginsWith{args[0], args[1]}, nil
}
