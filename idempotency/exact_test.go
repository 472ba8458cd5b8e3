package idempotency

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

type (
	exactName  string
	exactMoney struct {
		Currency string `json:"currency"`
		Amount   int64
	}
	exactNode struct {
		Next *exactNode
		N    int
	}
	inexactText string
	ExactMoney  exactMoney
	exactTree   []exactTree

	exactDeep[T any] struct{ A, B []T } // twice as many ways to the end with each level
	deep4[T any]     = exactDeep[exactDeep[exactDeep[exactDeep[T]]]]
)

func (t inexactText) MarshalText() ([]byte, error)     { return []byte(t), nil }
func (t *inexactText) UnmarshalText(text []byte) error { *t = "read " + inexactText(text); return nil }

// Whatever is said to come back as it was does, and where it does not, reading back is not left out.
func TestExactType_ComesBackAsItWas(t *testing.T) {
	t.Parallel()
	exact, repairs := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		typ := anyType(t, 3)
		for range 100 { // most are not
			if exactType(typ) {
				break
			}
			typ = anyType(t, 2)
		}
		if !exactType(typ) {
			return
		}
		exact++
		v := reflect.New(typ)
		fill(t, v.Elem())
		data, err := encode(v.Interface())
		if err != nil {
			t.Fatalf("%v: %v", typ, err)
		}
		if repaired(data) {
			repairs++
			return
		}
		same := reflect.New(typ)
		if err := json.Unmarshal(data, same.Interface()); err != nil {
			t.Fatalf("%v as %s: %v", typ, data, err)
		}
		if !reflect.DeepEqual(v.Interface(), same.Interface()) {
			t.Fatalf("%v %#v came back from %s as %#v", typ, v.Elem(), data, same.Elem())
		}
	})
	if exact < 50 || repairs == 0 {
		t.Errorf("%d exact types, %d repaired texts: nothing was looked at", exact, repairs)
	}
}

// anyType is one that can be a result, or has a part that makes it inexact.
func anyType(t *rapid.T, depth int) reflect.Type {
	leaves := []reflect.Type{
		reflect.TypeFor[bool](), reflect.TypeFor[string](), reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[uint8](),
		reflect.TypeFor[uint64](), reflect.TypeFor[exactName](), reflect.TypeFor[exactMoney](), reflect.TypeFor[*exactMoney](),
		reflect.TypeFor[json.Number](), reflect.TypeFor[json.RawMessage](), reflect.TypeFor[time.Time](), reflect.TypeFor[time.Duration](),
		reflect.TypeFor[any](), reflect.TypeFor[[]byte](), reflect.TypeFor[float32](), reflect.TypeFor[[2]int](), reflect.TypeFor[map[string]int](),
		reflect.TypeFor[inexactText](), reflect.TypeFor[exactNode](), reflect.TypeFor[**int](), reflect.TypeFor[*string](),
	}
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	switch {
	case depth == 0 || kind < 2:
		return rapid.SampledFrom(leaves).Draw(t, "leaf")
	case kind == 2:
		return reflect.SliceOf(anyType(t, depth-1))
	case kind == 3:
		return reflect.PointerTo(anyType(t, depth-1))
	}
	var fields []reflect.StructField
	for i := range rapid.IntRange(0, 4).Draw(t, "fields") {
		tag := rapid.SampledFrom([]string{"", `json:"a"`, `json:"A"`, `json:"b"`, `json:"F1"`, `json:"f1"`, `json:"-"`, `json:"c,omitempty"`, `json:",string"`, `json:"ü"`, `xml:"x"`}).Draw(t, "tag")
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: anyType(t, depth-1), Tag: reflect.StructTag(tag)})
	}
	return reflect.StructOf(fields)
}

// fill sets an exact type's value to anything.
func fill(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.String:
		texts := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "\xff", "a\xc3", "�", `\ufffd`, "\u2028", "<&>", "\x00", "\"\\", "\xed\xa0\x80"}))
		v.SetString(texts.Draw(t, "string"))
	case reflect.Slice:
		if n := rapid.IntRange(-1, 3).Draw(t, "length"); n >= 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fill(t, v.Index(i))
			}
		}
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "there") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem())
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(t, field)
		}
	default:
		if v.CanInt() {
			v.SetInt(rapid.Int64().Draw(t, "int"))
		} else {
			v.SetUint(rapid.Uint64().Draw(t, "uint"))
		}
	}
}

// The types that most answers are made of are exact; what has a way of its own to be written is not.
func TestExactType(t *testing.T) {
	t.Parallel()
	type receipt struct {
		ID    exactName    `json:"id"`
		Paid  *bool        `json:"paid_2"`
		Lines []exactMoney `json:"lines"`
	}
	type line struct{ Amounts [][]int64 }
	type embeds struct{ ExactMoney }
	twins := reflect.StructOf([]reflect.StructField{ // of which encoding/json shows neither
		{Name: "A", Type: reflect.TypeFor[int](), Tag: `json:"a"`}, {Name: "B", Type: reflect.TypeFor[int](), Tag: `json:"a"`},
	})
	type omits struct {
		Lines []int `json:"lines,omitempty"`
	}
	type hides struct {
		Shown  int
		hidden int //nolint:unused // encoding/json does not show it
	}
	for _, c := range []struct {
		typ  reflect.Type
		want bool
	}{
		{reflect.TypeFor[exactMoney](), true},
		{reflect.TypeFor[*exactMoney](), true},
		{reflect.TypeFor[[]line](), true},
		{reflect.TypeFor[string](), true},
		{reflect.TypeFor[struct{}](), true},
		{reflect.TypeFor[receipt](), true},
		{reflect.TypeFor[*[]int](), false},
		{reflect.TypeFor[**int](), false},
		{reflect.TypeFor[exactNode](), false},
		{reflect.TypeFor[exactTree](), false},
		{reflect.TypeFor[deep4[deep4[deep4[deep4[deep4[deep4[int]]]]]]](), true}, // in no time
		{reflect.TypeFor[json.Number](), false},
		{reflect.TypeFor[[]json.Number](), false},
		{reflect.TypeFor[json.RawMessage](), false},
		{reflect.TypeFor[time.Time](), false},
		{reflect.TypeFor[any](), false},
		{reflect.TypeFor[float64](), false},
		{reflect.TypeFor[embeds](), false},
		{reflect.TypeFor[omits](), false},
		{twins, false},
		{reflect.TypeFor[inexactText](), false},
		{reflect.TypeFor[[]byte](), true},
		{reflect.TypeFor[hides](), false},
	} {
		if got := exactType(c.typ); got != c.want {
			t.Errorf("%.60v: %t, want %t", c.typ, got, c.want)
		}
	}
}
