package idempotency

import (
	"bytes"
	"fmt"
	"strconv"
)

// exponentDigits bounds the exponent as it is written, so that it can be computed with. The coefficient may
// have any number of digits.
const exponentDigits = 18

// appendNumber appends the one way to write the JSON number that src begins with, and returns its length in src.
// If src does not begin with a number, or with one that is refused, it returns the rule broken.
//
// The value is exact: the coefficient without leading and trailing zeros, then "e" and the decimal exponent
// unless that is 0. So 1, 1.0 and 10e-1 become 1, 1500 becomes 15e2, every zero becomes 0 (-0 too), and
// 1e999999999 stays as short as it is.
func appendNumber(dst, src []byte) (out []byte, length int, rule string) {
	n, ok := scanNumber(src)
	if !ok {
		return dst, 0, "is not a JSON number"
	}
	if last := n.whole[len(n.whole)-1]; last != '0' && len(n.fraction)+len(n.exponent) == 0 {
		return append(dst, src[:n.length]...), n.length, "" // the usual integer is canonical as it is
	}
	start := len(dst)
	if n.negative {
		dst = append(dst, '-')
	}
	first := len(dst)
	fraction := bytes.TrimRight(n.fraction, "0")
	dst = append(append(dst, n.whole...), fraction...)
	digits := bytes.TrimLeft(dst[first:], "0")
	if len(digits) == 0 {
		return append(dst[:start], '0'), n.length, ""
	}
	dst = append(dst[:first], digits...)
	dst = dst[:first+len(bytes.TrimRight(digits, "0"))]
	exponent, ok := n.exponentValue()
	if !ok {
		return dst[:start], 0, fmt.Sprintf("has an exponent of more than %d digits", exponentDigits)
	}
	// "1500" is 15e2, "1.5" is 15e-1: what was cut off and what stood behind the point.
	exponent += int64(len(digits)-(len(dst)-first)) - int64(len(fraction))
	if exponent != 0 {
		dst = append(dst, 'e')
		dst = strconv.AppendInt(dst, exponent, 10)
	}
	return dst, n.length, ""
}

// number is a JSON number taken apart.
type number struct {
	negative, negativeExponent bool
	whole, fraction, exponent  []byte // digits; the latter two may be missing
	length                     int
}

// scanNumber takes the longest JSON number at the start of src.
func scanNumber(src []byte) (n number, ok bool) {
	at := 0
	if n.negative = byteAt(src, at) == '-'; n.negative {
		at++
	}
	n.whole = digitsAt(src, at)
	if at += len(n.whole); len(n.whole) == 0 || n.whole[0] == '0' && len(n.whole) > 1 {
		return n, false
	}
	if byteAt(src, at) == '.' {
		n.fraction = digitsAt(src, at+1)
		if at += 1 + len(n.fraction); len(n.fraction) == 0 {
			return n, false
		}
	}
	if b := byteAt(src, at); b == 'e' || b == 'E' {
		at++
		if b := byteAt(src, at); b == '-' || b == '+' {
			n.negativeExponent = b == '-'
			at++
		}
		n.exponent = digitsAt(src, at)
		if at += len(n.exponent); len(n.exponent) == 0 {
			return n, false
		}
	}
	n.length = at
	return n, true
}

// byteAt is 0 behind the end.
func byteAt(src []byte, at int) byte {
	if at >= len(src) {
		return 0
	}
	return src[at]
}

func digitsAt(src []byte, at int) []byte {
	end := at
	for end < len(src) && '0' <= src[end] && src[end] <= '9' {
		end++
	}
	return src[at:end]
}

// exponentValue reports false if the exponent is too long.
func (n number) exponentValue() (int64, bool) {
	digits := bytes.TrimLeft(n.exponent, "0")
	if len(digits) > exponentDigits {
		return 0, false
	}
	var value int64
	for _, d := range digits {
		value = value*10 + int64(d-'0')
	}
	if n.negativeExponent {
		value = -value
	}
	return value, true
}
