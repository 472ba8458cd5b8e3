package idempotency

import (
	"cmp"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
)

// valueWriter appends the canonical form of Go values: what encoding/json would write, less the members of
// structs that are zero (see fingerprint). It differs from encoding/json in four more points, each of which
// keeps different values apart:
//
//   - a MarshalJSON or MarshalText with a pointer receiver is always used; encoding/json ignores it where the
//     value cannot be addressed and, for one, writes a big.Int that is not behind a pointer as {};
//   - strings and map keys that are not UTF-8 are refused, not repaired;
//   - map keys that become the same text are refused;
//   - a struct that has fields but shows none of them is refused.
//
// Types are looked at anew in each call: a cache would be global state, and it is a few microseconds.
type valueWriter struct {
	c     *canonical
	types map[reflect.Type]typeInfo
}

// typeInfo is what is to be known about a type.
type typeInfo struct {
	marshals marshaling
	fields   []structField // of a struct that does not write itself, sorted by name
}

func (w *valueWriter) info(t reflect.Type) typeInfo {
	if !hasMethods(t) && t.Kind() != reflect.Struct {
		return typeInfo{}
	}
	info, ok := w.types[t]
	if !ok {
		info.marshals = marshalingOf(t)
		if info.marshals == marshalsNot && t.Kind() == reflect.Struct {
			info.fields = structFields(t)
		}
		if w.types == nil {
			w.types = make(map[reflect.Type]typeInfo)
		}
		w.types[t] = info
	}
	return info
}

func (w *valueWriter) value(v reflect.Value) error {
	info := w.info(v.Type())
	if info.marshals != marshalsNot {
		return w.marshaled(v, info.marshals)
	}
	c := w.c
	switch v.Kind() {
	case reflect.Bool:
		c.text = strconv.AppendBool(c.text, v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return w.number(v, strconv.AppendInt(make([]byte, 0, 24), v.Int(), 10))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return w.number(v, strconv.AppendUint(make([]byte, 0, 24), v.Uint(), 10))
	case reflect.Float32, reflect.Float64:
		f := v.Float()
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return fault(v, strconv.FormatFloat(f, 'g', -1, 64)+" is not a JSON number")
		}
		return w.number(v, strconv.AppendFloat(make([]byte, 0, 32), f, 'e', -1, v.Type().Bits()))
	case reflect.String:
		return w.string(v)
	case reflect.Interface, reflect.Pointer:
		return w.pointer(v)
	case reflect.Struct:
		return w.structure(v, info.fields)
	case reflect.Map:
		return w.mapping(v)
	case reflect.Slice, reflect.Array:
		return w.list(v)
	default:
		return fault(v, "has no JSON form")
	}
	return nil
}

func fault(v reflect.Value, rule string) error { return &inputError{typ: v.Type(), rule: rule} }

func (w *valueWriter) number(v reflect.Value, text []byte) error {
	out, length, rule := appendNumber(w.c.text, text)
	if rule == "" && length < len(text) {
		rule = "is not a JSON number"
	}
	if rule != "" {
		return fault(v, rule)
	}
	w.c.text = out
	return nil
}

func (w *valueWriter) string(v reflect.Value) error {
	s := v.String()
	if v.Type() == reflect.TypeFor[json.Number]() {
		return w.number(v, []byte(cmp.Or(s, "0"))) // as encoding/json: the zero Number is 0
	}
	return w.text(v, s)
}

func (w *valueWriter) text(v reflect.Value, s string) error {
	text, ok := appendString(w.c.text, s)
	if !ok {
		return fault(v, "is not UTF-8")
	}
	w.c.text = text
	return nil
}

func (w *valueWriter) null() error {
	w.c.text = append(w.c.text, "null"...)
	return nil
}

func (w *valueWriter) pointer(v reflect.Value) error {
	if v.IsNil() {
		return w.null()
	}
	if err := w.c.descend(); err != nil {
		return err
	}
	defer w.c.ascend()
	return w.value(v.Elem())
}

func (w *valueWriter) list(v reflect.Value) error {
	if v.Kind() == reflect.Slice && v.IsNil() {
		return w.null()
	}
	c := w.c
	if elem := v.Type().Elem(); v.Kind() == reflect.Slice && elem.Kind() == reflect.Uint8 && marshalingOf(elem) == marshalsNot {
		c.text = append(c.text, '"')
		c.text = base64.StdEncoding.AppendEncode(c.text, v.Bytes())
		c.text = append(c.text, '"')
		return nil
	}
	if err := c.descend(); err != nil {
		return err
	}
	defer c.ascend()
	c.text = append(c.text, '[')
	for i := range v.Len() {
		if i > 0 {
			c.text = append(c.text, ',')
		}
		if err := w.value(v.Index(i)); err != nil {
			return within(err, indexStep(i))
		}
	}
	c.text = append(c.text, ']')
	return nil
}

func (w *valueWriter) mapping(v reflect.Value) error {
	if v.IsNil() {
		return w.null()
	}
	c := w.c
	if err := c.descend(); err != nil {
		return err
	}
	defer c.ascend()
	m := c.beginObject()
	for iter := v.MapRange(); iter.Next(); {
		at := c.beginMember(m)
		if err := w.key(iter.Key()); err != nil {
			return within(err, "[a key]")
		}
		c.endName()
		if err := w.value(iter.Value()); err != nil {
			return within(err, c.step(at))
		}
		c.endMember()
	}
	return c.endObject(m)
}

// key follows encoding/json: a string is itself even if it has a MarshalText.
func (w *valueWriter) key(k reflect.Value) error {
	if k.Kind() == reflect.String {
		return w.text(k, k.String())
	}
	if k.Type().Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		if k.Kind() == reflect.Pointer && k.IsNil() {
			return w.text(k, "")
		}
		return w.marshaledText(k, k)
	}
	switch k.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return w.text(k, strconv.FormatInt(k.Int(), 10))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return w.text(k, strconv.FormatUint(k.Uint(), 10))
	default:
		return fault(k, "cannot be a JSON member's name")
	}
}
