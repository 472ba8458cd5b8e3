package conformance

import (
	"strings"
	"testing"
)

// named is the placeholder if the expression has it: one that is not used would be refused.
func named(expression, placeholder, name string) map[string]string {
	if !strings.Contains(expression, placeholder) {
		return nil
	}
	return map[string]string{placeholder: name}
}

func TestCondition(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put(rich("k"))
	rows := []struct {
		name, condition string
		values          item
		holds           bool
	}{
		{"equal", "s = :v", item{":v": "hello world"}, true},
		{"equal-not", "s = :v", item{":v": "hello"}, false},
		{"equal-numbers", "n = :v", item{":v": num("5.00")}, true},
		{"equal-other-type", "n = :v", item{":v": "5"}, false},
		{"equal-binary", "b = :v", item{":v": []byte{1, 2, 3}}, true},
		{"equal-bool", "yes = :v", item{":v": true}, true},
		{"equal-null", "#null = :v", item{":v": nil}, true},
		{"equal-list", "l = :v", item{":v": list{"a", "b", "c"}}, true},
		{"equal-list-order", "l = :v", item{":v": list{"b", "a", "c"}}, false},
		{"equal-map", "m = :v", item{":v": rich("")["m"]}, true},
		{"equal-set-order", "ss = :v", item{":v": texts{"q", "p"}}, true},
		{"equal-absent", "absent = :v", item{":v": 1}, false},
		{"equal-both-absent", "absent = absent2", nil, false},
		{"unequal-both-absent", "absent <> absent2", nil, true},
		{"unequal", "n <> :v", item{":v": 6}, true},
		{"unequal-not", "n <> :v", item{":v": 5}, false},
		{"unequal-other-type", "n <> :v", item{":v": "5"}, true},
		{"unequal-absent", "absent <> :v", item{":v": 1}, true},
		{"less", "n < :v", item{":v": 10}, true},
		{"less-not", "n < :v", item{":v": 5}, false},
		{"less-other-type", "n < :v", item{":v": "9"}, false},
		{"less-of-list", "l < :v", item{":v": 9}, false},
		{"less-absent", "absent < :v", item{":v": 1}, false},
		{"less-or-equal", "n <= :v", item{":v": 5}, true},
		{"greater", "n > :v", item{":v": -6}, true},
		{"greater-or-equal", "n >= :v", item{":v": num("5.1")}, false},
		{"less-text-bytes", "s < :v", item{":v": "héllo"}, true},
		{"less-text-case", "s < :v", item{":v": "Z"}, false},
		{"less-binary-unsigned", "b < :v", item{":v": []byte{255}}, true},
		{"two-attributes", "n > m.#in.x", nil, true},
		{"constant-first", ":v < n", item{":v": 4}, true},
		{"between-low", "n BETWEEN :a AND :b", item{":a": 5, ":b": 6}, true},
		{"between-high", "n BETWEEN :a AND :b", item{":a": 4, ":b": 5}, true},
		{"between-not", "n BETWEEN :a AND :b", item{":a": 6, ":b": 10}, false},
		{"in", "s IN (:a, :b)", item{":a": 5, ":b": "hello world"}, true},
		{"in-not", "s IN (:a)", item{":a": "x"}, false},
		{"exists", "attribute_exists(m.#in.x)", nil, true},
		{"exists-not", "attribute_exists(m.zz)", nil, false},
		{"exists-beyond-the-end", "attribute_exists(l[3])", nil, false},
		{"exists-null", "attribute_exists(#null)", nil, true},
		{"not-exists", "attribute_not_exists(absent)", nil, true},
		{"not-exists-not", "attribute_not_exists(l[0])", nil, false},
		{"type-number", "attribute_type(n, :v)", item{":v": "N"}, true},
		{"type-null", "attribute_type(#null, :v)", item{":v": "NULL"}, true},
		{"type-list", "attribute_type(l, :v)", item{":v": "L"}, true},
		{"type-set", "attribute_type(ss, :v)", item{":v": "SS"}, true},
		{"type-not", "attribute_type(n, :v)", item{":v": "S"}, false},
		{"type-absent", "attribute_type(absent, :v)", item{":v": "S"}, false},
		{"begins-with", "begins_with(s, :v)", item{":v": "hell"}, true},
		{"begins-with-not", "begins_with(s, :v)", item{":v": "world"}, false},
		{"begins-with-binary", "begins_with(b, :v)", item{":v": []byte{1, 2}}, true},
		{"begins-with-turned-round", "begins_with(:v, s)", item{":v": "hello world!"}, true},
		{"begins-with-absent", "begins_with(absent, :v)", item{":v": "x"}, false},
		{"contains-text", "contains(s, :v)", item{":v": "lo w"}, true},
		{"contains-text-not", "contains(s, :v)", item{":v": "x"}, false},
		{"contains-set", "contains(ss, :v)", item{":v": "p"}, true},
		{"contains-set-part", "contains(ss, :v)", item{":v": ""}, false},
		{"contains-number-set", "contains(ns, :v)", item{":v": num("2.0")}, true},
		{"contains-list", "contains(l, :v)", item{":v": "b"}, true},
		{"contains-list-map", "contains(m.l, :v)", item{":v": item{"y": "z"}}, true},
		{"contains-binary", "contains(b, :v)", item{":v": []byte{2, 3}}, true},
		{"contains-list-not", "contains(l, :v)", item{":v": 2}, false},
		{"contains-number", "contains(n, :v)", item{":v": 5}, false},
		{"size-text", "size(s) = :v", item{":v": 11}, true},
		{"size-binary", "size(b) = :v", item{":v": 3}, true},
		{"size-list", "size(l) = :v", item{":v": 3}, true},
		{"size-map", "size(m) = :v", item{":v": 3}, true},
		{"size-set", "size(ss) = :v", item{":v": 2}, true},
		{"size-number", "size(n) = :v", item{":v": 1}, false},
		{"size-absent", "size(absent) = :v", item{":v": 0}, false},
		{"size-and-text", "size(s) = :v", item{":v": "11"}, false},
		{"size-compared", "size(s) > n", nil, true},
		{"path", "m.l[0].y = :v", item{":v": "z"}, true},
		{"element", "l[1] = :v", item{":v": "b"}, true},
		{"path-into-text", "s.x = :v", item{":v": 1}, false},
		{"not", "NOT n = :v", item{":v": 6}, true},
		{"not-binds-tighter-than-and", "NOT n = :v AND n = :v", item{":v": 5}, false},
		{"and-binds-tighter-than-or", "n = :v OR n = :v AND n = :w", item{":v": 5, ":w": 6}, true},
		{"parentheses", "(n = :v OR n = :v) AND n = :w", item{":v": 5, ":w": 6}, false},
		{"words-in-lower-case", "n = :v and not n = :w or n in (:w)", item{":v": 5, ":w": 6}, true},
		{"no-spaces", "n=:v AND(s<>:v)", item{":v": 5}, true},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			f := f.on(t)
			names := named(row.condition, "#in", "in")
			if names == nil {
				names = named(row.condition, "#null", "null")
			}
			// The same item again: whether the condition holds is all that can be told afterwards.
			err := f.putIf(rich("k"), expressions{condition: row.condition, values: row.values, names: names})
			want := ""
			if !row.holds {
				want = conditionFailed
			}
			wantCode(t, err, want)
		})
	}
}

// Of an item that is not there no attribute exists.
func TestCondition_Absent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for condition, want := range map[string]string{
		"attribute_not_exists(id)":              "",
		"attribute_exists(id)":                  conditionFailed,
		"id = :v":                               conditionFailed,
		"id <> :v":                              "",
		"NOT id = :v":                           "",
		"size(id) > :v":                         conditionFailed,
		"attribute_not_exists(id) AND NOT a=:v": "",
	} {
		e := expressions{condition: condition}
		if strings.Contains(condition, ":v") {
			e.values = item{":v": 1}
		}
		if err := f.deleteIf(item{"id": "k"}, e); code(err) != want {
			t.Errorf("%s: %v, want %q", condition, err, want)
		}
	}
}
