package idempotency

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
)

// exactType says that encoding/json gives a value of the type back exactly as it was, so that reading it back shows nothing. It
// knows a handful of types, those of most answers, and says no to every other one: to whatever has methods of its own, to maps,
// floats, interfaces, embedded fields and every option of a tag. A property holds it against reading back.
func exactType(t reflect.Type) bool { return exactWalk{}.exact(t) }

// exactWalk remembers what is known of a type; of one that is being looked at, that it is recursive and so not exact.
type exactWalk map[reflect.Type]bool

func (w exactWalk) exact(t reflect.Type) bool {
	known, seen := w[t]
	if !seen {
		w[t] = false
		known = w.look(t)
		w[t] = known
	}
	return known
}

func (w exactWalk) look(t reflect.Type) bool {
	if t == reflect.TypeFor[json.Number]() || encodesItself(t) {
		return false
	}
	switch t.Kind() {
	case reflect.Bool, reflect.String,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	case reflect.Slice: // nil comes back as nil, and empty as empty
		return w.exact(t.Elem())
	case reflect.Pointer: // to what is never null itself
		return t.Elem().Kind() != reflect.Pointer && t.Elem().Kind() != reflect.Slice && w.exact(t.Elem())
	case reflect.Struct:
		return w.fields(t)
	default:
		return false
	}
}

func (w exactWalk) fields(t reflect.Type) bool {
	names := map[string]bool{}
	for f := range t.Fields() {
		name := f.Name
		if tag, ok := f.Tag.Lookup("json"); ok {
			name = tag
		}
		if !f.IsExported() || f.Anonymous || name == "" || strings.ContainsFunc(name, notInExactName) || names[name] || !w.exact(f.Type) {
			return false
		}
		names[name] = true
	}
	return true
}

// notInExactName leaves out the comma before a tag's options, "-", and what encoding/json takes for no name.
func notInExactName(c rune) bool {
	return c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
}

func encodesItself(t reflect.Type) bool {
	pointer := reflect.PointerTo(t)
	for _, i := range []reflect.Type{marshalerType, unmarshalerType, textMarshalerType, textUnmarshalerType} {
		if t.Implements(i) || pointer.Implements(i) {
			return true
		}
	}
	return false
}

// repaired says that encoding/json may have put a replacement character in the place of what is no UTF-8: as an escape, or, in its
// second version, as it is.
func repaired(data []byte) bool {
	return bytes.Contains(data, []byte(`\ufffd`)) || bytes.Contains(data, []byte("\ufffd"))
}
