package idempotency

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// canonOf is the canonical form of a document, or what was wrong with it.
func canonOf(doc string) string {
	text, err := canonicalText(json.RawMessage(doc))
	if err != nil {
		return "error: " + err.Error()
	}
	return string(text)
}

// C22, C23: what is the same.
func TestRawJSON_SameValueHasOneCanonicalForm(t *testing.T) {
	t.Parallel()
	for want, docs := range map[string][]string{
		`{"a":1,"b":2}`:                    {`{"b":2,"a":1}`, " {\t\"a\" :\r\n1 , \"b\":2 } ", `{"\u0061":1,"b":2.0}`},
		`[{"a":{"x":null,"y":[]},"b":{}}]`: {`[{"b":{},"a":{"y":[],"x":null}}]`, `[ { "a" : { "x" : null , "y" : [ ] } , "b" : { } } ]`},
		`1`:                                {`1`, `1.0`, `1e0`, `1E+0`, `1e-0`, `10e-1`, `0.1e1`, `1.000`, `0.0001e+4`, `1e000`},
		`0`:                                {`0`, `-0`, `0.0`, `-0.0`, `0e5`, `-0E-5`, `0.000e999999999999999999999999`},
		`15e2`:                             {`1500`, `1.5e3`, `15e2`, `1500.00`},
		`-5e-2`:                            {`-0.05`, `-5e-2`, `-0.5e-1`, `-50e-3`},
		`9007199254740993`:                 {`9007199254740993`, `9007199254740993.0`},
		`1e999999999`:                      {`1e999999999`, `10E999999998`, `0.1e1000000000`},
		`-1e999999999999999999`:            {`-1e999999999999999999`, `-1e0999999999999999999`},
		`"<>&"`:                            {`"<>&"`, `"\u003c\u003e\u0026"`, `"\u003C>&"`},
		`"\"\\/\b\f\n\r\t\u0000\u001f"`:    {`"\"\\\/\b\f\n\r\t\u0000\u001F"`, `"\u0022\u005c/\u0008\u000c\u000a\u000d\u0009\u0000\u001f"`},
		"\"\u00e9\U0001f600\u2028\x7f\"":   {"\"\u00e9\U0001f600\u2028\x7f\"", `"\u00e9\ud83d\ude00\u2028\u007F"`},
		`"` + "\ufffd" + `"`:               {`"\ufffd"`},
		`{"":{"":0}}`:                      {`{"":{"":-0}}`},
		`{"A":1,"a":2,"é":3}`:              {`{"é":3,"a":2,"A":1}`, `{"\u00e9":3,"a":2,"A":1}`},
		`{"a\"":1,"a\\":2,"a\n":3}`:        {`{"a\n":3,"a\\":2,"a\"":1}`, `{"a\\":2,"a\u0022":1,"a\u000a":3}`},
		`{"a":{"b":{"c":1,"d":2},"e":3},"f":{"g":4,"h":[{"i":5,"j":6}]}}`: {
			`{"f":{"h":[{"j":6,"i":5}],"g":4},"a":{"e":3,"b":{"d":2,"c":1}}}`,
			`{"a":{"b":{"d":2,"c":1},"e":3},"f":{"g":4,"h":[{"j":6,"i":5}]}}`,
		},
	} {
		for _, doc := range docs {
			if got := canonOf(doc); got != want {
				t.Errorf("%s: canonical form %s, want %s", doc, got, want)
			}
		}
	}
}

