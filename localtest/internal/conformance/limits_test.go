package conformance

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const largest = 400 << 10 // bytes of an item, names included

func TestLimit_ItemSize(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	exact, over := sized("exact", largest), sized("over", largest+1)
	wantCode(t, f.putIf(exact, expressions{}), "")
	f.wantStored(item{"id": "exact"}, exact)
	wantCode(t, f.putIf(over, expressions{}), invalid)
	f.wantStored(item{"id": "over"}, nil)
}

// What counts is the item that an update makes.
func TestLimit_UpdatedSize(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put(sized("k", largest-10))
	grow := func(by int) error {
		_, err := f.updateIf(item{"id": "k"}, expressions{update: "SET more = :v", values: item{":v": strings.Repeat("x", by-len("more"))}})
		return err
	}
	wantCode(t, grow(11), invalid)
	f.wantStored(item{"id": "k"}, sized("k", largest-10))
	wantCode(t, grow(10), "")
}

// Text counts by its bytes in UTF-8.
func TestLimit_TextSize(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	euros := func(n int) item { return item{"id": "k", "t": strings.Repeat("€", n)} }
	rest := (largest - len("id") - len("k") - len("t")) / len("€")
	wantCode(t, f.putIf(euros(rest), expressions{}), "")
	wantCode(t, f.putIf(euros(rest+1), expressions{}), invalid)
}

func TestLimit_KeySize(t *testing.T) {
	t.Parallel()
	f := newFixtureOf(t, tableOf("id", "sk"))
	for name, row := range map[string]struct {
		id, sk int
		want   string
	}{
		"both-largest":      {2048, 1024, ""},
		"smallest":          {1, 1, ""},
		"partition-too-big": {2049, 1, invalid},
		"sort-too-big":      {1, 1025, invalid},
		"partition-empty":   {0, 1, invalid},
		"sort-empty":        {1, 0, invalid},
	} {
		t.Run(name, func(t *testing.T) {
			f, key := f.on(t), item{"id": strings.Repeat("k", row.id), "sk": strings.Repeat("k", row.sk)}
			wantCode(t, f.putIf(key, expressions{}), row.want)
			_, err := f.updateIf(key, expressions{update: "SET a1 = :v", values: item{":v": 1}})
			wantCode(t, err, row.want)
			wantCode(t, f.deleteIf(key, expressions{}), row.want)
		})
	}
}

func TestLimit_BinaryKey(t *testing.T) {
	t.Parallel()
	in := tableOf("id")
	in.AttributeDefinitions[0].AttributeType = types.ScalarAttributeTypeB
	f := newFixtureOf(t, in)
	wantCode(t, f.putIf(item{"id": make([]byte, 2048)}, expressions{}), "")
	wantCode(t, f.putIf(item{"id": make([]byte, 2049)}, expressions{}), invalid)
	wantCode(t, f.putIf(item{"id": []byte{}}, expressions{}), invalid)
	f.wantStored(item{"id": make([]byte, 2047)}, nil)
}

// A number key is the number, however it is written.
func TestLimit_NumberKey(t *testing.T) {
	t.Parallel()
	in := tableOf("id")
	in.AttributeDefinitions[0].AttributeType = types.ScalarAttributeTypeN
	f := newFixtureOf(t, in)
	f.put(item{"id": num("10"), "s": "x"})
	for _, written := range []num{"10", "10.0", "1e1", "0010", "100E-1"} {
		f.wantStored(item{"id": written}, item{"id": 10, "s": "x"})
	}
	f.wantStored(item{"id": -10}, nil)
}

// nested is a value below so many maps or lists.
func nested(levels int, wrap func(any) any) any {
	var v any = "leaf"
	for range levels {
		v = wrap(v)
	}
	return v
}

