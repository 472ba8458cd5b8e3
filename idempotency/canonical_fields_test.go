package idempotency

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

type (
	canonE1 struct {
		X, Y int
		Z    int `json:"z"`
	}
	CanonE2   struct{ X, W int }
	CanonE3   struct{ V int }
	canonDeep struct{ *CanonE3 }
	canonT1   struct{ CanonT }
	canonT2   struct{ CanonT }
	CanonT    struct {
		CanonU
		Q int
	}
	CanonU   struct{ R int }
	CanonInt int
	canonInt int
	CanonRec struct {
		*CanonRec
		N int
	}
	CanonAny interface{ M() }
	CanonImp struct{ S string }
)

func (CanonImp) M() {}

// Which of several fields of one name is the member: encoding/json decides.
func TestFields_EmbeddingFollowsEncodingJSON(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{
		"promoted": struct{ canonE1 }{canonE1{1, 2, 3}},
		"pointer":  struct{ *CanonE2 }{&CanonE2{1, 2}},
		"nil pointer": struct {
			*CanonE2
			A int
		}{nil, 1},
		"outer hides": struct {
			canonE1
			X string
		}{canonE1{1, 2, 3}, "x"},
		"outer hides by tag": struct {
			canonE1
			A string `json:"X"`
		}{canonE1{1, 2, 3}, "x"},
		"cancel out": struct {
			canonE1
			CanonE2
		}{canonE1{1, 2, 3}, CanonE2{4, 5}},
		"tag decides": struct {
			canonE1
			A struct{ B int } `json:"Y"`
			D int             `json:"z"`
			E int
		}{canonE1{1, 2, 3}, struct{ B int }{4}, 6, 7},
		"tag against name": struct {
			A int `json:"B"`
			B int
		}{1, 2},
		"two tags":           canonTwoTags(),
		"unexported pointer": struct{ *canonE1 }{&canonE1{1, 2, 3}},
		"named embedding": struct {
			canonE1 `json:"e"`
			CanonE2 `json:"f"`
		}{canonE1{1, 2, 3}, CanonE2{4, 5}},
		"hidden embedding": struct {
			CanonE2 `json:"-"`
			A       int
		}{CanonE2{1, 2}, 3},
		"deep pointer": struct{ canonDeep }{canonDeep{&CanonE3{1}}},
		"twice on a level": struct {
			canonT1
			canonT2
			A int
		}{canonT1{CanonT{CanonU{1}, 2}}, canonT2{CanonT{CanonU{3}, 4}}, 5},
		"other kinds": struct {
			CanonInt
			canonInt
			A int
		}{1, 2, 3},
		"interface": struct{ CanonAny }{CanonImp{"x"}},
		"recursive": struct{ CanonRec }{CanonRec{&CanonRec{nil, 2}, 1}},
		"self-marshaling": struct {
			time.Time
			N int
		}{time.Unix(1, 0), 2},
		"less deep and deeper": struct {
			canonDeep
			CanonE3
		}{canonDeep{&CanonE3{1}}, CanonE3{2}},
	} {
		doc, err := json.Marshal(value)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := canonicalText(value)
		if want := canonOf(string(doc)); err != nil || string(got) != want {
			t.Errorf("%s: canonical form %s, %v; encoding/json writes %s", name, got, err, want)
		}
	}
}

// canonTwoTags has the name n twice on one level. It is made here, since vet refuses it in source.
func canonTwoTags() any {
	one := reflect.TypeFor[int]()
	v := reflect.New(reflect.StructOf([]reflect.StructField{
		{Name: "A", Type: one, Tag: `json:"n"`}, {Name: "B", Type: one, Tag: `json:"n"`}, {Name: "C", Type: one},
	}))
	for i := range 3 {
		v.Elem().Field(i).SetInt(int64(i) + 1)
	}
	return v.Interface()
}
