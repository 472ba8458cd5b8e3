package idempotency

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"
)

type canonLevel int8

func (l canonLevel) MarshalText() ([]byte, error) { return []byte("level-" + string('0'+rune(l))), nil }

// canonPtrJSON writes itself through a pointer receiver.
type canonPtrJSON struct{ cents int }

func (p *canonPtrJSON) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, `{"unit":"cent", "amount": %d}`, p.cents), nil
}

type canonPtrText struct{ s string }

func (p *canonPtrText) MarshalText() ([]byte, error) { return []byte(p.s), nil }

type canonBytes []byte

type canonByte byte

func (b canonByte) MarshalText() ([]byte, error) { return []byte{'b', '0' + byte(b)}, nil }

type canonKey struct{ a, b string }

func (k canonKey) MarshalText() ([]byte, error) { return []byte(k.a + k.b), nil }

type canonName string

func (canonName) MarshalText() ([]byte, error) { return []byte("unused for keys"), nil }

type canonInner struct {
	Note string `json:"note"`
	Tags []string
	skip int
	Skip string `json:"-"`
}

// What the canonical form of a Go value is; the rule of zero members is about structs alone.
//
//go:fix inline
func TestValue_CanonicalForm(t *testing.T) {
	t.Parallel()
	local := time.FixedZone("", 3600)
	for _, row := range []struct {
		name  string
		value any
		want  string
	}{
		{"bool", false, `false`},
		{"int", -1500, `-15e2`},
		{"uint64", uint64(math.MaxUint64), `18446744073709551615`},
		{"int64", int64(math.MinInt64), `-9223372036854775808`},
		{"float", 0.1, `1e-1`},
		{"float32", float32(0.1), `1e-1`},
		{"big float", 1e300, `1e300`},
		{"small float", 5e-324, `5e-324`},
		{"minus zero", math.Copysign(0, -1), `0`},
		{"whole float", 1.0, `1`},
		{"Number", json.Number("1.50"), `15e-1`},
		{"no Number", []json.Number{""}, `[0]`},
		{"string", "<a\"\x00é>", `"<a\"\u0000é>"`},
		{"C23: the text of JSON", `{"a":1}`, `"{\"a\":1}"`},
		{"bytes", []byte("abc"), `"YWJj"`},
		{"named bytes", canonBytes("abc"), `"YWJj"`},
		{"no bytes", []byte{}, `""`},
		{"nil bytes", []byte(nil), `null`},
		{"byte array", [2]byte{1, 2}, `[1,2]`},
		{"nil slice", []int(nil), `null`},
		{"zero elements", []any{0, "", nil, false, []int{}}, `[0,"",null,false,[]]`},
		{"map", map[string]any{"b": 0, "a": "", "c": nil}, `{"a":"","b":0,"c":null}`},
		{"nil map", map[string]int(nil), `null`},
		{"int keys", map[int8]int{10: 1, -9: 2, 9: 3}, `{"-9":2,"10":1,"9":3}`},
		{"uint keys", map[uint]bool{3: true}, `{"3":true}`},
		{"text keys", map[canonKey]int{{"a", "b"}: 1}, `{"ab":1}`},
		{"pointer keys", map[*canonPtrText]int{nil: 1}, `{"":1}`},
		{"string keys win", map[canonName]int{"x": 1}, `{"x":1}`},
		{"int with text", canonLevel(3), `"level-3"`},
		{"keys with text", map[canonLevel]int{2: 1}, `{"level-2":1}`},
		{"time", time.Date(2026, 1, 2, 3, 4, 5, 600, local), `"2026-01-02T03:04:05.0000006+01:00"`},
		{"addr", netip.MustParseAddr("::1"), `"::1"`},
		{"big.Int by value", struct{ N big.Int }{*big.NewInt(70)}, `{"N":7e1}`},
		{"big.Int", big.NewInt(7), `7`},
		{"nil in a slice", []*big.Int{nil}, `[null]`},
		{"pointer receiver", struct{ P canonPtrJSON }{canonPtrJSON{5}}, `{"P":{"amount":5,"unit":"cent"}}`},
		{"pointer receiver in a map", map[string]canonPtrJSON{"a": {0}}, `{"a":{"amount":0,"unit":"cent"}}`},
		{"text by pointer", []canonPtrText{{"x"}, {""}}, `["x",""]`},
		{"nil with a method", []*canonPtrJSON{nil}, `[null]`},
		{"bytes that write themselves", []canonByte{1, 2}, `["b1","b2"]`},
		{"raw member", struct{ R json.RawMessage }{json.RawMessage(` {"b":0,"a":null} `)}, `{"R":{"a":null,"b":0}}`},
		{"pointer to raw", new(json.RawMessage(`{"b":0}`)), `{"b":0}`},
		{"pointer to pointer", new(new(1)), `1`},
		{"empty struct", struct{}{}, `{}`},
		{"zero members", struct {
			A int
			B string
			C *int
			D []int
			E map[string]int
			F any
			G time.Time
			H canonInner
			I [2]int
			J float64
			K json.RawMessage
			L canonPtrJSON
		}{J: math.Copysign(0, -1)}, `{}`},
		{"set to zero", struct {
			C *int
			D []int
			E map[string]int
			F any
			G *time.Time
			H *canonInner
			I []canonInner
			J map[string]canonInner
			K *string
		}{
			new(int),
			[]int{},
			map[string]int{},
			0, new(time.Time), new(canonInner),
			[]canonInner{{}},
			map[string]canonInner{"x": {}},
			new(string),
		}, `{"C":0,"D":[],"E":{},"F":0,"G":"0001-01-01T00:00:00Z","H":{},"I":[{}],"J":{"x":{}},"K":""}`},
		{"nothing to be seen", struct{ A, B canonInner }{canonInner{skip: 1}, canonInner{Skip: "x"}}, `{}`},
		{"between others", struct {
			A int
			B canonInner
			C int
		}{1, canonInner{skip: 1}, 2}, `{"A":1,"C":2}`},
		{"nested", struct {
			A struct{ B struct{ C, D int } }
		}{struct{ B struct{ C, D int } }{struct{ C, D int }{0, 1}}}, `{"A":{"B":{"D":1}}}`},
		{"omitempty", struct {
			A []int          `json:"a,omitempty"`
			B map[string]int `json:"b,omitempty"`
			C *int           `json:"c,omitempty"`
		}{[]int{}, map[string]int{}, new(int)}, `{"c":0}`},
		{"omitzero", struct {
			A time.Time `json:"a,omitzero"`
			B time.Time `json:"b"`
			C []int     `json:"c,omitzero"`
		}{time.Time{}.In(local), time.Time{}.In(local), []int{}}, `{"b":"0001-01-01T01:00:00+01:00","c":[]}`},
		{"string option", struct {
			A int         `json:",string"`
			B *float64    `json:",string"`
			C string      `json:",string"`
			D json.Number `json:",string"`
			E []int       `json:",string"` //nolint:staticcheck // encoding/json passes over the option; so do we
			F canonLevel  `json:",string"`
			G *bool       `json:",string"`
		}{10, new(1e21), "<", "1.0", []int{1}, 2, new(bool)}, `{"A":"10","B":"1e+21","C":"\"\\u003c\"","D":"1.0","E":[1],"F":"level-2","G":"false"}`},
		{"names", struct {
			A int `json:"b"`
			B int `json:"a"`
			C int `json:"-"`
			D int `json:"-,"`        //nolint:staticcheck // a member named "-", meant so
			E int `json:"bad\"name"` //nolint:staticcheck // what encoding/json does with it is followed
			F int `json:"<>&"`
			é int
		}{1, 2, 3, 4, 5, 6, 7}, `{"-":4,"<>&":6,"E":5,"a":2,"b":1}`},
	} {
		got, err := canonicalText(row.value)
		if err != nil || string(got) != row.want {
			t.Errorf("%s: canonical form %s, %v; want %s", row.name, got, err, row.want)
		}
	}
}

