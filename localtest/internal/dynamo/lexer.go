package dynamo

import "strings"

// tokenKind tells the words of an expression apart.
type tokenKind uint8

const (
	tokenEnd    tokenKind = iota
	tokenWord             // attribute name, function or keyword
	tokenName             // #placeholder
	tokenValue            // :placeholder
	tokenNumber           // list index
	tokenSymbol           // operator or punctuation
	tokenBad              // a character that no expression has
)

type token struct {
	kind       tokenKind
	text       string
	start, end int
}

// is reports whether t is this symbol, or this keyword in any case.
func (t token) is(text string) bool {
	return t.kind == tokenSymbol && t.text == text || t.kind == tokenWord && strings.EqualFold(t.text, text)
}

// lex cuts an expression into tokens; the last one is tokenEnd.
func lex(s string) []token {
	tokens := make([]token, 0, len(s)/3+1)
	for i := 0; ; {
		for i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\n' || s[i] == '\r') {
			i++
		}
		if i == len(s) {
			return append(tokens, token{tokenEnd, "<EOF>", i, i})
		}
		kind, n := lexOne(s[i:])
		tokens = append(tokens, token{kind, s[i : i+n], i, i + n})
		i += n
	}
}

func lexOne(s string) (tokenKind, int) {
	c := s[0]
	switch {
	case isLetter(c):
		return tokenWord, wordLength(s)
	case c == '#' || c == ':':
		if n := wordLength(s[1:]); n > 0 {
			if c == '#' {
				return tokenName, 1 + n
			}
			return tokenValue, 1 + n
		}
	case c >= '0' && c <= '9':
		n := 1
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		return tokenNumber, n
	case strings.HasPrefix(s, "<>") || strings.HasPrefix(s, "<=") || strings.HasPrefix(s, ">="):
		return tokenSymbol, 2
	case strings.IndexByte("()[],.=<>+-", c) >= 0:
		return tokenSymbol, 1
	}
	return tokenBad, 1
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// wordLength counts the letters, digits and underscores at the start of s.
func wordLength(s string) int {
	n := 0
	for n < len(s) && (isLetter(s[n]) || s[n] == '_' || s[n] >= '0' && s[n] <= '9') {
		n++
	}
	return n
}
