package idempotency

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// exactType says that encoding/json gives a value of the type back exactly as it was, so that reading it back shows nothing. It
// knows a handful of types, those of most answers, and says no to every other one: to whatever has methods of its own, to maps,
// floats, interfaces, embedded fields and every option of a tag. A property holds it against reading back.
func exactType(t reflect.Type, outer ...reflect.Type) bool {
	if t == reflect.TypeFor[json.Number]() || encodesItself(t) {
		return false
	}
	switch t.Kind() {
	case reflect.Bool, reflect.String,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	case reflect.Slice: // nil comes back as nil, and empty as empty
		return exactType(t.Elem(), outer...)
	case reflect.Pointer: // to what is never null itself
		return t.Elem().Kind() != reflect.Pointer && t.Elem().Kind() != reflect.Slice && exactType(t.Elem(), outer...)
	case reflect.Struct:
		return exactStruct(t, outer)
	default:
		return false
	}
}

func exactStruct(t reflect.Type, outer []reflect.Type) bool {
	if slices.Contains(outer, t) {
		return false // recursive
	}
	names := map[string]bool{}
	for f := range t.Fields() {
		name := f.Name
		if tag, ok := f.Tag.Lookup("json"); ok {
			name = tag
		}
		if !f.IsExported() || f.Anonymous || name == "" || strings.ContainsFunc(name, notInExactName) || names[name] ||
			!exactType(f.Type, append(outer, t)...) {
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

// repaired says that encoding/json may have put a replacement character in the place of what is no UTF-8: it writes these, and
// no others, as an escape.
func repaired(data []byte) bool { return bytes.Contains(data, []byte(`\ufffd`)) }