func TestValue_MonotonicClockDoesNotMatter(t *testing.T) {
	t.Parallel()
	now := time.Now()
	if a, b := canonFP(t, now), canonFP(t, now.Round(0)); a != b {
		t.Error("a time and the same time without its monotonic reading differ")
	}
}

type canonCycle struct {
	Next *canonCycle
	Any  any
	List []canonCycle
	Map  map[string]*canonCycle
}

var errCanon = errors.New("does not marshal")

type canonFails struct{ N int }

func (canonFails) MarshalJSON() ([]byte, error) { return nil, errCanon }

type canonFailsText struct{ N int }

func (canonFailsText) MarshalText() ([]byte, error) { return nil, errCanon }

type canonBadJSON struct{ N int }

func (canonBadJSON) MarshalJSON() ([]byte, error) { return []byte(`{"x":[1,}`), nil }

// The message says the place, the type and the rule.
func TestValue_Refusals(t *testing.T) {
	t.Parallel()
	type item struct {
		Price float64 `json:"price"`
		Name  string  `json:"name"`
	}
	cycle := &canonCycle{}
	cycle.Next = cycle
	list := &canonCycle{List: make([]canonCycle, 1)}
	list.List[0].List = list.List
	inMap := &canonCycle{Map: map[string]*canonCycle{}}
	inMap.Map["x"] = inMap
	inAny := []any{nil}
	inAny[0] = inAny
	onlyMaps := map[string]any{}
	onlyMaps["x"] = onlyMaps
	type pointer *pointer
	var self pointer
	self = &self
	for _, row := range []struct {
		name  string
		value any
		want  string
	}{
		{"NaN", struct {
			Items []item `json:"items"`
		}{[]item{{1, ""}, {2, ""}, {}, {math.NaN(), ""}}}, `Input.items[3].price (float64): NaN is not a JSON number`},
		{"infinity", map[string]any{"a b": math.Inf(-1)}, `Input[a name of 3 bytes] (float64): -Inf is not a JSON number`},
		{"quoted NaN", struct {
			A float64 `json:"a,string"`
		}{math.NaN()}, `Input.a (float64): NaN is not a JSON number`},
		{"chan", struct{ C chan int }{make(chan int)}, `Input.C (chan int): has no JSON form`},
		{"nil func", struct{ F func() }{}, `Input.F (func()): has no JSON form`},
		{"complex", []complex128{1}, `Input[0] (complex128): has no JSON form`},
		{"zero complex", struct{ C complex64 }{}, `Input.C (complex64): has no JSON form`},
		{"func behind any", map[string]any{"f": func() {}}, `Input.f (func()): has no JSON form`},
		{"bad UTF-8", map[string]item{"k": {Name: "\xff"}}, `Input.k.name (string): is not UTF-8`},
		{"bad UTF-8, quoted", struct {
			A string `json:",string"`
		}{"\xff"}, `Input.A (string): is not UTF-8`},
		{"bad UTF-8 in a key", map[string]int{"\xff": 1}, `Input[a key] (string): is not UTF-8`},
		{"keys that meet", map[canonKey]int{{"a", "bc"}: 1, {"ab", "c"}: 2}, `Input.abc: member comes twice`},
		{"key type", map[float64]int{1: 1}, `Input[a key] (float64): cannot be a JSON member's name`},
		{"value in a map", map[string]map[int]any{"x": {1: []any{make(chan int)}}}, `Input.x[a name of 1 bytes][0] (chan int): has no JSON form`},
		{"key of an interface", map[any]int{"a": 1}, `cannot be a JSON member's name`},
		{"Number", struct{ N json.Number }{"1x"}, `Input.N (json.Number): is not a JSON number`},
		{"Number, quoted", struct {
			N json.Number `json:",string"`
		}{"1x"}, `Input.N (json.Number): is not a JSON number`},
		{"marshaler", []any{canonFails{1}}, `Input[0] (idempotency.canonFails): MarshalJSON failed: does not marshal`},
		{"text marshaler", []any{canonFailsText{1}}, `Input[0] (idempotency.canonFailsText): MarshalText failed: does not marshal`},
		{"marshaler's JSON", struct{ B canonBadJSON }{canonBadJSON{1}}, `Input.B.x[1]: is not JSON: a value is missing (byte 8)`},
		{"no JSON", struct{ R json.RawMessage }{json.RawMessage{}}, `Input.R: is empty, not JSON`},
		{"nothing shown", struct{ amount int }{1}, `shows encoding/json no field`},
		{"nothing shown, inside", struct{ A canonKey2 }{canonKey2{1}}, `Input.A (idempotency.canonKey2): shows encoding/json no field`},
		{"nil", nil, `Input: is nil`},
		{"nil pointer", (*item)(nil), `Input: is nil`},
		{"pointer to nil", new((*item)(nil)), `Input: is nil`},
		{"cycle", cycle, `is nested deeper than 1000, or contains itself`},
		{"cycle of slices", list, `or contains itself`},
		{"cycle of maps", inMap, `or contains itself`},
		{"cycle of any", inAny, `or contains itself`},
		{"cycle of nothing but maps", onlyMaps, `or contains itself`},
		{"pointer to itself", self, `or contains itself`},
	} {
		fp, err := fingerprint(row.value)
		if err == nil {
			t.Errorf("%s: fingerprint %s, want an error", row.name, fp)
			continue
		}
		if msg := err.Error(); !strings.Contains(msg, row.want) || len(msg) > 300 {
			t.Errorf("%s: error %q, want %q", row.name, msg, row.want)
		}
		if strings.Contains(row.want, "does not marshal") && !errors.Is(err, errCanon) {
			t.Errorf("%s: the marshaler's error cannot be reached", row.name)
		}
	}
}

