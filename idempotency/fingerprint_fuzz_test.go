package idempotency

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// fuzzValue reads a document with encoding/json into text that can be compared: numbers become exact
// fractions, and objects lists of sorted members, all with their lengths. It reports false for what the two may see differently: bad
// UTF-8, a replaced character, a member twice, exponents too big to compute with.
func fuzzValue(doc []byte) (value string, comparable bool, err error) {
	if !json.Valid(doc) {
		return "", false, errors.New("not JSON")
	}
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	comparable = utf8.Valid(doc)
	value, err = fuzzNext(dec, &comparable, 0)
	return value, comparable, err
}

func fuzzNext(dec *json.Decoder, comparable *bool, depth int) (string, error) {
	token, err := dec.Token()
	if err != nil {
		return "", err
	}
	*comparable = *comparable && depth <= canonicalDepth
	switch token := token.(type) {
	case json.Number:
		_, exponent, _ := strings.Cut(strings.ToLower(token.String()), "e")
		if e, err := strconv.Atoi(exponent); exponent != "" && (err != nil || max(e, -e) > 400) {
			*comparable = false
			return "", nil //nolint:nilerr // too large for the oracle, which is no fault
		}
		rat, _ := new(big.Rat).SetString(token.String())
		return "number " + rat.RatString(), nil
	case string:
		*comparable = *comparable && !strings.ContainsRune(token, utf8.RuneError)
		return "string " + token, nil
	case json.Delim:
		list := []string{token.String()}
		for dec.More() {
			name := ""
			if token == '{' {
				t, err := dec.Token()
				if err != nil {
					return "", err
				}
				name = t.(string)
				*comparable = *comparable && !strings.ContainsRune(name, utf8.RuneError)
			}
			value, err := fuzzNext(dec, comparable, depth+1)
			if err != nil {
				return "", err
			}
			prefix := fmt.Sprintf("%q:", name)
			if token == '{' && slices.ContainsFunc(list[1:], func(m string) bool { return strings.HasPrefix(m, prefix) }) {
				*comparable = false
			}
			list = append(list, fmt.Sprintf("%s%d %s", prefix, len(value), value))
		}
		if _, err := dec.Token(); err != nil {
			return "", err
		}
		if token == '{' {
			slices.Sort(list[1:])
		}
		return strings.Join(list, ","), nil
	default:
		return fmt.Sprintf("%T %v", token, token), nil
	}
}

// fuzzSpellings are other ways to write a document.
func fuzzSpellings(t *testing.T, doc []byte) [][]byte {
	t.Helper()
	var v any
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	sorted, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	indented, err := json.MarshalIndent(v, "\t", " ")
	if err != nil {
		t.Fatal(err)
	}
	ascii := []byte(strings.NewReplacer("/", `\/`, "\u00e9", `\u00E9`).Replace(string(sorted)))
	return [][]byte{sorted, indented, ascii}
}

func checkRawPair(t *testing.T, a, b []byte) {
	t.Helper()
	textA, errA := canonicalText(json.RawMessage(a))
	fpA, err := fingerprint(json.RawMessage(a))
	if (err == nil) != (errA == nil) {
		t.Fatalf("%q: fingerprint says %v, the canonical form %v", a, err, errA)
	}
	valueA, comparableA, invalidA := fuzzValue(a)
	if invalidA != nil && errA == nil {
		t.Fatalf("%q is not JSON and has the canonical form %q", a, textA)
	}
	if errA != nil {
		if comparableA {
			t.Fatalf("%q is refused: %v", a, errA)
		}
		return
	}
	if comparableA {
		// No value is lost on the way: different values have different forms.
		if back, ok, err := fuzzValue(textA); !ok || err != nil || back != valueA {
			t.Fatalf("%q: canonical form %q is another value, %v", a, textA, err)
		}
		for _, other := range fuzzSpellings(t, a) {
			if fp, err := fingerprint(json.RawMessage(other)); err != nil || fp != fpA {
				t.Fatalf("%q and %q are the same and differ: %v", a, other, err)
			}
		}
	}
	if again, err := canonicalText(json.RawMessage(textA)); err != nil || !bytes.Equal(again, textA) {
		t.Fatalf("canonical form %q of %q is not its own: %q, %v", textA, a, again, err)
	}
	if limit := 2*len(a) + 32; len(textA) > limit {
		t.Fatalf("%q: canonical form of %d bytes", a, len(textA))
	}
	fpB, errB := fingerprint(json.RawMessage(b))
	valueB, comparableB, _ := fuzzValue(b)
	if errB == nil && comparableA && comparableB && (fpA == fpB) != (valueA == valueB) {
		t.Fatalf("%q and %q: same fingerprint %v, same value %v", a, b, fpA == fpB, valueA == valueB)
	}
}