func TestLimit_Depth(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for name, wrap := range map[string]func(any) any{
		"maps":  func(v any) any { return item{"m": v} },
		"lists": func(v any) any { return list{v} },
	} {
		t.Run(name, func(t *testing.T) {
			f, deepest := f.on(t), item{"id": name, "v": nested(31, wrap)}
			wantCode(t, f.putIf(deepest, expressions{}), "")
			f.wantStored(item{"id": name}, deepest)
			wantCode(t, f.putIf(item{"id": "over", "v": nested(32, wrap)}, expressions{}), invalid)
			_, err := f.updateIf(item{"id": "over"}, expressions{update: "SET v = :v", values: item{":v": nested(32, wrap)}})
			wantCode(t, err, invalid)
			f.wantStored(item{"id": "over"}, nil)
		})
	}
}

// Numbers have up to 38 significant digits, from 1E-130 to 9.99…E+125 on either side of zero.
func TestLimit_Number(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	nines := strings.Repeat("9", 38)
	for name, row := range map[string]struct{ in, want num }{
		"digits-38":      {num(nines), num(nines)},
		"digits-39":      {num(nines + "9"), ""},
		"zeros-at-end":   {num("1" + strings.Repeat("0", 40)), num("1" + strings.Repeat("0", 40))},
		"zeros-at-start": {num(strings.Repeat("0", 40) + "1"), "1"},
		"fraction-38":    {num("0." + nines), num("0." + nines)},
		"fraction-39":    {num("0." + nines + "9"), ""},
		"largest":        {num("9." + nines[1:] + "E125"), num(nines + strings.Repeat("0", 126-38))},
		"smallest":       {"1E-130", num("0." + strings.Repeat("0", 129) + "1")},
		"negative":       {num("-9." + nines[1:] + "E125"), num("-" + nines + strings.Repeat("0", 126-38))},
		"overflow":       {"1E126", ""},
		"underflow":      {"1E-131", ""},
		"exponent":       {"1.5e3", "1500"},
		"fraction-end":   {"1.500", "1.5"},
		"minus-zero":     {"-0", "0"},
		"no-number":      {"twelve", ""},
		"empty":          {"", ""},
		"hexadecimal":    {"0x10", ""},
		"infinity":       {"Infinity", ""},
		"blank":          {" 1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f, key := f.on(t), item{"id": name}
			err := f.putIf(with(key, item{"n": row.in}), expressions{})
			if row.want == "" {
				wantCode(t, err, invalid)
				f.wantStored(key, nil)
				return
			}
			wantCode(t, err, "")
			f.wantStored(key, with(key, item{"n": row.want}))
		})
	}
}

// Arithmetic and comparison are those of decimals, not of floating point.
func TestNumber_Exact(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put(item{"id": "k", "big1": num("9007199254740993"), "part1": num("0.1"), "digits1": num("12345678901234567890123456789012345678")})
	got, err := f.updateIf(item{"id": "k"}, expressions{
		update: "SET big1 = big1 + :one, part1 = part1 + :part, digits1 = digits1 - :one", values: item{":one": 1, ":part": num("0.2")},
	})
	wantCode(t, err, "")
	want := item{"id": "k", "big1": num("9007199254740994"), "part1": num("0.3"), "digits1": num("12345678901234567890123456789012345677")}
	wantItem(t, "returned", got, want)
	for condition, holds := range map[string]bool{"big1 > :v": true, "big1 = :v": false} {
		err := f.putIf(want, expressions{condition: condition, values: item{":v": num("9007199254740993")}})
		if (err == nil) != holds {
			t.Errorf("%s: %v", condition, err)
		}
	}
	// A sum that has too many digits is refused, never rounded.
	_, err = f.updateIf(item{"id": "k"}, expressions{update: "SET part1 = digits1 + :v", values: item{":v": num("0.1")}})
	wantCode(t, err, invalid)
	_, err = f.updateIf(item{"id": "k"}, expressions{update: "ADD big1 :v", values: item{":v": num("1E126")}})
	wantCode(t, err, invalid)
}
