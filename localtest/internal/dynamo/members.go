package dynamo

import (
	"cmp"
	"reflect"
	"strings"
)

// members are the names that a request's JSON may have, by the Go type that it is read into. A name in another case
// is another name, which encoding/json does not mind.
type members struct {
	named map[string]*members // of a structure; nil below: whatever may follow
	each  *members            // of a list's or a map's elements
}

func membersOf(t reflect.Type) *members {
	switch t.Kind() {
	case reflect.Pointer:
		return membersOf(t.Elem())
	case reflect.Slice, reflect.Map:
		if each := membersOf(t.Elem()); each != nil {
			return &members{each: each}
		}
	case reflect.Struct:
		m := &members{named: map[string]*members{}}
		for _, f := range reflect.VisibleFields(t) {
			if f.IsExported() {
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				m.named[cmp.Or(name, f.Name)] = membersOf(f.Type)
			}
		}
		return m
	default:
	}
	return nil
}

// check refuses a name that is not among them. The JSON has been read into the type before.
func (m *members) check(r *jsonReader) error {
	switch {
	case m == nil || r.null():
		r.skip()
		return nil
	case m.named != nil:
		return r.object(func(name string) error {
			below, ok := m.named[name]
			if !ok {
				return unsupported(name)
			}
			return below.check(r)
		})
	case r.next() == '[':
		return r.array(func() error { return m.each.check(r) })
	default:
		return r.object(func(string) error { return m.each.check(r) })
	}
}
