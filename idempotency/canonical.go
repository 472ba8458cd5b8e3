package idempotency

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"sort"
	"unicode/utf8"
)

// canonicalDepth bounds how deep an input may be nested: the stack is bounded and a cycle of pointers ends.
const canonicalDepth = 1000

// canonical builds the canonical form of one JSON value: JSON without white space, with one way to write each
// string (see appendString) and each number (see appendNumber), and the members of objects sorted by the bytes
// of their names as written.
//
// The text is written in the order in which it comes. A small object whose members turn out to be in another
// order is put right when it ends. A larger one is only noted down, and finish copies the text once in the right
// order: moved at each level, the bytes of deeply nested objects would take time by size times depth.
type canonical struct {
	text     []byte
	open     []member // members of the objects not ended yet, innermost last
	unsorted []object // larger objects whose members are in another order in text
	sorted   []member // the members of those, in the right order
	arranged []byte   // the text with them put in order
	depth    int
}

// member is a member's place in the text: from..name is the quoted name, from..to the whole.
type member struct{ from, name, to int }

// object is the place in the text of an object that is to be rearranged; its members are sorted[first:last].
type object struct{ from, to, first, last int }

// grow makes room for n bytes of text.
func (c *canonical) grow(n int) {
	c.text = slices.Grow(c.text, n+n/8+64)
	c.open = slices.Grow(c.open, 16)
}

// keptForm is the most of a canonical form's room, in bytes, that waits for the next one.
const keptForm = 64 << 10

// forget leaves nothing of the form but its room.
func (c *canonical) forget() {
	if cap(c.text)+cap(c.arranged) > keptForm || cap(c.open)+cap(c.sorted)+cap(c.unsorted) > keptForm/32 {
		*c = canonical{}
		return
	}
	clear(c.text[:cap(c.text)]) // a secret, perhaps
	clear(c.arranged[:cap(c.arranged)])
	*c = canonical{text: c.text[:0], open: c.open[:0], unsorted: c.unsorted[:0], sorted: c.sorted[:0], arranged: c.arranged[:0]}
}

// descend and ascend count the nesting.
func (c *canonical) descend() error {
	if c.depth++; c.depth > canonicalDepth {
		return &inputError{rule: fmt.Sprintf("is nested deeper than %d, or contains itself", canonicalDepth)}
	}
	return nil
}

func (c *canonical) ascend() { c.depth-- }

// mark says where an object began.
type mark struct{ text, open int }

func (c *canonical) beginObject() mark {
	m := mark{len(c.text), len(c.open)}
	c.text = append(c.text, '{')
	return m
}

// beginMember is followed by the quoted name, endName, the value and endMember. It returns the member's index.
func (c *canonical) beginMember(m mark) int {
	if len(c.open) > m.open {
		c.text = append(c.text, ',')
	}
	c.open = append(c.open, member{from: len(c.text)})
	return len(c.open) - 1
}

func (c *canonical) endName() {
	c.open[len(c.open)-1].name = len(c.text)
	c.text = append(c.text, ':')
}

func (c *canonical) endMember() { c.open[len(c.open)-1].to = len(c.text) }

// dropMember forgets the member that has just been begun.
func (c *canonical) dropMember(m mark) {
	last := len(c.open) - 1
	c.text = c.text[:c.open[last].from]
	if c.open = c.open[:last]; last > m.open {
		c.text = c.text[:len(c.text)-1] // its comma
	}
}

// endObject refuses a name that comes twice: readers of JSON disagree on which of the two counts.
func (c *canonical) endObject(m mark) error {
	c.text = append(c.text, '}')
	members := c.open[m.open:]
	sorted := true
	for i := 1; i < len(members); i++ {
		order := c.compareNames(members[i-1], members[i])
		if order > 0 && sorted { // and from the start again
			sorted, i = false, 0
			slices.SortFunc(members, c.compareNames)
		} else if order == 0 {
			return within(&inputError{rule: "member comes twice"}, c.step(m.open+i))
		}
	}
	if !sorted {
		c.rearrange(m.text, members)
	}
	c.open = c.open[:m.open]
	return nil
}

