package idempotency

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// structField is a member of a struct's JSON.
type structField struct {
	name      string
	index     []int // as in reflect's FieldByIndex
	tagged    bool  // the name comes from the tag
	omitEmpty bool
	omitZero  bool
	quoted    bool // tag option string, on a type that it applies to
	isStruct  bool // a struct that does not write itself
	hasNoForm bool // chan, func, complex
}

// embedded is a struct type whose fields are to be promoted, and whether it is embedded more than once there.
type embedded struct {
	typ   reflect.Type
	index []int
	twice bool
}

// structFields follows encoding/json: level by level, since of two members of one name the one that is embedded
// less deep counts; on one level the one with a tag; and if that does not decide, none.
func structFields(t reflect.Type) []structField {
	found := make([]structField, 0, t.NumField())
	var seen []reflect.Type
	for level := []embedded{{typ: t}}; len(level) > 0; {
		var next []embedded
		for _, e := range level {
			if slices.Contains(seen, e.typ) {
				continue
			}
			seen = append(seen, e.typ)
			for sf := range e.typ.Fields() {
				sf.Index = slices.Concat(e.index, sf.Index)
				f, ok := readField(sf)
				if !ok {
					continue
				}
				if f.name == "" {
					next = appendEmbedded(next, sf)
					continue
				}
				found = append(found, f)
				if e.twice {
					found = append(found, f) // so that the two cancel out
				}
			}
		}
		level = next
	}
	return dominant(found)
}

func appendEmbedded(level []embedded, sf reflect.StructField) []embedded {
	t := pointee(sf.Type)
	if i := slices.IndexFunc(level, func(e embedded) bool { return e.typ == t }); i >= 0 {
		level[i].twice = true
		return level
	}
	return append(level, embedded{typ: t, index: sf.Index})
}

// readField reports false for a field that JSON does not have. The name is empty if it is an embedded struct
// whose fields are promoted.
func readField(sf reflect.StructField) (structField, bool) {
	t := pointee(sf.Type)
	// An embedded struct that is not exported may have exported fields.
	if !sf.IsExported() && (!sf.Anonymous || t.Kind() != reflect.Struct) {
		return structField{}, false
	}
	tag := sf.Tag.Get("json")
	if tag == "-" {
		return structField{}, false
	}
	name, options, _ := strings.Cut(tag, ",")
	if !validTagName(name) {
		name = ""
	}
	f := structField{name: name, index: sf.Index, tagged: name != ""}
	if name == "" && sf.Anonymous && t.Kind() == reflect.Struct {
		return f, true
	}
	f.name = cmp.Or(name, sf.Name)
	for options != "" {
		var option string
		option, options, _ = strings.Cut(options, ",")
		switch option {
		case "omitempty":
			f.omitEmpty = true
		case "omitzero":
			f.omitZero = true
		case "string":
			f.quoted = quotable(t.Kind())
		}
	}
	if marshalingOf(sf.Type) == marshalsNot {
		f.isStruct = sf.Type.Kind() == reflect.Struct
		f.hasNoForm = hasNoForm(sf.Type.Kind())
	}
	return f, true
}

// dominant keeps the one member of each name that counts, sorted by name.
func dominant(found []structField) []structField {
	slices.SortStableFunc(found, func(a, b structField) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.rank(), b.rank()))
	})
	kept := found[:0]
	for i := 0; i < len(found); {
		end := i + 1
		for end < len(found) && found[end].name == found[i].name {
			end++
		}
		if end == i+1 || found[i].rank() < found[i+1].rank() {
			kept = append(kept, found[i])
		}
		i = end
	}
	return kept
}

// rank is lower for a member that hides another one of its name.
func (f *structField) rank() int {
	if f.tagged {
		return 2 * len(f.index)
	}
	return 2*len(f.index) + 1
}

// pointee follows an unnamed pointer.
func pointee(t reflect.Type) reflect.Type {
	if t.Name() == "" && t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

func quotable(k reflect.Kind) bool {
	return k == reflect.Bool || k == reflect.String ||
		k >= reflect.Int && k <= reflect.Float64
}

func hasNoForm(k reflect.Kind) bool {
	switch k {
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		return true
	default:
		return false
	}
}

// validTagName is encoding/json's rule for a name in a tag; it leaves nothing that JSON would escape.
func validTagName(name string) bool {
	for _, r := range name {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return false
		}
	}
	return name != ""
}
