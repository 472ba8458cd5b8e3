package idempotency

import (
	"encoding"
	"encoding/json"
	"reflect"
)

// marshaling says how values of a type write themselves.
type marshaling int

const (
	marshalsNot marshaling = iota
	marshalsJSON
	marshalsText
)

// marshalingOf counts methods with a pointer receiver too, since marshaled can always make a pointer. JSON
// comes before text, as in encoding/json.
func marshalingOf(t reflect.Type) marshaling {
	if !hasMethods(t) {
		return marshalsNot
	}
	if t.Kind() != reflect.Pointer {
		t = reflect.PointerTo(t)
	}
	switch {
	case t.Implements(reflect.TypeFor[json.Marshaler]()):
		return marshalsJSON
	case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return marshalsText
	default:
		return marshalsNot
	}
}

// hasMethods is the cheap question before: no for predeclared and most unnamed types, and for interfaces, since
// it is the value in them that is asked.
func hasMethods(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface:
		return false
	case reflect.Struct, reflect.Pointer: // promoted ones
		return true
	default:
		return t.PkgPath() != ""
	}
}

// marshaled appends what a value that writes itself has to say. What MarshalJSON returns is read like a
// json.RawMessage, so zero members in it are kept.
func (w *valueWriter) marshaled(v reflect.Value, how marshaling) error {
	self := v
	switch {
	case v.Kind() == reflect.Pointer && v.IsNil():
		return w.null()
	case v.Kind() == reflect.Pointer:
	case v.CanAddr():
		self = v.Addr()
	default:
		self = reflect.New(v.Type())
		self.Elem().Set(v)
	}
	if how == marshalsText {
		return w.marshaledText(v, self)
	}
	doc, err := self.Interface().(json.Marshaler).MarshalJSON()
	if err != nil {
		return &inputError{typ: v.Type(), rule: "MarshalJSON failed", err: err}
	}
	return w.c.rawJSON(doc)
}

func (w *valueWriter) marshaledText(v, self reflect.Value) error {
	text, err := self.Interface().(encoding.TextMarshaler).MarshalText()
	if err != nil {
		return &inputError{typ: v.Type(), rule: "MarshalText failed", err: err}
	}
	return w.text(v, string(text))
}
