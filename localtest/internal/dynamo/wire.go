package dynamo

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
)

// maxNesting is how many levels an attribute may have, its own value being the first.
const maxNesting = 32

// rawItem is an item or key as it came, nil if it did not: decoded after the request's structure was found in order.
type rawItem json.RawMessage

// UnmarshalJSON keeps a copy of an object.
func (r *rawItem) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case 'n':
		*r = nil
	case '{':
		*r = slices.Clone(b)
	default:
		return &json.UnmarshalTypeError{Value: "value", Type: reflect.TypeFor[rawItem]()}
	}
	return nil
}

// MarshalJSON writes what was read.
func (r rawItem) MarshalJSON() ([]byte, error) { return json.RawMessage(r).MarshalJSON() }

// decode reads every attribute whose name passes the check; wrap, if not nil, changes an error on the value.
func (r rawItem) decode(check func(name string) error, wrap func(name string, err error) error) (attrs, error) {
	a := attrs{}
	if r == nil {
		return a, nil
	}
	reader := jsonReader{b: r}
	err := reader.object(func(name string) error {
		if err := check(name); err != nil {
			return err
		}
		v, err := readValue(&reader, 1)
		if err != nil && wrap != nil {
			err = wrap(name, err)
		}
		a[name] = v
		return err
	})
	return a, err
}

var (
	errEmptyValue = invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
	errNesting    = invalid("Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit")
)

func readValue(r *jsonReader, depth int) (*value, error) {
	if depth > maxNesting {
		return nil, errNesting
	}
	var v *value
	err := r.object(func(name string) error {
		k, known := kindOf(name)
		if !known || r.null() {
			r.skip()
			return nil
		}
		if v != nil {
			return invalid("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes")
		}
		var err error
		v, err = readKind(r, k, depth)
		return err
	})
	if err == nil && v == nil {
		err = errEmptyValue
	}
	return v, err
}

func readKind(r *jsonReader, k kind, depth int) (*value, error) {
	v := &value{kind: k}
	var err error
	switch k {
	case kindS, kindN, kindB:
		return readScalar(r, k)
	case kindBOOL:
		v.flag, err = r.bool()
	case kindNULL:
		var null bool
		if null, err = r.bool(); err == nil && !null {
			err = invalidParameter("Null attribute value types must have the value of true")
		}
	case kindL:
		err = r.array(func() error {
			e, err := readValue(r, depth+1)
			v.list = append(v.list, e)
			return err
		})
	case kindM:
		v.m = attrs{}
		err = r.object(func(name string) error {
			if err := checkMember(name); err != nil {
				return err
			}
			e, err := readValue(r, depth+1)
			v.m[name] = e
			return err
		})
	case kindSS, kindNS, kindBS:
		err = r.array(func() error {
			e, err := readScalar(r, k.member())
			v.list = append(v.list, e)
			return err
		})
		if err == nil {
			err = v.arrange()
		}
	}
	return v, err
}

func readScalar(r *jsonReader, k kind) (*value, error) {
	s, err := r.string()
	if err != nil {
		return nil, err
	}
	if k == kindN {
		n, err := parseNumber(s)
		if err != nil {
			return nil, err
		}
		return numberValue(n), nil
	}
	if k == kindB {
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return nil, malformed("The value of a Binary attribute is not valid Base64")
		}
		return &value{kind: kindB, str: string(b)}, nil
	}
	return stringValue(s), nil
}

// scalar is the text of a string, number or binary as it stands on the wire.
func (v *value) scalar() string {
	if v.kind == kindN {
		return v.number().String()
	}
	if v.kind == kindB {
		return base64.StdEncoding.EncodeToString([]byte(v.str))
	}
	return v.str
}

// MarshalJSON writes the wire form.
func (v *value) MarshalJSON() ([]byte, error) { return v.append(nil), nil }

// MarshalJSON writes the wire form, members in order of their names.
func (a attrs) MarshalJSON() ([]byte, error) { return a.append(nil), nil }

func (a attrs) append(b []byte) []byte {
	names := make([]string, 0, len(a))
	for name := range a {
		names = append(names, name)
	}
	slices.Sort(names)
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, name)
		b = append(b, ':')
		b = a[name].append(b)
	}
	return append(b, '}')
}

func (v *value) append(b []byte) []byte {
	b = append(b, '{', '"')
	b = append(b, v.kind.String()...)
	b = append(b, '"', ':')
	switch v.kind {
	case kindBOOL:
		b = strconv.AppendBool(b, v.flag)
	case kindNULL:
		b = append(b, "true"...)
	case kindM:
		b = v.m.append(b)
	case kindL, kindSS, kindNS, kindBS:
		b = append(b, '[')
		for i, e := range v.list {
			if i > 0 {
				b = append(b, ',')
			}
			if v.kind == kindL {
				b = e.append(b)
			} else {
				b = appendString(b, e.scalar())
			}
		}
		b = append(b, ']')
	case kindS, kindN, kindB:
		b = appendString(b, v.scalar())
	}
	return append(b, '}')
}

// appendString quotes s, which is valid UTF-8: it came out of JSON.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[start:i]...)
		if c < ' ' {
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		} else {
			b = append(b, '\\', c)
		}
		start = i + 1
	}
	return append(append(b, s[start:]...), '"')
}