type canonKey2 struct{ n int }

func canonFP(tb testing.TB, input any) string {
	tb.Helper()
	fp, err := fingerprint(input)
	if err != nil {
		tb.Fatalf("fingerprint of %T: %v", input, err)
	}
	return fp
}

type canonAlwaysZero struct{ N int }

func (*canonAlwaysZero) IsZero() bool { return true }

type canonValueZero struct{ N int }

func (z canonValueZero) IsZero() bool { return z.N < 0 }

// The tag omitzero asks the IsZero method, as in encoding/json; without it the method does not count.
func TestValue_OmitZeroAsksTheMethod(t *testing.T) {
	t.Parallel()
	type zeroer interface{ IsZero() bool }
	v := struct {
		A canonAlwaysZero  `json:"a,omitzero"`
		B canonAlwaysZero  `json:"b"`
		C canonValueZero   `json:"c,omitzero"`
		D canonValueZero   `json:"d,omitzero"`
		E *canonValueZero  `json:"e,omitzero"`
		F zeroer           `json:"f,omitzero"`
		G zeroer           `json:"g,omitzero"`
		H any              `json:"h,omitzero"`
		I []canonValueZero `json:"i,omitzero"`
	}{
		canonAlwaysZero{1},
		canonAlwaysZero{1},
		canonValueZero{-1},
		canonValueZero{1},
		&canonValueZero{-1},
		(*canonAlwaysZero)(nil),
		canonValueZero{2},
		canonValueZero{-1},
		[]canonValueZero{},
	}
	doc, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	got, err := canonicalText(v)
	if want := canonOf(string(doc)); err != nil || string(got) != want {
		t.Errorf("canonical form %s, %v; encoding/json writes %s", got, err, want)
	}
}
