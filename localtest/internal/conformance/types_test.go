package conformance

import (
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// What is put is what is got.
func TestType_RoundTrip(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for name, v := range map[string]any{
		"text":                 "text",
		"text-empty":           "",
		"text-unicode":         "日本語 größe 😀 \u2028 e\u0301",
		"text-escapes":         "\x00\x01\t\n\r\"\\/<>&\u007f",
		"number":               -12,
		"number-fraction":      num("0.000123"),
		"binary":               every,
		"binary-empty":         []byte{},
		"true":                 true,
		"false":                false,
		"null":                 nil,
		"list":                 list{"a", 1, nil, list{}, item{}},
		"list-empty":           list{},
		"map":                  item{"a": 1, "b": item{"c": list{true}}},
		"map-empty":            item{},
		"text-set":             texts{"b", "a", "é"},
		"number-set":           nums{"3", "-1", "2.5"},
		"binary-set":           bins{{2}, {0, 1}, {255}},
		"map-odd-names":        item{"a.b": 1, "#c": 2, ":d": 3, "S": 4, "日": 5},
		"text-looks-like-json": `{"S":"x"}`,
	} {
		t.Run(name, func(t *testing.T) {
			f, stored := f.on(t), item{"id": name, "v": v}
			f.put(stored)
			f.wantStored(item{"id": name}, stored)
		})
	}
}

// A set comes back in order, however it was made: text and binary by their bytes, numbers by value.
func TestType_SetOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put(item{
		"id": "k", "ss": texts{"b", "é", "B", "ab", "a"}, "ns": nums{"10", "9", "-3", "-20", "1.5"}, "bs": bins{{255}, {1, 0}, {1}},
		"rest": nums{"10", "9", "8"},
	})
	_, err := f.updateIf(item{"id": "k"}, expressions{
		update: "ADD ss :s, ns :n, bs :b DELETE rest :nine",
		values: item{":s": texts{"z", "aa"}, ":n": nums{"100", "2"}, ":b": bins{{2}, {0}}, ":nine": nums{"9"}},
	})
	wantCode(t, err, "")
	got := f.get(item{"id": "k"})
	for name, want := range map[string]any{
		"ss": texts{"B", "a", "aa", "ab", "b", "z", "é"}, "ns": nums{"-20", "-3", "1.5", "2", "9", "10", "100"},
		"bs": bins{{0}, {1}, {1, 0}, {2}, {255}}, "rest": nums{"8", "10"},
	} {
		t.Run(name, func(t *testing.T) {
			if !reflect.DeepEqual(got[name], value(want)) {
				t.Errorf("got %v, want %v", got[name], want)
			}
		})
	}
}

func TestType_Refused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for name, v := range map[string]types.AttributeValue{
		"null-false":            &types.AttributeValueMemberNULL{Value: false},
		"text-set-empty":        value(texts{}),
		"number-set-empty":      value(nums{}),
		"binary-set-empty":      value(bins{}),
		"text-set-twice":        value(texts{"a", "a"}),
		"number-set-twice":      value(nums{"1", "1"}),
		"number-set-same-value": value(nums{"1", "1.0"}),
		"binary-set-twice":      value(bins{{1}, {1}}),
		"number-set-no-number":  value(nums{"1", "x"}),
		"below-list":            value(list{texts{}}),
		"below-map":             value(item{"m": num("x")}),
	} {
		t.Run(name, func(t *testing.T) {
			f := f.on(t)
			a := attributesOf(item{"id": name})
			a["v"] = v
			wantCode(t, f.putRaw(a), invalid)
			f.wantStored(item{"id": name}, nil)
		})
	}
}

// Names of attributes are any text.
func TestType_Names(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	stored := item{"id": "k", "status": 1, "a b": 2, "a.b[0]": 3, "größe": 4, "#x": 5, strings.Repeat("n", 300): 6}
	f.put(stored)
	f.wantStored(item{"id": "k"}, stored)
	wantCode(t, f.putIf(item{"id": "k", "": 1}, expressions{}), invalid)
}