// C22, C23: what differs.
func TestRawJSON_DifferentValuesDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, doc := range []string{
		`[1,2]`, `[2,1]`, `[[1],2]`, `[1,[2]]`, `[]`, `[[]]`, `{}`, `[{}]`, `null`, `[null]`, `""`, `" "`,
		`"1"`, `1`, `-1`, `true`, `"true"`, `false`, `0`, `"null"`,
		`{"a":1}`, `"{\"a\":1}"`, `{"a":"1"}`, `{"a":1,"b":null}`, `{"a":null}`, `{"a":{}}`, `{"a":[]}`, `{"a":""}`, `{"a":0}`, `{"a":false}`,
		`9007199254740992`, `9007199254740993`, `9007199254740992.5`, `1e9007199254740992`, `1e9007199254740993`,
		`0.1`, `0.10000000000000000000000000000000000000000000000001`, `1e400`, `1e401`, `-1e400`, `1e-400`,
		`"a"`, `"A"`, `{"A":1}`, "\"\u00e9\"", "\"e\u0301\"", `"\ufffd"`, `"\u0000"`, `"\\u0000"`,
		`{"a":1,"b":{"c":1}}`, `{"a":{"b":{"c":1}}}`, `{"a":1,"b":2}`, `{"a":2,"b":1}`, `{"a,b":1}`, `{"a\":1,\"b":1}`,
	} {
		fp, err := fingerprint(json.RawMessage(doc))
		if err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		if other, ok := seen[fp]; ok {
			t.Errorf("%s and %s have the same fingerprint", doc, other)
		}
		seen[fp] = doc
	}
}

// C23: what is refused, where it says so, and that it shows no value.
func TestRawJSON_Refusals(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t"
	for _, row := range []struct{ name, doc, want string }{
		{"empty", ``, `Input: is empty`},
		{"only space", " \n", `Input: is empty`},
		{"byte order mark", "\ufeff{}", `Input: is not JSON`},
		{"two documents", `{} {}`, `Input: has something after the end of its JSON (byte 3)`},
		{"member twice", `{"a":"s3cr3t","b":2,"a":"s3cr3t"}`, `Input.a: member comes twice`},
		{"member twice in a row", `{"a":1,"a":1}`, `Input.a: member comes twice`},
		{"member twice by an escape", `{"b":[1,{"a":1,"\u0061":2}]}`, `Input.b[1].a: member comes twice`},
		{"member twice, odd name", `{"x y":1,"x y":2}`, `Input[a name of 3 bytes]: member comes twice`},
		{"in a member without name", `{"":[x]}`, `Input[""][0]: is not JSON`},
		{"in a long name", `{"` + strings.Repeat("n", 500) + `":x}`, `Input.` + strings.Repeat("n", 40) + `...: is not JSON`},
		{"bad UTF-8", "{\"items\":[{\"note\":\"s3cr3t\xff\"}]}", `Input.items[0].note: has a string that is not UTF-8`},
		{"bad UTF-8 in a name", "{\"\xc3\":1}", `Input: has a string that is not UTF-8`},
		{"surrogates as UTF-8", "\"\xed\xa0\x80\"", `not UTF-8`},
		{"overlong", "\"\xc0\x80\"", `not UTF-8`},
		{"high surrogate", `"\ud800"`, `half a surrogate pair`},
		{"low surrogate", `"\udc00"`, `half a surrogate pair`},
		{"two high", `"\ud800\ud800"`, `half a surrogate pair`},
		{"swapped", `"\udc00\ud800"`, `half a surrogate pair`},
		{"high then text", `"\ud800x"`, `half a surrogate pair`},
		{"too deep", strings.Repeat("[", 1001) + strings.Repeat("]", 1001), `nested deeper than 1000`},
		{"far too deep", strings.Repeat(`{"a":`, 1<<20), `nested deeper than 1000`},
		{"exponent", `[1e1000000000000000000]`, `Input[0]: has an exponent of more than 18 digits`},
		{"long exponent", `1e-` + strings.Repeat("9", 1<<20), `Input: has an exponent of more than 18 digits`},
		{"leading zero", `01`, `not a JSON number`},
		{"leading zeros", `-00`, `not a JSON number`},
		{"plus", `+1`, `not JSON`},
		{"no fraction", `1.`, `not a JSON number`},
		{"no whole", `.5`, `not JSON`},
		{"no exponent", `1e`, `not a JSON number`},
		{"no exponent digits", `1e+`, `not a JSON number`},
		{"minus", `-`, `not a JSON number`},
		{"hex", `0x10`, `something after`},
		{"NaN", `NaN`, `not JSON`},
		{"Infinity", `-Infinity`, `not a JSON number`},
		{"open object", `{`, `name is missing`},
		{"open array", `[`, `value is missing`},
		{"open array 2", `[1`, `',' or ']' is missing`},
		{"trailing comma", `[1,]`, `Input[1]: is not JSON: a value is missing`},
		{"trailing comma 2", `{"a":1,}`, `name is missing`},
		{"leading comma", `[,1]`, `value is missing`},
		{"no comma", `{"a":1 "b":2}`, `',' or '}' is missing`},
		{"no colon", `{"a" 1}`, `':' is missing`},
		{"no value", `{"a":}`, `Input.a: is not JSON: a value is missing`},
		{"name is no string", `{1:2}`, `name is missing`},
		{"mixed ends", `[1}`, `missing`},
		{"open string", `"s3cr3t`, `does not end`},
		{"open escape", `"s3cr3t\`, `does not end`},
		{"cut escape", `"\u12`, `four hex digits`},
		{"bad escape", `"\x41"`, `unknown escape`},
		{"bad hex", `"\u12g4"`, `four hex digits`},
		{"control", "\"a\nb\"", `control character`},
		{"word", `nul`, `value is missing`},
		{"words", `truefalse`, `something after`},
		{"case", `True`, `value is missing`},
		{"NUL", "\x00", `value is missing`},
		{"comment", `/*s3cr3t*/1`, `value is missing`},
		{"quotes", `'a'`, `value is missing`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			fp, err := fingerprint(json.RawMessage(row.doc))
			if err == nil {
				t.Fatalf("fingerprint %s, want an error", fp)
			}
			if msg := err.Error(); !strings.Contains(msg, row.want) || strings.Contains(msg, secret) {
				t.Errorf("error %q, want %q in it and no value", msg, row.want)
			}
			if len(err.Error()) > 300 {
				t.Errorf("error has %d bytes", len(err.Error()))
			}
		})
	}
}

