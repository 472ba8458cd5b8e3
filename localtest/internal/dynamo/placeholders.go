package dynamo

import (
	"errors"
	"slices"
)

// placeholders are what #names and :values of a request's expressions stand for, and which of them were used.
type placeholders struct {
	names      map[string]string
	values     attrs
	usedNames  map[string]bool
	usedValues map[string]bool
}

// newPlaceholders checks the two maps of a request. Without any expression neither may be there; absent names the
// expression parameters that are not there, for the message.
func newPlaceholders(names map[string]string, values rawItem, expressions bool, absent string) (*placeholders, error) {
	if !expressions {
		if names != nil {
			return nil, invalid("ExpressionAttributeNames can only be specified when using expressions")
		}
		if values != nil {
			return nil, invalid("ExpressionAttributeValues can only be specified when using expressions: %s null", absent)
		}
	}
	if names != nil && len(names) == 0 {
		return nil, invalid("ExpressionAttributeNames must not be empty")
	}
	for key, name := range names {
		if !isPlaceholder(key, tokenName) {
			return nil, invalid("ExpressionAttributeNames contains invalid key: Syntax error; key: %q", key)
		}
		if name == "" {
			return nil, invalid("ExpressionAttributeNames contains invalid value: must have a length of 1 to %d bytes for key %s", maxName, key)
		}
		if err := checkName(name); err != nil {
			return nil, err
		}
	}
	decoded, err := values.decode(checkValueKey, wrongValue)
	switch {
	case err != nil:
		return nil, err
	case values != nil && len(decoded) == 0:
		return nil, invalid("ExpressionAttributeValues must not be empty")
	}
	size := decoded.size()
	for key, name := range names {
		size += len(key) + len(name)
	}
	if size > maxPlaceholders {
		return nil, invalid("ExpressionAttributeNames and ExpressionAttributeValues have exceeded the maximum allowed size of 2 MB; size: %d", size)
	}
	return &placeholders{names: names, values: decoded, usedNames: map[string]bool{}, usedValues: map[string]bool{}}, nil
}

func checkValueKey(key string) error {
	if !isPlaceholder(key, tokenValue) {
		return invalid("ExpressionAttributeValues contains invalid key: Syntax error; key: %q", key)
	}
	return nil
}

// wrongValue is the error of a placeholder's value.
func wrongValue(key string, err error) error {
	e, ok := errors.AsType[*apiError](err)
	if !ok || e.code != "ValidationException" || e == errLongName {
		return err
	}
	return invalid("ExpressionAttributeValues contains invalid value: %s for key %s", e.message, key)
}

func isPlaceholder(key string, kind tokenKind) bool {
	if key == "" {
		return false
	}
	k, n := lexOne(key)
	return k == kind && n == len(key)
}

// checkUsed refuses placeholders that no expression mentions.
func (p *placeholders) checkUsed() error {
	if unused := unusedKeys(p.names, p.usedNames); unused != "" {
		return invalid("Value provided in ExpressionAttributeNames unused in expressions: keys: {%s}", unused)
	}
	if unused := unusedKeys(p.values, p.usedValues); unused != "" {
		return invalid("Value provided in ExpressionAttributeValues unused in expressions: keys: {%s}", unused)
	}
	return nil
}

func unusedKeys[V any](all map[string]V, used map[string]bool) string {
	var unused []string
	for key := range all {
		if !used[key] {
			unused = append(unused, key)
		}
	}
	slices.Sort(unused)
	return join(unused)
}
