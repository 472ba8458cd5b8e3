package dynamo

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseNumber(t *testing.T) {
	t.Parallel()
	nines := strings.Repeat("9", 38)
	for _, c := range []struct{ in, want, wantErr string }{
		{in: "0", want: "0"},
		{in: "-0", want: "0"},
		{in: "0.000e5", want: "0"},
		{in: "0e999999999999", want: "0"},
		{in: "1", want: "1"},
		{in: "+1", want: "1"},
		{in: "007.50", want: "7.5"},
		{in: ".5", want: "0.5"},
		{in: "5.", want: "5"},
		{in: "-12.340e1", want: "-123.4"},
		{in: "1e3", want: "1000"},
		{in: "1E-3", want: "0.001"},
		{in: "12345678901234567890123456789012345678", want: "12345678901234567890123456789012345678"},
		{in: "0." + nines, want: "0." + nines},
		{in: nines + "e88", want: nines + strings.Repeat("0", 88)},
		{in: "1e-130", want: "0." + strings.Repeat("0", 129) + "1"},
		{in: nines + "9", wantErr: "more than 38 significant digits"},
		{in: "1e126", wantErr: "overflow"},
		{in: "-1e126", wantErr: "overflow"},
		{in: "1e99999999999", wantErr: "overflow"},
		{in: "1e-131", wantErr: "underflow"},
		{in: "1e-99999999999", wantErr: "underflow"},
		{in: "", wantErr: "cannot be converted to a numeric value"},
		{in: "abc", wantErr: "cannot be converted to a numeric value: abc"},
		{in: "1.2.3", wantErr: "cannot be converted"},
		{in: "1e", wantErr: "cannot be converted"},
		{in: "1e+-2", wantErr: "cannot be converted"},
		{in: "-", wantErr: "cannot be converted"},
		{in: ".", wantErr: "cannot be converted"},
		{in: " 1", wantErr: "cannot be converted"},
		{in: "0x10", wantErr: "cannot be converted"},
		{in: "NaN", wantErr: "cannot be converted"},
		{in: "Infinity", wantErr: "cannot be converted"},
		{in: "１", wantErr: "cannot be converted"},
	} {
		n, err := parseNumber(c.in)
		switch {
		case c.wantErr != "" && (err == nil || !strings.Contains(err.Error(), c.wantErr)):
			t.Errorf("parseNumber(%q) = %v, %v, want an error with %q", c.in, n, err, c.wantErr)
		case c.wantErr == "" && (err != nil || n.String() != c.want):
			t.Errorf("parseNumber(%q) = %v, %v, want %s", c.in, n, err, c.want)
		}
	}
}

// anyNumber draws a number that can be stored.
func anyNumber(t *rapid.T, label string) number {
	s := rapid.StringMatching(`-?[0-9]{1,15}(\.[0-9]{1,15})?(e-?[0-9]{1,2})?`).Draw(t, label)
	n, err := parseNumber(s)
	if err != nil {
		t.Fatalf("parseNumber(%q): %v", s, err)
	}
	return n
}

func rational(t *rapid.T, n number) *big.Rat {
	r, ok := new(big.Rat).SetString(n.String())
	if !ok {
		t.Fatalf("%v is no number", n)
	}
	return r
}

func TestNumber_AgreesWithRationals(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyNumber(t, "a"), anyNumber(t, "b")
		ra, rb := rational(t, a), rational(t, b)
		if got, want := a.compare(b), ra.Cmp(rb); got != want {
			t.Errorf("compare(%v, %v) = %d, want %d", a, b, got, want)
		}
		if (a == b) != (ra.Cmp(rb) == 0) {
			t.Errorf("%#v == %#v is %v", a, b, a == b)
		}
		again, err := parseNumber(a.String())
		if err != nil || again != a {
			t.Errorf("%v read again is %v, %v", a, again, err)
		}
		sum, err := a.add(b.negate())
		if err != nil {
			if !strings.Contains(err.Error(), "38 significant digits") {
				t.Errorf("%v - %v: %v", a, b, err)
			}
			return
		}
		if want := new(big.Rat).Sub(ra, rb); rational(t, sum).Cmp(want) != 0 {
			t.Errorf("%v - %v = %v, want %v", a, b, sum, want)
		}
	})
}

func TestNumber_AddOutOfRange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b, wantErr string }{
		{"9e125", "1e125", "overflow"},
		{"-9e125", "-1e125", "overflow"},
		{"1e40", "1", "38 significant digits"},
		{"1.1e-130", "-1e-130", "38"}, // 1.1e-130 itself can be stored, 1e-131 not
	} {
		a, errA := parseNumber(c.a)
		b, errB := parseNumber(c.b)
		if errA != nil || errB != nil {
			t.Errorf("%s, %s: %v, %v", c.a, c.b, errA, errB)
			continue
		}
		sum, err := a.add(b)
		if err == nil || !strings.Contains(err.Error(), c.wantErr) && !strings.Contains(err.Error(), "underflow") {
			t.Errorf("%s + %s = %v, %v, want %s", c.a, c.b, sum, err, c.wantErr)
		}
	}
}

func TestNumber_Size(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]int{
		"0": 1, "1": 2, "12": 2, "123": 3, "1234": 3, "-1": 3, "120": 2, "0.1": 2, "0.012": 2, "1.5": 3, "3.14159": 5, "123456": 4, "1e125": 2,
		"12345678901234567890123456789012345678": 20,
	} {
		n, err := parseNumber(s)
		if err != nil || n.size() != want {
			t.Errorf("size of %s = %d, %v, want %d", s, n.size(), err, want)
		}
	}
}