// rearrange puts the object that has just ended, and begins at from, into the order of members, or notes it down.
func (c *canonical) rearrange(from int, members []member) {
	const small = 1 << 10
	to := len(c.text)
	if to-from > small {
		first := len(c.sorted)
		c.sorted = append(c.sorted, members...)
		c.unsorted = append(c.unsorted, object{from, to, first, len(c.sorted)})
		return
	}
	// The objects in it are smaller still, so none of them is noted down.
	for i, m := range members {
		c.text = append(c.text, "{,"[min(i, 1)])
		c.text = append(c.text, c.text[m.from:m.to]...)
	}
	copy(c.text[from:to-1], c.text[to:])
	c.text = c.text[:to]
}

// compareNames looks at the first character, or the closing quote, before it calls for the rest.
func (c *canonical) compareNames(a, b member) int {
	if x, y := c.text[a.from+1], c.text[b.from+1]; x != y {
		return int(x) - int(y)
	}
	return bytes.Compare(c.quoted(a), c.quoted(b))
}

func (c *canonical) quoted(m member) []byte { return c.text[m.from:m.name] }

// finish returns the canonical form.
func (c *canonical) finish() []byte {
	if len(c.unsorted) == 0 {
		return c.text
	}
	// Objects are noted down when they end, so inner before outer.
	slices.SortFunc(c.unsorted, func(a, b object) int { return cmp.Compare(a.from, b.from) })
	c.arranged = c.arrange(slices.Grow(c.arranged, len(c.text)), 0, len(c.text))
	return c.arranged
}

// arrange appends text[from:to] with the objects in it put in order.
func (c *canonical) arrange(out []byte, from, to int) []byte {
	for {
		next := sort.Search(len(c.unsorted), func(i int) bool { return c.unsorted[i].from >= from })
		if next == len(c.unsorted) || c.unsorted[next].from >= to {
			return append(out, c.text[from:to]...)
		}
		o := c.unsorted[next]
		out = append(out, c.text[from:o.from]...)
		for i, m := range c.sorted[o.first:o.last] {
			out = append(out, "{,"[min(i, 1)])
			out = append(out, c.quoted(m)...)
			out = c.arrange(out, m.name, m.to)
		}
		out = append(out, '}')
		from = o.to
	}
}

// appendString appends the one way to write s: only what JSON forbids in a string is escaped. It reports false
// if s is not UTF-8: encoding/json would replace the bad bytes, and different strings would become equal.
func appendString(dst []byte, s string) ([]byte, bool) {
	dst = append(dst, '"')
	start := 0
	for i := range len(s) {
		if b := s[i]; needsEscape(b) {
			dst = append(dst, s[start:i]...)
			dst = appendEscaped(dst, b)
			start = i + 1
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"'), utf8.ValidString(s)
}

// appendRune appends a character of a string, escaped if it must be.
func (c *canonical) appendRune(r rune) {
	if r < utf8.RuneSelf && needsEscape(byte(r)) {
		c.text = appendEscaped(c.text, byte(r))
		return
	}
	c.text = utf8.AppendRune(c.text, r)
}

func needsEscape(b byte) bool { return escaped[b] }

var escaped = [256]bool{
	'"': true, '\\': true, 0: true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true,
	true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true,
}

func appendEscaped(dst []byte, b byte) []byte {
	const hexDigits = "0123456789abcdef"
	switch b {
	case '"', '\\':
		return append(dst, '\\', b)
	case '\b':
		return append(dst, `\b`...)
	case '\t':
		return append(dst, `\t`...)
	case '\n':
		return append(dst, `\n`...)
	case '\f':
		return append(dst, `\f`...)
	case '\r':
		return append(dst, `\r`...)
	default:
		return append(dst, '\\', 'u', '0', '0', hexDigits[b>>4], hexDigits[b&15])
	}
}
