package idempotency

import (
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
)

// Replayable says whether a T that was recorded as JSON can be read back, and if not, which part of it and why,
// as a [FieldError]. [Do] asks this first. Refused are channels, functions, complex numbers, interfaces other
// than any, types that encode themselves but cannot decode, and readers: a stream can be answered once only.
//
// Wrappers call it when they are made, so that a handler which could never be replayed fails at its first test.
func Replayable[T any]() error {
	return walkType(reflect.TypeFor[T]()).err
}

// resultOf looks at each type once for a Runner: the walk costs more than the rest of a replay.
func (r *Runner) resultOf(t reflect.Type) *resultType {
	if known, ok := r.results.Load(t); ok {
		return known.(*resultType)
	}
	result := walkType(t)
	r.results.Store(t, result)
	return result
}

// resultType is what is known of a type of results.
type resultType struct {
	err   error // why it cannot be replayed, or nil
	loose bool  // there is an any in it, whose numbers would lose digits
	exact bool  // see exactType
}

// decode reads a result of that type.
func (t *resultType) decode(data []byte, v any) error {
	if t.loose {
		return decode(data, v)
	}
	return json.Unmarshal(data, v)
}

func walkType(t reflect.Type) *resultType {
	w := typeWalk{seen: map[typePlace]bool{}}
	err := w.check(t, true, rootPath)
	return &resultType{err, w.loose, err == nil && exactType(t)}
}

// rootPath is the result itself.
const rootPath = "result"

type typeWalk struct {
	seen  map[typePlace]bool // recursive types end here
	loose bool               // an interface was seen
}

// typePlace is a type and whether encoding/json can take its value's address there, as it must to call a
// MarshalJSON with a pointer receiver.
type typePlace struct {
	reflect.Type
	addressable bool
}

var (
	readerType          = reflect.TypeFor[io.Reader]()
	marshalerType       = reflect.TypeFor[json.Marshaler]()
	unmarshalerType     = reflect.TypeFor[json.Unmarshaler]()
	textMarshalerType   = reflect.TypeFor[encoding.TextMarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func (w *typeWalk) check(t reflect.Type, addressable bool, path string) error {
	place := typePlace{t, addressable}
	if w.seen[place] {
		return nil
	}
	w.seen[place] = true
	refuse := func(rule string) error { return invalid(path, "a "+t.String(), rule) }
	if t.Implements(readerType) || reflect.PointerTo(t).Implements(readerType) {
		return refuse("a stream cannot be recorded and replayed")
	}
	if t.Kind() == reflect.Pointer {
		return w.check(t.Elem(), true, path)
	}
	if done, rule := checkMethods(t, addressable); rule != "" {
		return refuse(rule)
	} else if done {
		return nil
	}
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return refuse("JSON has no such value")
	case reflect.Interface:
		w.loose = true
		if t.NumMethod() > 0 {
			return refuse("JSON does not tell which type to read an interface back as")
		}
	case reflect.Slice:
		return w.check(t.Elem(), true, path)
	case reflect.Array:
		return w.check(t.Elem(), addressable, path)
	case reflect.Map:
		return w.checkMap(t, path, refuse)
	case reflect.Struct:
		return w.checkStruct(t, addressable, path)
	default:
	}
	return nil
}

// checkMethods treats types that encode themselves: done says that nothing more has to be looked at.
func checkMethods(t reflect.Type, addressable bool) (done bool, rule string) {
	if t.Kind() == reflect.Interface {
		return false, ""
	}
	pointer := reflect.PointerTo(t)
	encoder := t
	if addressable {
		encoder = pointer
	}
	switch {
	case !encoder.Implements(marshalerType) && pointer.Implements(marshalerType),
		!encoder.Implements(textMarshalerType) && pointer.Implements(textMarshalerType) && !pointer.Implements(marshalerType):
		return false, "encodes itself through a pointer only, which encoding/json cannot take of a map's value"
	case pointer.Implements(unmarshalerType):
		return true, ""
	case encoder.Implements(marshalerType):
		return false, "encodes itself as JSON and has no UnmarshalJSON to be read back by"
	case pointer.Implements(textUnmarshalerType):
		return true, ""
	case encoder.Implements(textMarshalerType):
		return false, "encodes itself as text and has no UnmarshalText to be read back by"
	}
	return false, ""
}

func (w *typeWalk) checkMap(t reflect.Type, path string, refuse func(string) error) error {
	switch key := t.Key(); key.Kind() {
	case reflect.String:
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if key.Implements(textMarshalerType) && !reflect.PointerTo(key).Implements(textUnmarshalerType) {
			return refuse("its keys encode themselves as text and have no UnmarshalText to be read back by")
		}
	default:
		if !reflect.PointerTo(key).Implements(textUnmarshalerType) {
			return refuse("JSON has no such keys")
		}
	}
	return w.check(t.Elem(), false, path+"[]")
}

func (w *typeWalk) checkStruct(t reflect.Type, addressable bool, path string) error {
	if shown := slices.ContainsFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return f.IsExported() }); !shown && t.NumField() > 0 && path == rootPath {
		return invalid(path, "a "+t.String(), "has no exported field: nothing of it would be recorded")
	}
	for f := range t.Fields() {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Tag.Get("json") == "-":
			continue
		case f.Anonymous && !f.IsExported():
			if f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct {
				return invalid(path+"."+f.Name, "a "+f.Type.String(), "an embedded pointer to an unexported struct cannot be read back")
			}
			if f.Type.Kind() != reflect.Struct {
				continue
			}
		case !f.IsExported():
			continue
		}
		name := f.Name
		if tag != "" {
			name = tag
		}
		if err := w.check(f.Type, addressable, fmt.Sprintf("%s.%s", path, name)); err != nil {
			return err
		}
	}
	return nil
}
