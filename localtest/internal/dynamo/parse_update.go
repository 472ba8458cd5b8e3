package dynamo

import (
	"slices"
	"strings"
)

// parseUpdate reads an update expression.
func parseUpdate(s string, ph *placeholders) (*update, error) {
	p, err := newParser("UpdateExpression", s, ph)
	if err != nil {
		return nil, err
	}
	u := &update{}
	seen := map[string]bool{}
	for p.token().kind != tokenEnd {
		section := strings.ToUpper(p.token().text)
		action := p.section(section)
		if action == nil || p.token().kind != tokenWord {
			return nil, p.syntax()
		}
		if seen[section] {
			return nil, p.fail("The %q section can only be used once in an update expression;", section)
		}
		seen[section] = true
		p.at++
		for {
			if err := action(u); err != nil {
				return nil, err
			}
			if !p.accept(",") {
				break
			}
		}
	}
	u.touched = u.paths()
	return u, checkPaths(p.expression, u.touched)
}

// section is what reads one action of the section of that name, nil if there is none.
func (p *parser) section(name string) func(*update) error {
	switch name {
	case "SET":
		return p.set
	case "REMOVE":
		return p.remove
	case "ADD":
		return p.add
	case "DELETE":
		return p.delete
	}
	return nil
}

func (p *parser) set(u *update) error {
	to, err := p.path()
	if err != nil {
		return err
	}
	if err := p.expect("="); err != nil {
		return err
	}
	from, err := p.sum()
	if err != nil {
		return err
	}
	u.sets = append(u.sets, assignment{to, from})
	return p.operator()
}

func (p *parser) remove(u *update) error {
	what, err := p.path()
	if err != nil {
		return err
	}
	u.removes = append(u.removes, what)
	return p.operator()
}

func (p *parser) add(u *update) error {
	c, err := p.change("ADD", func(k kind) bool { return k == kindN || k.member() != 0 })
	u.adds = append(u.adds, c)
	return err
}

func (p *parser) delete(u *update) error {
	c, err := p.change("DELETE", func(k kind) bool { return k.member() != 0 })
	u.deletes = append(u.deletes, c)
	return err
}

// change reads the path and the constant of ADD and DELETE.
func (p *parser) change(section string, allowed func(kind) bool) (change, error) {
	at, err := p.path()
	if err != nil {
		return change{}, err
	}
	by, err := p.value()
	if err != nil {
		return change{}, err
	}
	if !allowed(by.v.kind) {
		return change{}, p.fail("Incorrect operand type for operator or function; operator: %s, operand type: %s, typeSet: ALLOWED_FOR_%s_OPERAND",
			section, by.v.kind.word(), section)
	}
	return change{at, by.v}, p.operator()
}

// sum reads one term, or two with + or - between them.
func (p *parser) sum() (expression, error) {
	a, err := p.term()
	if err != nil {
		return nil, err
	}
	t := p.token()
	if !t.is("+") && !t.is("-") {
		return a, nil
	}
	if err := p.operator(); err != nil {
		return nil, err
	}
	p.at++
	b, err := p.term()
	if err != nil {
		return nil, err
	}
	return arithmetic{t.text == "-", a, b}, p.checkConstants(t.text, kindN, a, b)
}

// checkConstants refuses constants of another kind, before any item is looked at.
func (p *parser) checkConstants(operator string, k kind, operands ...expression) error {
	for _, o := range operands {
		switch o := o.(type) {
		case constant:
			if o.v.kind != k {
				return p.wrongOperand(operator, o.v.kind)
			}
		case listAppend:
			if k != kindL {
				return p.wrongOperand(operator, kindL)
			}
		}
	}
	return nil
}

// term reads a path, a constant, a function, or an expression in parentheses.
func (p *parser) term() (expression, error) {
	t := p.token()
	switch {
	case t.kind == tokenValue:
		return p.value()
	case t.is("("):
		if p.peek().is("(") {
			return nil, p.fail("The expression has redundant parentheses;")
		}
		p.at++
		e, err := p.sum()
		if err != nil {
			return nil, err
		}
		return e, p.expect(")")
	case t.kind == tokenWord && p.peek().is("("):
		return p.updateFunction()
	default:
		return p.path()
	}
}

func (p *parser) updateFunction() (expression, error) {
	name := p.token().text
	switch name {
	case "if_not_exists", "list_append":
	case "attribute_exists", "attribute_not_exists", "attribute_type", "begins_with", "contains", "size":
		return nil, p.fail("The function is not allowed in an update expression; function: %s", name)
	default:
		return nil, p.fail("Invalid function name; function: %s", name)
	}
	if err := p.operator(); err != nil {
		return nil, err
	}
	p.at += 2
	var args []expression
	for {
		a, err := p.term()
		if err != nil {
			return nil, err
		}
		args = append(args, a)
		if !p.accept(",") {
			break
		}
	}
	if err := p.expect(")"); err != nil {
		return nil, err
	}
	if len(args) != 2 {
		return nil, p.wrongCount(name, len(args))
	}
	if name == "list_append" {
		if slices.ContainsFunc(args, func(a expression) bool { _, nested := a.(listAppend); return nested }) {
			return nil, p.fail("The function is not allowed to be used this way in an expression; function: %s", name)
		}
		return listAppend{args[0], args[1]}, p.checkConstants(name, kindL, args...)
	}
	at, ok := args[0].(path)
	if !ok {
		return nil, p.fail("Operator or function requires a document path; operator or function: %s", name)
	}
	return ifNotExists{at, args[1]}, nil
}
