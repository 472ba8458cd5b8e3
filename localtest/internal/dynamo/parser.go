package dynamo

import (
	"math"
	"strconv"
	"strings"
)

// Limits of one expression.
const (
	maxExpression   = 4096
	maxOperators    = 300
	maxPathSteps    = 32
	maxIn           = 100
	maxPlaceholders = 2 << 20 // names and values of all the request's placeholders, in bytes
)

// parser reads one expression. Every method reads from the present token on and leaves off behind what it read.
type parser struct {
	expression string // the request's parameter, for messages
	source     string
	tokens     []token
	at         int
	operators  int
	mentioned  map[string]bool // the attributes that paths start from; nil if nobody asks
	ph         *placeholders
}

// newParser is for the expression s, given in the request's parameter of that name.
func newParser(expression, s string, ph *placeholders) (*parser, error) {
	p := &parser{expression: expression, source: s, ph: ph}
	if len(s) > maxExpression {
		return nil, p.fail("Expression size has exceeded the maximum allowed size; expression size: %d", len(s))
	}
	if strings.TrimSpace(s) == "" {
		return nil, p.fail("The expression can not be empty;")
	}
	p.tokens = lex(s)
	return p, nil
}

func (p *parser) fail(format string, args ...any) error {
	return invalid("Invalid "+p.expression+": "+format, args...)
}

// syntax is the error of an unexpected token; the message quotes its neighbours too.
func (p *parser) syntax() error {
	from, to := max(0, p.at-1), min(p.at+1, len(p.tokens)-1)
	return p.fail("Syntax error; token: %q, near: %q", p.tokens[p.at].text, p.source[p.tokens[from].start:p.tokens[to].end])
}

func (p *parser) token() token { return p.tokens[p.at] }

func (p *parser) peek() token { return p.tokens[min(p.at+1, len(p.tokens)-1)] }

// accept passes over the symbol or keyword if it is next.
func (p *parser) accept(text string) bool {
	if !p.token().is(text) {
		return false
	}
	p.at++
	return true
}

func (p *parser) expect(text string) error {
	if !p.accept(text) {
		return p.syntax()
	}
	return nil
}

func (p *parser) end() error {
	if p.token().kind != tokenEnd {
		return p.syntax()
	}
	return nil
}

// operator counts operators and functions, of which an expression may have so many.
func (p *parser) operator() error {
	if p.operators++; p.operators > maxOperators {
		return p.fail("The expression contains too many operators; maximum allowed: %d", maxOperators)
	}
	return nil
}

// path reads a document path.
func (p *parser) path() (path, error) {
	name, err := p.name()
	if err != nil {
		return nil, err
	}
	if p.mentioned != nil {
		p.mentioned[name] = true
	}
	out := path{{name, -1}}
	for {
		switch {
		case p.accept("."):
			name, err := p.name()
			if err != nil {
				return nil, err
			}
			out = append(out, step{name, -1})
		case p.accept("["):
			t := p.token()
			if t.kind != tokenNumber {
				return nil, p.syntax()
			}
			index, err := strconv.Atoi(t.text)
			if err != nil || index > math.MaxInt32 {
				return nil, p.fail("List index is not within the allowable range; index: [%s]", t.text)
			}
			p.at++
			if err := p.expect("]"); err != nil {
				return nil, err
			}
			out = append(out, step{"", index})
		default:
			if len(out) > maxPathSteps {
				return nil, p.fail("The document path has too many nesting elements; nesting levels: %d", len(out))
			}
			return out, nil
		}
	}
}

// name reads an attribute's name: a word that is not reserved, or a placeholder.
func (p *parser) name() (string, error) {
	t := p.token()
	if t.kind == tokenWord {
		if reserved[strings.ToUpper(t.text)] {
			return "", p.fail("Attribute name is a reserved keyword; reserved keyword: %s", t.text)
		}
		p.at++
		return t.text, nil
	}
	if t.kind != tokenName {
		return "", p.syntax()
	}
	name, ok := p.ph.names[t.text]
	if !ok {
		return "", p.fail("An expression attribute name used in the document path is not defined; attribute name: %s", t.text)
	}
	p.ph.usedNames[t.text] = true
	p.at++
	return name, nil
}

// value reads a :placeholder.
func (p *parser) value() (constant, error) {
	t := p.token()
	if t.kind != tokenValue {
		return constant{}, p.syntax()
	}
	v := p.ph.values[t.text]
	if v == nil {
		return constant{}, p.fail("An expression attribute value used in expression is not defined; attribute value: %s", t.text)
	}
	p.ph.usedValues[t.text] = true
	p.at++
	return constant{v}, nil
}

// parseProjection reads a list of paths.
func parseProjection(s string, ph *placeholders) ([]path, error) {
	p, err := newParser("ProjectionExpression", s, ph)
	if err != nil {
		return nil, err
	}
	var paths []path
	for {
		next, err := p.path()
		if err != nil {
			return nil, err
		}
		paths = append(paths, next)
		if !p.accept(",") {
			break
		}
	}
	if err := p.end(); err != nil {
		return nil, err
	}
	return paths, checkPaths(p.expression, paths)
}
