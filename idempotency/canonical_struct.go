package idempotency

import (
	"encoding/json"
	"errors"
	"reflect"
	"unicode/utf8"
)

// structure appends a struct without its zero members. Zero is what Go calls so (reflect's IsZero), not what an
// IsZero method says, which may be true of different values; except that the tag omitzero asks for the method,
// as in encoding/json. A struct in a struct whose every member is dropped is dropped too.
func (w *valueWriter) structure(v reflect.Value, fields []structField) error {
	if len(fields) == 0 && v.NumField() > 0 {
		return fault(v, "shows encoding/json no field, so every value of it would be equal")
	}
	c := w.c
	if err := c.descend(); err != nil {
		return err
	}
	defer c.ascend()
	m := c.beginObject()
	for i := range fields {
		f := &fields[i]
		fv, ok := f.of(v)
		if !ok || f.omits(fv) {
			continue
		}
		c.beginMember(m)
		c.text = append(append(append(c.text, '"'), f.name...), '"') // tags and Go names need no escapes
		c.endName()
		start := len(c.text)
		if err := w.field(f, fv); err != nil {
			return within(err, memberStep(f.name))
		}
		if f.isStruct && string(c.text[start:]) == "{}" {
			c.dropMember(m)
			continue
		}
		c.endMember()
	}
	return c.endObject(m)
}

// of finds the field in v; it reports false if it is in an embedded struct that is not there.
func (f *structField) of(v reflect.Value) (reflect.Value, bool) {
	for _, i := range f.index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return v, false
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v, true
}

func (f *structField) omits(v reflect.Value) bool {
	if f.hasNoForm {
		return false // to be refused whether zero or not, so that the first request tells
	}
	if v.IsZero() { // -0 too
		return true
	}
	if f.omitEmpty && (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0 {
		return true
	}
	return f.omitZero && saysZero(v)
}

// saysZero asks the IsZero method that the field's type has, if it has one.
func saysZero(v reflect.Value) bool {
	type isZeroer interface{ IsZero() bool }
	t := v.Type()
	if !t.Implements(reflect.TypeFor[isZeroer]()) {
		if !reflect.PointerTo(t).Implements(reflect.TypeFor[isZeroer]()) {
			return false
		}
		self := reflect.New(t)
		self.Elem().Set(v)
		v = self
	}
	if v.Kind() == reflect.Interface && v.Elem().Kind() == reflect.Pointer && v.Elem().IsNil() {
		return true
	}
	return v.Interface().(isZeroer).IsZero()
}

func (w *valueWriter) field(f *structField, v reflect.Value) error {
	if !f.quoted {
		return w.value(v)
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem() // not nil: that would be zero
	}
	if marshalingOf(v.Type()) != marshalsNot {
		return w.value(v) // the option does not apply
	}
	if v.Kind() == reflect.String && !utf8.ValidString(v.String()) {
		return fault(v, "is not UTF-8")
	}
	// The option asks for the JSON text of encoding/json as a string, so that is what decides.
	text, err := json.Marshal(v.Interface())
	if err != nil {
		if e, ok := errors.AsType[*json.UnsupportedValueError](err); ok {
			return fault(v, e.Str+" is not a JSON number")
		}
		return fault(v, "is not a JSON number")
	}
	return w.text(v, string(text))
}
