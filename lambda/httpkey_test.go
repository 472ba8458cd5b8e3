package lambda

import (
	"strings"
	"testing"
	"time"
)

// C37: one key in two forms, and everything that is none.
func TestParseKey(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", 255)
	for _, c := range []struct {
		name, header, want string // want "": refused
		lax                bool   // refused if strict
	}{
		{"quoted", `"abc"`, "abc", false},
		{"bare", `abc`, "abc", true},
		{"escapes", `"a\"b\\c"`, `a"b\c`, false},
		{"spaces around", "  \t\"abc\" ", "abc", false},
		{"spaces within", `"a b"`, "a b", false},
		{"parameters", `"abc";v=1; w="x,y";z`, "abc", false},
		{"parameters behind a space", `"abc" ;v=1`, "abc", false},
		{"comma within", `"a,b"`, "a,b", false},
		{"a UUID", `8e03978e-40d5-43dd-bc93-6894a57f9324`, "8e03978e-40d5-43dd-bc93-6894a57f9324", true},
		{"bare with a semicolon", `abc;d`, "abc;d", true},
		{"255 bytes", `"` + long + `"`, long, false},
		{"255 bytes bare", long, long, true},
		{"256 bytes", `"` + long + `k"`, "", false},
		{"256 bytes bare", long + "k", "", false},
		{"empty", ``, "", false},
		{"blank", `   `, "", false},
		{"empty string", `""`, "", false},
		{"open", `"abc`, "", false},
		{"closed twice", `"abc"d"`, "", false},
		{"two joined", `"abc", "abd"`, "", false},
		{"two joined bare", `abc, abd`, "", false},
		{"two joined without space", `abc,abd`, "", false},
		{"two behind parameters", `"abc";v=1, "abd"`, "", false},
		{"open parameter", `"abc";v="x`, "", false},
		{"bare in two parts", `abc def`, "", false},
		{"quotation mark within", `ab"c`, "", false},
		{"wrong escape", `"a\bc"`, "", false},
		{"escape at the end", `"abc\`, "", false},
		{"NUL", "\"a\x00b\"", "", false},
		{"NUL bare", "a\x00b", "", false},
		{"DEL", "\"a\x7fb\"", "", false},
		{"tab within", "\"a\tb\"", "", false},
		{"not ASCII", `"caf` + "\u00e9" + `"`, "", false},
		{"not ASCII bare", "caf\u00e9", "", false},
		{"no UTF-8", "\"a\xffb\"", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, strict := range []bool{false, true} {
				want := c.want
				if strict && c.lax {
					want = ""
				}
				got, err := parseKey([]string{c.header}, strict)
				if got != want || (err == nil) != (want != "") {
					t.Errorf("strict %v: %q, %v; want %q", strict, got, err, want)
				}
				if err != nil && strings.Contains(c.header, "abc") && strings.Contains(err.Error(), "abc") {
					t.Errorf("the key is in the error: %v", err)
				}
			}
		})
	}
	if _, err := parseKey(nil, false); err != errNoKey { //nolint:errorlint // the very one
		t.Errorf("no header: %v", err)
	}
	if _, err := parseKey([]string{"abc", "abc"}, false); err == nil || err == errNoKey { //nolint:errorlint // the very one
		t.Errorf("two headers: %v", err)
	}
}

func FuzzParseKey(f *testing.F) {
	for _, seed := range []string{`"abc"`, `abc`, `"a\"b";x="\""`, `"", ""`, "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		key, err := parseKey([]string{header}, false)
		if err != nil {
			if key != "" {
				t.Errorf("%q: a key and an error", header)
			}
			return
		}
		if key == "" || len(key) > 255 || strings.ContainsFunc(key, func(c rune) bool { return c < ' ' || c > '~' }) {
			t.Errorf("%q: the key %q", header, key)
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		if again, err := parseKey([]string{quoted}, true); err != nil || again != key {
			t.Errorf("%q in quotation marks: %q, %v", key, again, err)
		}
	})
}

func TestKeyTime(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]int64{
		"017f22e2-79b0-7cc3-98c4-dc0c0c07398f":  1645557742000, // RFC 9562, appendix A.6
		"017F22E2-79B0-7CC3-98C4-DC0C0C07398F":  1645557742000,
		"01ARZ3NDEKTSV4RRFFQ69G5FAV":            1469922850259,
		"01arz3ndektsv4rrffq69g5fav":            1469922850259,
		"7ZZZZZZZZZTSV4RRFFQ69G5FAV":            1<<48 - 1,
		"8ZZZZZZZZZTSV4RRFFQ69G5FAV":            -1,
		"01ARZ3NDEUTSV4RRFFQ69G5FAV":            -1, // no U in it
		"8e03978e-40d5-43dd-bc93-6894a57f9324":  -1, // version 4
		"017f22e2-79b0-7cc3-98c4-dc0c0c07398":   -1,
		"zzzzzzzz-zzzz-7zzz-zzzz-zzzzzzzzzzzz":  -1,
		"01ARZ3NDEKTSV4RRFFQ69G5FAU":            -1,
		"0000000000-order-of-alice!":            -1,
		"01234567-89ab-7zzz-zzzz-zzzzzzzzzzzz":  -1,
		"order-17":                              -1,
		"":                                      -1,
		"017f22e2+79b0+7cc3+98c4+dc0c0c07398f0": -1,
	} {
		got, ok := keyTime(key)
		if ok != (want >= 0) || ok && got.UnixMilli() != want {
			t.Errorf("%q: %v, %v; want %v", key, got.UTC().Format(time.RFC3339Nano), ok, want)
		}
	}
}
