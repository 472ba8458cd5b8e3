package idempotency

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// canonTypes draws a type that encoding/json can write, with tags of all sorts.
func canonTypes(t *rapid.T, depth int) reflect.Type {
	leaves := []reflect.Type{
		reflect.TypeFor[bool](), reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[uint64](),
		reflect.TypeFor[float32](), reflect.TypeFor[float64](), reflect.TypeFor[string](), reflect.TypeFor[[]byte](),
		reflect.TypeFor[time.Time](), reflect.TypeFor[json.Number](), reflect.TypeFor[json.RawMessage](), reflect.TypeFor[canonLevel](),
		reflect.TypeFor[canonPtrJSON](), reflect.TypeFor[canonPtrText](), reflect.TypeFor[any](), reflect.TypeFor[[3]uint8](),
	}
	kind := rapid.IntRange(0, 9).Draw(t, "kind")
	if depth == 0 || kind < 4 {
		return rapid.SampledFrom(leaves).Draw(t, "leaf")
	}
	switch kind {
	case 4:
		return reflect.SliceOf(canonTypes(t, depth-1))
	case 5:
		return reflect.PointerTo(canonTypes(t, depth-1))
	case 6:
		keys := []reflect.Type{reflect.TypeFor[string](), reflect.TypeFor[int16](), reflect.TypeFor[uint](), reflect.TypeFor[canonLevel]()}
		return reflect.MapOf(rapid.SampledFrom(keys).Draw(t, "key"), canonTypes(t, depth-1))
	case 7:
		return reflect.ArrayOf(2, canonTypes(t, depth-1))
	default:
		var fields []reflect.StructField
		for i := range rapid.IntRange(1, 5).Draw(t, "fields") {
			tags := []string{"", "-", ",omitempty", ",omitzero", ",string", "x", "<b>,omitempty,string", "é", "bad\\\"", fmt.Sprintf("n%d", i), "-,"}
			fields = append(fields, reflect.StructField{
				Name: fmt.Sprintf("F%d", i), Type: canonTypes(t, depth-1),
				Tag: reflect.StructTag(`json:"` + rapid.SampledFrom(tags).Draw(t, "tag") + `"`),
			})
		}
		return reflect.StructOf(fields)
	}
}

// canonFill sets v to something that is nowhere zero.
func canonFill(t *rapid.T, v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(rapid.Int64Range(1, 1<<33).Draw(t, "time"), 7)))
		return
	case json.Number:
		v.SetString(rapid.SampledFrom([]string{"1", "-0.0", "1.50", "1e400", "12345678901234567890.1"}).Draw(t, "number"))
		return
	case json.RawMessage:
		v.SetBytes([]byte(rapid.SampledFrom([]string{`{"b":0,"a":[null,"\u003c"]}`, ` 1.0 `, `"x"`, `null`, `{"é":{"z":1,"a":{}}}`}).Draw(t, "raw")))
		return
	case canonLevel:
		v.SetInt(rapid.Int64Range(1, 9).Draw(t, "level"))
		return
	case canonPtrJSON:
		v.Set(reflect.ValueOf(canonPtrJSON{rapid.IntRange(1, 9).Draw(t, "cents")}))
		return
	case canonPtrText:
		v.Set(reflect.ValueOf(canonPtrText{rapid.StringN(1, 5, -1).Draw(t, "text")}))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16:
		v.SetInt(rapid.Int64Range(1, 127).Draw(t, "int"))
	case reflect.Uint, reflect.Uint8:
		v.SetUint(rapid.Uint64Range(1, 255).Draw(t, "uint"))
	case reflect.Uint64:
		v.SetUint(max(1, rapid.Uint64().Draw(t, "uint64")))
	case reflect.Float32, reflect.Float64:
		f := rapid.Float32().Draw(t, "float")
		v.SetFloat(float64(f))
		if f == 0 {
			v.SetFloat(1e21)
		}
	case reflect.String:
		v.SetString(rapid.StringN(1, 8, -1).Draw(t, "string"))
	case reflect.Interface:
		v.Set(reflect.ValueOf(map[string]any{rapid.String().Draw(t, "any"): 1.5, "<": []any{nil, "", 0}}))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		canonFill(t, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), rapid.IntRange(1, 3).Draw(t, "len"), 3))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			canonFill(t, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range rapid.IntRange(1, 3).Draw(t, "len") {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			canonFill(t, key)
			canonFill(t, value)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			canonFill(t, field)
		}
	default:
		t.Fatalf("no filling for %s", v.Type())
	}
}

// A value without zero members is compared exactly as what encoding/json writes of it, and so is a pointer to it.
func TestProperty_ValueEqualsItsJSON(t *testing.T) {
	t.Parallel()
	compared := 0
	rapid.Check(t, func(t *rapid.T) {
		v := reflect.New(canonTypes(t, 3))
		canonFill(t, v.Elem())
		doc, err := json.Marshal(v.Interface())
		if err != nil {
			t.Fatalf("%s: %v", v.Type(), err)
		}
		if strings.Contains(string(doc), "{}") {
			t.Skip("a struct all of whose members are hidden")
		}
		canonSame(t, v.Interface(), json.RawMessage(doc))
		canonSame(t, v.Elem().Interface(), json.RawMessage(doc))
		compared++
	})
	if compared < 20 {
		t.Errorf("only %d values compared", compared)
	}
}

func canonSame(t rapid.TB, a, b any) {
	t.Helper()
	x, errX := canonicalText(a)
	y, errY := canonicalText(b)
	if errX != nil || errY != nil || string(x) != string(y) {
		t.Fatalf("%T: canonical form %s, %v; %T: %s, %v", a, x, errX, b, y, errY)
	}
}

// C48, C49: members that are zero do not count, wherever in the input they are added.
func TestProperty_ZeroMembersDoNotCount(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base := reflect.StructOf([]reflect.StructField{
			{Name: "A", Type: canonTypes(t, 2)}, {Name: "B", Type: reflect.TypeFor[int]()}, {Name: "C", Type: canonTypes(t, 2)},
		})
		fields := reflect.VisibleFields(base)
		at := rapid.IntRange(0, len(fields)).Draw(t, "at")
		added := reflect.StructField{Name: "Added", Type: canonTypes(t, 3)}
		grown := reflect.StructOf(append(append(append([]reflect.StructField{}, fields[:at]...), added), fields[at:]...))

		v, w := reflect.New(base).Elem(), reflect.New(grown).Elem()
		canonFill(t, v)
		for _, f := range fields {
			w.FieldByName(f.Name).Set(v.FieldByName(f.Name))
		}
		list := func(v reflect.Value) any {
			return []any{map[string]any{"x": v.Interface()}, struct{ In any }{v.Interface()}}
		}
		x, errX := canonicalText(list(v))
		y, errY := canonicalText(list(w))
		if (errX == nil) != (errY == nil) || string(x) != string(y) {
			t.Fatalf("without %s: %s, %v\nwith: %s, %v", added.Type, x, errX, y, errY)
		}
	})
}