func TestRawJSON_DepthUpToTheLimitIsRead(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{{"[", "]"}, {`{"b":[],"a":`, "}"}} {
		n := canonicalDepth
		if pair[0] != "[" {
			n--
		}
		doc := strings.Repeat(pair[0], n) + "1" + strings.Repeat(pair[1], n)
		if pair[0] == "[" {
			doc = strings.Repeat(pair[0], n) + strings.Repeat(pair[1], n)
		}
		if _, err := fingerprint(json.RawMessage(doc)); err != nil {
			t.Error(err)
		}
	}
}

// Memory stays in proportion to the input, however it is made up.
func TestRawJSON_MemoryIsInProportionToTheInput(t *testing.T) {
	t.Parallel()
	const size = 1 << 17
	var members strings.Builder
	for i := range size / 16 {
		fmt.Fprintf(&members, `"%d":%d,`, (i*7919)%1000003, i)
	}
	for name, doc := range map[string]string{
		"elements":         "[" + strings.Repeat("1,", size/2) + "1]",
		"unsorted objects": "[" + strings.Repeat(`{"b":1,"a":1},`, size/14) + "1]",
		"members":          "{" + members.String() + `"z":1}`,
		"deep, unsorted":   strings.Repeat(`{"b":`, 900) + `"` + strings.Repeat("x", size) + `"` + strings.Repeat(`,"a":1}`, 900),
		"digits":           strings.Repeat("9", size) + "." + strings.Repeat("1", size) + "e99",
		"zeros":            "0." + strings.Repeat("0", size) + "1",
		"exponent":         "1e-" + strings.Repeat("0", size) + "1",
		"escapes":          `"` + strings.Repeat(`\u0000`, size/6) + `"`,
	} {
		var c canonical
		if err := c.rawJSON([]byte(doc)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		used := cap(c.text) + cap(c.finish()) + 24*(cap(c.open)+cap(c.sorted)) + 32*cap(c.unsorted)
		if limit := 12 * len(doc); used > limit {
			t.Errorf("%s: %d bytes used for an input of %d, want at most %d", name, used, len(doc), limit)
		}
	}
}
