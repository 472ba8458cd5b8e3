package lambda

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/oncekey/oncekey/idempotency"
)

// keyHeader is the name that the IETF draft gives it, in net/http's spelling.
const keyHeader = "Idempotency-Key"

// errNoKey says that a request has no key at all.
var errNoKey = errors.New("the header Idempotency-Key is missing")

// parseKey reads the key of a request out of the header's values (draft-ietf-httpapi-idempotency-key-header, section 2.1 of
// -06). A string of structured fields (RFC 9651), "abc", and the bare form that clients of many services send, abc, are
// the same key; strict takes the former only. Parameters behind the string are ignored. Whatever is there and is no
// key is an error, never "absent": a client that meant to protect its request must hear of it.
func parseKey(values []string, strict bool) (string, error) {
	switch {
	case len(values) == 0:
		return "", errNoKey
	case len(values) > 1:
		return "", errors.New("the header Idempotency-Key is there more than once")
	}
	text := strings.Trim(values[0], " \t")
	var key string
	var err error
	switch {
	case strings.HasPrefix(text, `"`):
		key, err = quotedKey(text)
	case strict:
		err = errors.New(`the key must be in quotation marks, as in "8e03978e"`)
	default:
		key, err = bareKey(text)
	}
	switch {
	case err != nil:
		return "", err
	case key == "":
		return "", errors.New("the key is empty")
	case len(key) > idempotency.MaxKey:
		return "", fmt.Errorf("the key has %d bytes, at most %d are allowed", len(key), idempotency.MaxKey)
	}
	return key, nil
}

// quotedKey reads a string of structured fields and drops the parameters behind it.
func quotedKey(text string) (string, error) {
	var key strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			if rest := strings.TrimLeft(text[i+1:], " "); rest != "" && !parameters(rest) {
				return "", errors.New("the key has something behind its closing quotation mark; a value of several keys is none")
			}
			return key.String(), nil
		case c == '\\':
			i++
			if i == len(text) || text[i] != '"' && text[i] != '\\' {
				return "", errors.New(`a backslash in the key must stand before a quotation mark or a backslash`)
			}
			key.WriteByte(text[i])
		case c < ' ' || c > '~':
			return "", errNotPrintable
		default:
			key.WriteByte(c)
		}
	}
	return "", errors.New("the key's closing quotation mark is missing")
}

// parameters reports whether the text is a list of parameters, as far as it matters: they are ignored.
func parameters(text string) bool {
	if !strings.HasPrefix(text, ";") {
		return false
	}
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c < ' ' || c > '~':
			return false
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case c == ',' && !quoted:
			return false // another member: two values
		}
	}
	return !quoted
}

var errNotPrintable = errors.New("the key has a control character or one outside of ASCII")

func bareKey(text string) (string, error) {
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ' || c > '~':
			return "", errNotPrintable
		case c == ' ' || c == ',' || c == '"':
			// Two header lines are joined by a comma on their way, and a key in two parts is none.
			return "", fmt.Errorf("the key has a %q: put it in quotation marks if it is a part of the key", c)
		}
	}
	return text, nil
}

// TimedKey is a [HTTPConfig.CheckKey] to go with OldestKey: it refuses keys that do not say when they were made, as UUIDs of
// version 7 and ULIDs do.
func TimedKey(key string) error {
	if _, ok := keyTime(key); !ok {
		return errors.New("the key must be a UUID of version 7 or a ULID, which say when they were made")
	}
	return nil
}

// keyTime is when a key was made, of keys that begin with the time: UUIDs of version 7 (RFC 9562) and ULIDs.
func keyTime(key string) (time.Time, bool) {
	switch {
	case looksLike(key, "xxxxxxxx-xxxx-7xxx-vxxx-xxxxxxxxxxxx"):
		return time.UnixMilli(read(key[:8]+key[9:13], hexDigits)), true
	case looksLike(key, "tccccccccccccccccccccccccc"):
		return time.UnixMilli(read(key[:10], crockford)), true
	}
	return time.Time{}, false
}

// The digits of UUIDs and ULIDs, which may be capitals too.
const (
	hexDigits = "0123456789abcdef"
	crockford = "0123456789abcdefghjkmnpqrstvwxyz"
)

// looksLike compares a key with a form: x is a hexadecimal digit, v one of a variant, c one of base 32 and t the first of these,
// which has three bits. By hand, since a regular expression would be compiled at the start of each function.
func looksLike(key, form string) bool {
	if len(key) != len(form) {
		return false
	}
	for i := range len(form) {
		digits := form[i : i+1]
		switch digits {
		case "x":
			digits = hexDigits
		case "v":
			digits = hexDigits[8:12]
		case "c":
			digits = crockford
		case "t":
			digits = crockford[:8]
		}
		if strings.IndexByte(digits, lower(key[i])) < 0 {
			return false
		}
	}
	return true
}

// read is the number that the digits are.
func read(text, digits string) (n int64) {
	for i := range len(text) {
		n = n*int64(len(digits)) + int64(strings.IndexByte(digits, lower(text[i])))
	}
	return n
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
