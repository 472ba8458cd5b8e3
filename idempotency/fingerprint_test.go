package idempotency

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
)

// C23: a value and the text of its JSON differ; so do values of other JSON types.
func TestFingerprint_ValueAndItsText(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]any{
		{json.RawMessage(`{"a":1}`), `{"a":1}`},
		{json.RawMessage(`{"a":1}`), json.RawMessage(`"{\"a\":1}"`)},
		{json.RawMessage(`{"a":1}`), []byte(`{"a":1}`)},
		{`{"a":1}`, []byte(`{"a":1}`)},
		{1, "1"},
		{true, "true"},
		{nil2{}, "null"},
		{"a", "A"},
		{"\u00e9", "e\u0301"},
		{int64(1 << 53), int64(1<<53 + 1)},
		{float64(1 << 53), int64(1<<53 + 1)},
		{uint64(1<<64 - 1), float64(1<<64 - 1)},
		{[]string{"ab", "c"}, []string{"a", "bc"}},
		{[]string{"a,b"}, []string{"a", "b"}},
		{[]string{`a","b`}, []string{"a", "b"}},
		{map[string]int{"a": 0}, map[string]int{}},
		{[]int{0}, []int{}},
		{[]*int{nil}, []*int{new(int)}},
	} {
		if canonFP(t, pair[0]) == canonFP(t, pair[1]) {
			t.Errorf("%#v and %#v have the same fingerprint", pair[0], pair[1])
		}
	}
}

type nil2 struct{}

func (nil2) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// What is documented as the same: only the JSON counts, not the Go type.
func TestFingerprint_SameJSONOfOtherTypes(t *testing.T) {
	t.Parallel()
	type typed struct {
		A int            `json:"a"`
		B []any          `json:"b"`
		Z string         `json:"z"`
		M map[string]any `json:"m"`
	}
	v := typed{A: 1, B: []any{nil, "x"}}
	for _, same := range []any{
		&v, map[string]any{"b": []any{nil, "x"}, "a": json.Number("1.0")}, json.RawMessage(`{"b":[null,"x"],"a":1e0}`), struct {
			B any     `json:"b"`
			A float32 `json:"a"`
		}{[2]any{nil, "x"}, 1},
	} {
		if canonFP(t, same) != canonFP(t, v) {
			t.Errorf("%#v differs", same)
		}
	}
	// Zero members are left out of structs only.
	if canonFP(t, json.RawMessage(`{"b":[null,"x"],"a":1,"z":""}`)) == canonFP(t, v) {
		t.Error("a zero member of raw JSON was left out")
	}
	if canonFP(t, []byte("abc")) != canonFP(t, "YWJj") {
		t.Error("[]byte is not its base64 text")
	}
}

// C25: what is not chosen does not matter.
func TestFingerprint_ChosenFields(t *testing.T) {
	t.Parallel()
	type event struct {
		Order, At string
		Cents     int
	}
	type chosen struct {
		Order string
		Cents int
	}
	first, retry, other := event{"17", "12:00", 5}, event{"17", "12:01", 5}, event{"17", "12:00", 6}
	choose := func(e event) chosen { return chosen{e.Order, e.Cents} }
	if canonFP(t, choose(first)) != canonFP(t, choose(retry)) {
		t.Error("the time, which was not chosen, counts")
	}
	if canonFP(t, choose(first)) == canonFP(t, choose(other)) {
		t.Error("the amount, which was chosen, does not count")
	}
}

// C29: changing an input later changes nothing, and taking the fingerprint leaves the input alone.
func TestFingerprint_InputMayBeChangedAfterwards(t *testing.T) {
	t.Parallel()
	raw := json.RawMessage(` {"b":1,"a":"\u00e9"} `)
	before := string(raw)
	value := map[string][]*int{"x": {new(int)}}
	fpRaw, fpValue := canonFP(t, raw), canonFP(t, value)
	if string(raw) != before {
		t.Fatalf("the input was changed to %s", raw)
	}
	keptRaw, keptValue := strings.Clone(fpRaw), strings.Clone(fpValue)
	clear(raw)
	*value["x"][0] = 7
	value["y"] = nil
	if fpRaw != keptRaw || fpValue != keptValue {
		t.Error("the fingerprint changed with the input")
	}
}

