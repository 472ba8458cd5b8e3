package idempotency

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// rawJSON appends the canonical form of one JSON document (RFC 8259), and refuses what different readers would
// read differently: names that come twice, bad UTF-8, half a surrogate pair, a byte order mark.
func (c *canonical) rawJSON(doc []byte) error {
	p := jsonReader{c: c, src: doc}
	if p.space(); p.pos == len(doc) {
		return p.fault("is empty, not JSON")
	}
	if err := p.value(); err != nil {
		return err
	}
	if p.space(); p.pos < len(doc) {
		return p.fault("has something after the end of its JSON")
	}
	return nil
}

// jsonReader reads one document; methods leave pos behind what they read.
type jsonReader struct {
	c   *canonical
	src []byte
	pos int
}

func (p *jsonReader) fault(rule string) error {
	return &inputError{rule: fmt.Sprintf("%s (byte %d)", rule, p.pos)}
}

func (p *jsonReader) space() {
	for p.pos < len(p.src) {
		switch p.src[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// next skips white space and returns the byte there without reading it; 0 at the end.
func (p *jsonReader) next() byte {
	p.space()
	if p.pos == len(p.src) {
		return 0
	}
	return p.src[p.pos]
}

func (p *jsonReader) value() error {
	switch b := p.next(); b {
	case '{':
		return p.object()
	case '[':
		return p.array()
	case '"':
		return p.string()
	case 't':
		return p.literal("true")
	case 'f':
		return p.literal("false")
	case 'n':
		return p.literal("null")
	default:
		if b != '-' && (b < '0' || b > '9') {
			return p.fault("is not JSON: a value is missing")
		}
		text, length, rule := appendNumber(p.c.text, p.src[p.pos:])
		if rule != "" {
			return p.fault(rule)
		}
		p.c.text = text
		p.pos += length
		return nil
	}
}

func (p *jsonReader) literal(word string) error {
	if !bytes.HasPrefix(p.src[p.pos:], []byte(word)) {
		return p.fault("is not JSON: a value is missing")
	}
	p.c.text = append(p.c.text, word...)
	p.pos += len(word)
	return nil
}

// more reads what stands before element or member i: the comma, or the end, of which it reports false.
func (p *jsonReader) more(i int, end byte) (bool, error) {
	b := p.next()
	if b == end {
		p.pos++
		return false, nil
	}
	if i == 0 {
		return true, nil
	}
	if b != ',' {
		return false, p.fault(fmt.Sprintf("is not JSON: ',' or '%c' is missing", end))
	}
	p.pos++
	return true, nil
}

func (p *jsonReader) array() error {
	if err := p.c.descend(); err != nil {
		return err
	}
	p.c.text = append(p.c.text, '[')
	p.pos++
	for i := 0; ; i++ {
		more, err := p.more(i, ']')
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if i > 0 {
			p.c.text = append(p.c.text, ',')
		}
		if err := p.value(); err != nil {
			return within(err, indexStep(i))
		}
	}
	p.c.text = append(p.c.text, ']')
	p.c.ascend()
	return nil
}

func (p *jsonReader) object() error {
	if err := p.c.descend(); err != nil {
		return err
	}
	m := p.c.beginObject()
	p.pos++
	for i := 0; ; i++ {
		more, err := p.more(i, '}')
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if err := p.member(m); err != nil {
			return err
		}
	}
	p.c.ascend()
	return p.c.endObject(m)
}

func (p *jsonReader) member(m mark) error {
	if p.next() != '"' {
		return p.fault("is not JSON: a member's name is missing")
	}
	at := p.c.beginMember(m)
	if err := p.string(); err != nil {
		return err
	}
	p.c.endName()
	if p.next() != ':' {
		return p.fault("is not JSON: ':' is missing")
	}
	p.pos++
	if err := p.value(); err != nil {
		return within(err, p.c.step(at))
	}
	p.c.endMember()
	return nil
}

// string resolves the escapes and appends what appendString would.
func (p *jsonReader) string() error {
	from := p.pos // of what is not appended yet; the quote is the same on both sides
	p.pos++
	for {
		// What is appended at once ends before ASCII, so not inside a character.
		rest, length, high := p.src[p.pos:], 0, byte(0)
		for length < len(rest) && !needsEscape(rest[length]) {
			high |= rest[length]
			length++
		}
		if high >= utf8.RuneSelf && !utf8.Valid(rest[:length]) {
			return p.fault("has a string that is not UTF-8")
		}
		p.pos += length
		switch {
		case p.pos == len(p.src):
			return p.fault("is not JSON: a string does not end")
		case p.src[p.pos] == '"':
			p.pos++
			p.c.text = append(p.c.text, p.src[from:p.pos]...)
			return nil
		case p.src[p.pos] == '\\':
			p.c.text = append(p.c.text, p.src[from:p.pos]...)
			if err := p.escape(); err != nil {
				return err
			}
			from = p.pos
		default:
			return p.fault("is not JSON: a control character in a string")
		}
	}
}

func (p *jsonReader) escape() error {
	if p.pos+1 == len(p.src) {
		return p.fault("is not JSON: a string does not end")
	}
	if p.src[p.pos+1] == 'u' {
		return p.unicodeEscape()
	}
	const letters, meant = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	i := strings.IndexByte(letters, p.src[p.pos+1])
	if i < 0 {
		return p.fault("is not JSON: an unknown escape in a string")
	}
	p.c.appendRune(rune(meant[i]))
	p.pos += 2
	return nil
}

// unicodeEscape refuses half a surrogate pair: it is no character, and replaced by one it would equal it.
func (p *jsonReader) unicodeEscape() error {
	r, ok := p.unicodeUnit(p.pos)
	if !ok {
		return p.fault(`is not JSON: \u without four hex digits`)
	}
	length := 6
	if utf16.IsSurrogate(r) {
		low, _ := p.unicodeUnit(p.pos + length)
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			return p.fault("has half a surrogate pair in a string")
		}
		length *= 2
	}
	p.c.appendRune(r)
	p.pos += length
	return nil
}

// unicodeUnit is the \uXXXX at pos.
func (p *jsonReader) unicodeUnit(pos int) (rune, bool) {
	if pos+6 > len(p.src) || p.src[pos] != '\\' || p.src[pos+1] != 'u' {
		return 0, false
	}
	var unit [2]byte
	if _, err := hex.Decode(unit[:], p.src[pos+2:pos+6]); err != nil {
		return 0, false
	}
	return rune(unit[0])<<8 | rune(unit[1]), true
}
