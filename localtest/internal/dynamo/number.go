package dynamo

import (
	"math/big"
	"strconv"
	"strings"
)

// Limits of DynamoDB's number type: 38 significant digits, 1E-130 to 9.99…E+125 on either side of zero.
const (
	maxDigits = 38
	maxExp    = 126
	minExp    = -129
)

// number is an exact decimal in canonical form: 0.digits × 10^exp, digits without zeros at either end.
// Zero has no digits. So equal numbers are equal structs.
type number struct {
	digits string
	exp    int16
	neg    bool
}

// parseNumber reads DynamoDB's textual form of a number.
func parseNumber(s string) (number, error) {
	neg, mantissa, exp, ok := splitNumber(s)
	if !ok {
		if s == "" {
			return number{}, invalid("The parameter cannot be converted to a numeric value")
		}
		return number{}, invalid("The parameter cannot be converted to a numeric value: %s", s)
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	return canonical(neg, whole+fraction, exp+len(whole))
}

// splitNumber takes sign, mantissa and exponent apart and says whether s is a number at all.
func splitNumber(s string) (neg bool, mantissa string, exp int, ok bool) {
	neg, mantissa = cutSign(s)
	if i := strings.IndexAny(mantissa, "eE"); i >= 0 {
		down, digits := cutSign(mantissa[i+1:])
		if !isDigits(digits) {
			return false, "", 0, false
		}
		n, err := strconv.ParseInt(digits, 10, 32)
		if err != nil {
			n = 1 << 30 // out of any range
		}
		if exp = int(n); down {
			exp = -exp
		}
		mantissa = mantissa[:i]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	return neg, mantissa, exp, isDigits(whole + fraction)
}

func cutSign(s string) (neg bool, rest string) {
	if s != "" && (s[0] == '-' || s[0] == '+') {
		return s[0] == '-', s[1:]
	}
	return false, s
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// canonical is the number 0.digits × 10^exp, or why it can't be stored.
func canonical(neg bool, digits string, exp int) (number, error) {
	trimmed := strings.TrimLeft(digits, "0")
	exp -= len(digits) - len(trimmed)
	trimmed = strings.TrimRight(trimmed, "0")
	switch {
	case trimmed == "":
		return number{}, nil
	case exp > maxExp:
		return number{}, invalid("Number overflow. Attempting to store a number with magnitude larger than supported range")
	case exp < minExp:
		return number{}, invalid("Number underflow. Attempting to store a number with magnitude smaller than supported range")
	case len(trimmed) > maxDigits:
		return number{}, invalid("Attempting to store more than 38 significant digits in a Number")
	}
	return number{digits: trimmed, exp: int16(exp), neg: neg}, nil
}

// String is the plain form, without exponent, in which DynamoDB answers.
func (n number) String() string {
	if n.digits == "" {
		return "0"
	}
	sign := ""
	if n.neg {
		sign = "-"
	}
	exp, size := int(n.exp), len(n.digits)
	switch {
	case exp <= 0:
		return sign + "0." + strings.Repeat("0", -exp) + n.digits
	case exp >= size:
		return sign + n.digits + strings.Repeat("0", exp-size)
	default:
		return sign + n.digits[:exp] + "." + n.digits[exp:]
	}
}

// compare is -1, 0 or 1.
func (n number) compare(m number) int {
	if c := n.sign() - m.sign(); c != 0 || n.digits == "" {
		return max(-1, min(c, 1))
	}
	c := int(n.exp) - int(m.exp)
	if c == 0 {
		// Left-aligned fractions order like their texts.
		c = strings.Compare(n.digits, m.digits)
	}
	if n.neg {
		c = -c
	}
	return max(-1, min(c, 1))
}

func (n number) sign() int {
	switch {
	case n.digits == "":
		return 0
	case n.neg:
		return -1
	default:
		return 1
	}
}

func (n number) negate() number {
	n.neg = !n.neg && n.digits != ""
	return n
}

// add is exact; a sum that can't be stored is an error, never rounded.
func (n number) add(m number) (number, error) {
	scale := min(int(n.exp)-len(n.digits), int(m.exp)-len(m.digits))
	sum := new(big.Int).Add(n.scaled(scale), m.scaled(scale))
	digits := new(big.Int).Abs(sum).String()
	return canonical(sum.Sign() < 0, digits, len(digits)+scale)
}

// scaled is the integer n / 10^scale; scale must not be greater than that of n's last digit.
func (n number) scaled(scale int) *big.Int {
	i := new(big.Int)
	if n.digits == "" {
		return i
	}
	i.SetString(n.digits+strings.Repeat("0", int(n.exp)-len(n.digits)-scale), 10)
	if n.neg {
		i.Neg(i)
	}
	return i
}

// size is what the number counts for in an item's size: a byte, one for each two digits before the decimal point and
// one for each two behind it, zeros at either end left out, and one for a minus sign.
func (n number) size() int {
	whole := max(0, min(int(n.exp), len(n.digits)))
	size := 1 + (whole+1)/2 + (len(n.digits)-whole+1)/2
	if n.neg {
		size++
	}
	return size
}
