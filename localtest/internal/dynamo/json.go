package dynamo

import (
	"encoding/json"
	"unicode/utf8"
)

// jsonReader walks over JSON that the standard library has already found well-formed.
type jsonReader struct {
	b []byte
	i int
}

func (r *jsonReader) next() byte {
	for r.b[r.i] == ' ' || r.b[r.i] == '\t' || r.b[r.i] == '\n' || r.b[r.i] == '\r' {
		r.i++
	}
	return r.b[r.i]
}

func (r *jsonReader) null() bool { return r.next() == 'n' }

func (r *jsonReader) object(member func(name string) error) error {
	return r.all('{', '}', func() error {
		name, err := r.string()
		if err != nil {
			return err
		}
		r.next()
		r.i++ // the colon
		return member(name)
	})
}

func (r *jsonReader) array(element func() error) error { return r.all('[', ']', element) }

func (r *jsonReader) all(open, end byte, each func() error) error {
	if r.next() != open {
		return r.unexpected(open)
	}
	r.i++
	for r.next() != end {
		if err := each(); err != nil {
			return err
		}
		if r.next() == ',' {
			r.i++
		}
	}
	r.i++
	return nil
}

func (r *jsonReader) bool() (bool, error) {
	switch r.next() {
	case 't':
		r.i += len("true")
		return true, nil
	case 'f':
		r.i += len("false")
		return false, nil
	default:
		return false, r.unexpected('t')
	}
}

func (r *jsonReader) string() (string, error) {
	if r.next() != '"' {
		return "", r.unexpected('"')
	}
	quoted, plain := r.quoted()
	if plain && utf8.Valid(quoted) {
		return string(quoted[1 : len(quoted)-1]), nil
	}
	var s string
	err := json.Unmarshal(quoted, &s)
	return s, err
}

// quoted passes over a string; plain says that there is no escape in it.
func (r *jsonReader) quoted() (text []byte, plain bool) {
	start, plain := r.i, true
	for r.i++; r.b[r.i] != '"'; r.i++ {
		if r.b[r.i] == '\\' {
			plain = false
			r.i++
		}
	}
	r.i++
	return r.b[start:r.i], plain
}

// skip passes over any value.
func (r *jsonReader) skip() {
	switch r.next() {
	case '{', '[':
		r.skipNested()
	case '"':
		r.quoted()
	default:
		for r.i < len(r.b) && r.b[r.i] != ',' && r.b[r.i] != '}' && r.b[r.i] != ']' {
			r.i++
		}
	}
}

// skipNested passes over a structure, map or list.
func (r *jsonReader) skipNested() {
	for depth := 0; ; {
		switch r.next() {
		case '"':
			r.quoted()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		r.i++
		if depth == 0 {
			return
		}
	}
}

func (r *jsonReader) unexpected(want byte) error {
	names := map[byte]string{'{': "a structure or map", '[': "a list", '"': "a string", 't': "a boolean"}
	return malformed("Unexpected JSON value where %s is expected", names[want])
}
