package dynamo

import (
	"slices"
	"strings"
)

// kind is a type of attribute value.
type kind uint8

const (
	kindS kind = iota + 1
	kindN
	kindB
	kindBOOL
	kindNULL
	kindL
	kindM
	kindSS
	kindNS
	kindBS
)

var (
	kindNames = [...]string{"", "S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"}
	kindWords = [...]string{"", "STRING", "NUMBER", "BINARY", "BOOLEAN", "NULL", "LIST", "MAP", "STRING_SET", "NUMBER_SET", "BINARY_SET"}
)

func (k kind) String() string { return kindNames[k] }

// word is the name that some messages use.
func (k kind) word() string { return kindWords[k] }

func kindOf(name string) (kind, bool) {
	i := slices.Index(kindNames[1:], name)
	return kind(i + 1), i >= 0
}

// member is the kind of a set's members, 0 for what is no set.
func (k kind) member() kind {
	if k < kindSS {
		return 0
	}
	return kindS + k - kindSS // sets come in the order of their members' kinds
}

func (k kind) ordered() bool { return k == kindS || k == kindN || k == kindB }

// value is an attribute value. It is never changed once made, so that values may be shared between items,
// requests and replies without a lock.
type value struct {
	kind kind
	flag bool     // of BOOL; the minus sign of N
	exp  int16    // of N
	str  string   // of S; the bytes of B; the digits of N
	list []*value // of L; the members of a set, in their order
	m    attrs    // of M
}

// attrs is an item or a map. Like values, one that is stored or shared is never changed.
type attrs map[string]*value

func stringValue(s string) *value { return &value{kind: kindS, str: s} }

func numberValue(n number) *value {
	return &value{kind: kindN, flag: n.neg, exp: n.exp, str: n.digits}
}

func (v *value) number() number { return number{digits: v.str, exp: v.exp, neg: v.flag} }

// equal is DynamoDB's equality: numbers by value, sets whatever order they were given in.
func (v *value) equal(w *value) bool {
	if v == w {
		return true
	}
	if v.kind != w.kind || v.flag != w.flag || v.exp != w.exp || v.str != w.str || len(v.list) != len(w.list) || len(v.m) != len(w.m) {
		return false
	}
	for i := range v.list {
		if !v.list[i].equal(w.list[i]) {
			return false
		}
	}
	for name, e := range v.m {
		if o := w.m[name]; o == nil || !e.equal(o) {
			return false
		}
	}
	return true
}

// has reports whether a list or set has this member.
func (v *value) has(e *value) bool {
	if v.kind == kindL {
		return slices.ContainsFunc(v.list, e.equal)
	}
	return v.kind.member() == e.kind && isMember(v.list, e)
}

// compare orders two values of one ordered kind; ok is false where no order is defined.
func (v *value) compare(w *value) (c int, ok bool) {
	if v.kind != w.kind || !v.kind.ordered() {
		return 0, false
	}
	if v.kind == kindN {
		return v.number().compare(w.number()), true
	}
	return strings.Compare(v.str, w.str), true // UTF-8 orders like its code points; B by unsigned bytes
}

// empty reports whether v is a string or binary without content, and how messages call it.
func (v *value) empty() (what string, empty bool) {
	switch v.kind {
	case kindS:
		return "string", v.str == ""
	case kindB:
		return "binary", v.str == ""
	default:
		return "", false
	}
}

// size is what the value counts for in the size of its item, as the documentation tells it.
func (v *value) size() int {
	n := 0
	switch v.kind {
	case kindS, kindB:
		return len(v.str)
	case kindN:
		return v.number().size()
	case kindBOOL, kindNULL:
		return 1
	case kindSS, kindNS, kindBS:
		for _, e := range v.list {
			n += e.size()
		}
		return n
	case kindL:
		for _, e := range v.list {
			n += 1 + e.size()
		}
	case kindM:
		n += len(v.m) + v.m.size()
	}
	return n + 3
}

// size counts names and values.
func (a attrs) size() int {
	n := 0
	for name, v := range a {
		n += len(name) + v.size()
	}
	return n
}
