package idempotency

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// fingerprintPrefix names the algorithm: SHA-256 over the canonical form of [canonical]. Whatever changes the
// fingerprint of any input needs a new version, since records of the old one are compared for a whole window.
const fingerprintPrefix = "v1:"

// fingerprint returns "v1:" and the SHA-256, in hex, of the input's canonical form.
//
// A json.RawMessage is compared as the JSON value in it: member order, white space, escapes and the way a
// number is written (1, 1.0, 1e0) do not matter; everything else does, members that are null or zero included.
//
// Any other value, a string and a []byte included, is compared as the JSON that encoding/json makes of it, less
// the members of structs that are zero. So a field that a deploy adds does not change the fingerprint of a
// request that does not use it, nor does one that is taken away. It follows that
//
//   - a zero member and an absent one are the same; a pointer to zero, an empty slice or map that is not nil,
//     zero map entries and zero elements are kept, for somebody has set them;
//   - a struct, a map and a json.RawMessage with the same members are the same when no member of the struct is
//     zero: only the JSON counts, not the Go type. []byte("abc") is its base64 text "YWJj";
//   - what the Go type cannot hold, or hides from encoding/json, is not compared. A struct without any field to
//     compare is refused instead of being equal to every other.
//
// Nothing of the input is kept: it may be changed once fingerprint has returned.
func fingerprint(input any) (string, error) { return new(canonical).fingerprint(input) }

// fingerprint reuses what making a canonical form takes, twice the input's size, from one request to the next.
func (r *Runner) fingerprint(input any) (string, error) {
	c, _ := r.canonicals.Get().(*canonical)
	if c == nil {
		c = new(canonical)
	}
	defer func() {
		c.forget()
		r.canonicals.Put(c)
	}()
	return c.fingerprint(input)
}

func (c *canonical) fingerprint(input any) (string, error) {
	text, err := c.form(input)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	var out [len(fingerprintPrefix) + 2*sha256.Size]byte
	n := copy(out[:], fingerprintPrefix)
	hex.Encode(out[n:], sum[:])
	return string(out[:]), nil
}

// canonicalText is the canonical form as a text of its own.
func canonicalText(input any) ([]byte, error) { return new(canonical).form(input) }

// form returns the input's canonical form: JSON text that is the same for two inputs if and only if they are the same JSON
// value.
func (c *canonical) form(input any) ([]byte, error) {
	if raw, ok := input.(json.RawMessage); ok {
		c.grow(len(raw))
		if err := c.rawJSON(raw); err != nil {
			return nil, err
		}
		return c.finish(), nil
	}
	v := reflect.ValueOf(input)
	if isNil(v) {
		return nil, &inputError{rule: "is nil: nothing to compare"}
	}
	c.grow(256)
	w := valueWriter{c: c}
	if err := w.value(v); err != nil {
		return nil, err
	}
	return c.finish(), nil
}

// isNil reports whether there is no value, or a nil pointer at the end of a chain of pointers.
func isNil(v reflect.Value) bool {
	for range canonicalDepth { // a pointer can point to itself
		if v.Kind() != reflect.Pointer {
			break
		}
		v = v.Elem()
	}
	return !v.IsValid()
}

// matchFingerprint compares the fingerprint in a record with that of a request. An empty one was not taken
// ([AnyInput]) and matches any. A record of another algorithm, or of another library that shares the table,
// cannot be compared: that is a [*fingerprintVersionError], neither a match nor a mismatch (rule 27).
func matchFingerprint(stored, mine string) (bool, error) {
	if stored == "" || mine == "" {
		return true, nil
	}
	digits, ok := strings.CutPrefix(stored, fingerprintPrefix)
	if !ok {
		version, _, found := strings.Cut(stored, ":")
		if !found {
			version = ""
		}
		return false, &fingerprintVersionError{Version: version}
	}
	if len(digits) != 2*sha256.Size {
		return false, fmt.Errorf("fingerprint in the record has %d digits: must have %d", len(digits), 2*sha256.Size)
	}
	return stored == mine, nil
}

// fingerprintVersionError says that a record's fingerprint was made by an algorithm that this release does not
// have. The record is left alone.
type fingerprintVersionError struct {
	Version string // what stands before the colon; empty if the fingerprint names no version
}

// Error names the version found and the one understood.
func (e *fingerprintVersionError) Error() string {
	if e.Version == "" {
		return "fingerprint in the record names no version: must be v1"
	}
	return fmt.Sprintf("fingerprint in the record is of version %.16q: must be v1", e.Version)
}
