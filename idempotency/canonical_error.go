package idempotency

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// inputError says why an input has no fingerprint. It names the place, the Go type and the rule but never a
// value, since inputs hold secrets. (The error of a type's own marshaler is passed on as it is.)
type inputError struct {
	path []string // steps from the input to the place, innermost first
	typ  reflect.Type
	rule string
	err  error
}

// Error reads like "Input.items[3].price (float64): NaN is no JSON number".
func (e *inputError) Error() string {
	const ends = 8 // steps shown of each end of a long path
	var b strings.Builder
	b.WriteString("Input")
	for i := len(e.path) - 1; i >= 0; i-- {
		if i == len(e.path)-1-ends && i >= ends {
			b.WriteString("...")
			i = ends - 1
		}
		b.WriteString(e.path[i])
	}
	if e.typ != nil {
		fmt.Fprintf(&b, " (%s)", e.typ)
	}
	b.WriteString(": " + e.rule)
	if e.err != nil {
		b.WriteString(": " + e.err.Error())
	}
	return b.String()
}

// Unwrap returns the error of the type's own marshaler, if it was that.
func (e *inputError) Unwrap() error { return e.err }

// within adds a step, such as ".price" or "[3]", on an error's way out.
func within(err error, step string) error {
	if e, ok := errors.AsType[*inputError](err); ok {
		e.path = append(e.path, step)
	}
	return err
}

// step is the step to an open member, by its index.
func (c *canonical) step(i int) string {
	m := c.open[i]
	return memberStep(string(c.text[m.from+1 : m.name-1]))
}

func memberStep(name string) string {
	const longest = 40
	for i, r := range name {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r != '-' && (r < '0' || r > '9')) {
			return fmt.Sprintf("[a name of %d bytes]", len(name)) // not a name that a programmer gave: data
		}
	}
	if name == "" {
		return `[""]`
	}
	if len(name) > longest {
		name = name[:longest] + "..."
	}
	return "." + name
}

func indexStep(i int) string { return "[" + strconv.Itoa(i) + "]" }