// C48: a deploy adds a member, also in nested types. C49: a rollback takes it away.
func TestFingerprint_MemberAddedByDeploy(t *testing.T) {
	t.Parallel()
	type itemV1 struct {
		SKU string `json:"sku"`
	}
	type orderV1 struct {
		ID    string   `json:"id"`
		Items []itemV1 `json:"items"`
	}
	type itemV2 struct {
		Gift *bool  `json:"gift"`
		SKU  string `json:"sku"`
	}
	type note struct{ Text, Lang string }
	type orderV2 struct {
		Currency string            `json:"currency"`
		ID       string            `json:"id"`
		Items    []itemV2          `json:"items"`
		Labels   map[string]string `json:"labels"`
		Note     note              `json:"note"`
	}
	decode := func(doc string, into any) any {
		if err := json.Unmarshal([]byte(doc), into); err != nil {
			t.Fatal(err)
		}
		return into
	}
	const old = `{"id":"17","items":[{"sku":"a"},{"sku":""}]}`
	v1, v2 := canonFP(t, decode(old, new(orderV1))), canonFP(t, decode(old, new(orderV2)))
	if v1 != v2 {
		t.Error("a member that the request does not have changed its fingerprint")
	}
	for _, doc := range []string{
		`{"id":"17","items":[{"sku":"a"},{"sku":""}],"currency":"EUR"}`, `{"id":"17","items":[{"sku":"a"},{"sku":"","gift":false}]}`,
		`{"id":"17","items":[{"sku":"a"},{"sku":""}],"note":{"lang":"de"}}`, `{"id":"17","items":[{"sku":"a"},{"sku":""}],"labels":{}}`,
	} {
		if canonFP(t, decode(doc, new(orderV2))) == v1 {
			t.Errorf("%s: a member that was set does not count", doc)
		}
		// The older version cannot hold it, so it does not compare it.
		if canonFP(t, decode(doc, new(orderV1))) != v1 {
			t.Errorf("%s: counts though the type cannot hold it", doc)
		}
	}
}

// C30: switched on or off over a live table, anything matches; another version is neither match nor mismatch.
func TestMatchFingerprint(t *testing.T) {
	t.Parallel()
	a, b := canonFP(t, 1), canonFP(t, 2)
	for _, row := range []struct {
		name, stored, mine string
		want               bool
		version            string // of the error
		fails              bool
	}{
		{"equal", a, a, true, "", false},
		{"differ", a, b, false, "", false},
		{"recorded under AnyInput", "", a, true, "", false},
		{"asked under AnyInput", a, "", true, "", false},
		{"both", "", "", true, "", false},
		{"newer version", "v2:" + a[3:], a, false, "v2", true},
		{"newer version under AnyInput", "v2:" + a[3:], "", true, "", false},
		{"like v1", "v10:" + a[3:], a, false, "v10", true},
		{"without version", "5d41402abc4b2a76b9719d911017c592", a, false, "", true},
	} {
		got, err := matchFingerprint(row.stored, row.mine)
		if got != row.want || (err != nil) != row.fails {
			t.Errorf("%s: %v, %v", row.name, got, err)
		}
		if !row.fails {
			continue
		}
		e, ok := errors.AsType[*fingerprintVersionError](err)
		if !ok || e.Version != row.version || !strings.Contains(e.Error(), "must be v1") {
			t.Errorf("%s: error %#v, want version %q", row.name, err, row.version)
		}
	}
	if ok, err := matchFingerprint("v1:abc", a); ok || err == nil || !strings.Contains(err.Error(), "3 digits") {
		t.Errorf("a cut fingerprint: %v, %v; want an error", ok, err)
	}
}

// The vectors are fixed with version v1. A change that breaks this test needs a new version, for records in
// live tables carry these fingerprints: never change a vector.
func TestFingerprint_GoldenVectors(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("testdata/fingerprint/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		JSON []struct{ JSON, Canonical, Fingerprint string }
		// Typed values are those of goldenValues, by name.
		Values []struct{ Value, Canonical, Fingerprint string }
	}
	if err := json.Unmarshal(file, &golden); err != nil {
		t.Fatal(err)
	}
	check := func(name string, input any, canonical, want string) {
		text, err := canonicalText(input)
		if got, _ := fingerprint(input); err != nil || string(text) != canonical || got != want {
			t.Errorf("%s:\ncanonical   %s, want %s\nfingerprint %s, want %s, error %v", name, text, canonical, got, want, err)
		}
	}
	for _, v := range golden.JSON {
		check(v.JSON, json.RawMessage(v.JSON), v.Canonical, v.Fingerprint)
	}
	values := goldenValues()
	for _, v := range golden.Values {
		check(v.Value, values[v.Value], v.Canonical, v.Fingerprint)
		delete(values, v.Value)
	}
	if len(values) != 0 || len(golden.JSON) < 10 {
		t.Errorf("values without a vector: %v; JSON vectors: %d", values, len(golden.JSON))
	}
}