// Equal JSON has equal fingerprints and different JSON different ones, by what encoding/json reads (C22, C23).
func FuzzFingerprint_RawJSON(f *testing.F) {
	for _, pair := range [][2]string{
		{`{"b":[1,{"d":1,"c":{"f":2,"e":3}}],"a":"x"}`, `{"a":"x","b":[1.0,{"c":{"e":3,"f":2},"d":10e-1}]}`},
		{`1.0`, `1e0`},
		{`-0`, `0`},
		{`9007199254740993`, `9007199254740992`},
		{`1e999999999999`, `1e-99`},
		{`0.00100e3`, `1`},
		{`"\u003c\u00e9\ud83d\ude00\u2028"`, "\"<\u00e9\U0001f600\u2028\""},
		{`"\ud800"`, `"\ufffd"`},
		{"\"\xff\"", "\"\xfe\""},
		{`{"a":1,"a":1}`, `{"a":1}`},
		{`{"a":1}`, `"{\"a\":1}"`},
		{`[[[[]]]]`, `[[[]]]`},
		{`{"":{"":{}}}`, `{}`},
		{`null`, `"null"`},
		{` [ true , false , null ] `, `[true,false,null]`},
		{`{"a\"":1,"a\\":2,"\u0000":3}`, `{"\u0000":3}`},
		{`[1,]`, `01`},
		{`{}{}`, ``},
		{`{"b":{"d":"` + strings.Repeat("x", 1<<10) + `","c":{"f":1,"e":2}},"a":[{"h":"` + strings.Repeat("y", 1<<10) + `","g":3}]}`, `{}`},
	} {
		f.Add([]byte(pair[0]), []byte(pair[1]))
		f.Add([]byte(pair[1]), []byte(pair[0]))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) { checkRawPair(t, a, b) })
}

// The same on documents that are JSON by construction.
func TestProperty_RawJSON(t *testing.T) {
	t.Parallel()
	large := `"` + strings.Repeat("x", 700) + `"` // two of them make an object large
	var document func(depth int) *rapid.Generator[string]
	document = func(depth int) *rapid.Generator[string] {
		return rapid.Custom(func(r *rapid.T) string {
			kinds := 4
			if depth > 0 {
				kinds = 6
			}
			switch rapid.IntRange(0, kinds-1).Draw(r, "kind") {
			case 0:
				return rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,8})?([eE][+-]?[0-9]{1,2})?`).Draw(r, "number")
			case 1:
				return rapid.SampledFrom([]string{"true", "false", "null", "0", "-0", "1", "1.0", "10e-1", `""`, `"1"`, large}).Draw(r, "word")
			case 2:
				quoted, _ := json.Marshal(strings.ReplaceAll(rapid.String().Draw(r, "string"), "\ufffd", ""))
				return string(quoted)
			case 3:
				return rapid.StringMatching(`"(a|\\u00[0-9a-f]{2}|\\ud83d\\ude0[0-9]|\\[nrtbf/"\\]){0,4}"`).Draw(r, "escapes")
			case 4:
				return "[" + strings.Join(rapid.SliceOfN(document(depth-1), 0, 4).Draw(r, "list"), " , ") + "]"
			default:
				names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "A", "", "é", "a b", `\\`, `\"`, `\u0000`, "<", "aa"}), 0, 6, rapid.ID).Draw(r, "names")
				for i, name := range names {
					names[i] = `"` + name + `":` + document(depth-1).Draw(r, "value")
				}
				return "{" + strings.Join(names, ",\n") + "}"
			}
		})
	}
	rapid.Check(t, func(r *rapid.T) {
		checkRawPair(t, []byte(document(4).Draw(r, "a")), []byte(document(1).Draw(r, "b")))
	})
}
