package conformance

import "testing"

// rich is an item with something of everything in it.
func rich(id string) item {
	return item{
		"id": id, "n": 5, "s": "hello world", "b": []byte{1, 2, 3}, "yes": true, "null": nil,
		"l":  list{"a", "b", "c"},
		"m":  item{"in": item{"x": 1}, "l": list{item{"y": "z"}}, "k": "v"},
		"ss": texts{"p", "q"}, "ns": nums{"1", "2"}, "bs": bins{{1}, {2}},
	}
}

func TestUpdate_Expressions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	rows := []struct {
		name, update string
		values       item
		want         item // over the item
		gone         []string
	}{
		{name: "set", update: "SET fresh = :v", values: item{":v": "x"}, want: item{"fresh": "x"}},
		{name: "set-over", update: "SET s = :v", values: item{":v": 1}, want: item{"s": 1}},
		{name: "set-several", update: "SET a1 = :v, a2 = :v", values: item{":v": 1}, want: item{"a1": 1, "a2": 1}},
		{name: "set-from-attribute", update: "SET copied = m", want: item{"copied": rich("")["m"]}},
		{name: "set-sees-old-values", update: "SET n = s, s = n", want: item{"n": "hello world", "s": 5}},
		{name: "lower-case", update: "set a1 = :v remove s", values: item{":v": 1}, want: item{"a1": 1}, gone: []string{"s"}},
		{name: "plus", update: "SET n = n + :v", values: item{":v": 2}, want: item{"n": 7}},
		{name: "minus", update: "SET n = n - :v", values: item{":v": 7}, want: item{"n": -2}},
		{name: "minus-turned-round", update: "SET n = :v - n", values: item{":v": 7}, want: item{"n": 2}},
		{name: "plus-paths", update: "SET total1 = n + m.#in.x", want: item{"total1": 6}},
		{name: "if-not-exists-absent", update: "SET c = if_not_exists(c, :v)", values: item{":v": 1}, want: item{"c": 1}},
		{name: "if-not-exists-present", update: "SET n = if_not_exists(n, :v)", values: item{":v": 1}},
		{name: "if-not-exists-other", update: "SET c = if_not_exists(n, :v)", values: item{":v": 1}, want: item{"c": 5}},
		{name: "counter", update: "SET c = if_not_exists(c, :z) + :v", values: item{":z": 0, ":v": 3}, want: item{"c": 3}},
		{name: "append", update: "SET l = list_append(l, :v)", values: item{":v": list{"d"}}, want: item{"l": list{"a", "b", "c", "d"}}},
		{name: "prepend", update: "SET l = list_append(:v, l)", values: item{":v": list{"d"}}, want: item{"l": list{"d", "a", "b", "c"}}},
		{
			name: "append-to-absent", update: "SET l2 = list_append(if_not_exists(l2, :none), :v)",
			values: item{":none": list{}, ":v": list{1}}, want: item{"l2": list{1}},
		},
		{
			name: "set-member", update: "SET m.#in.x = :v, m.#in.y = :v", values: item{":v": 9},
			want: item{"m": item{"in": item{"x": 9, "y": 9}, "l": list{item{"y": "z"}}, "k": "v"}},
		},
		{
			name: "set-below-element", update: "SET m.l[0].y = :v", values: item{":v": 9},
			want: item{"m": item{"in": item{"x": 1}, "l": list{item{"y": 9}}, "k": "v"}},
		},
		{name: "set-element", update: "SET l[1] = :v", values: item{":v": 9}, want: item{"l": list{"a", 9, "c"}}},
		{name: "set-beyond-the-end", update: "SET l[10] = :v", values: item{":v": 9}, want: item{"l": list{"a", "b", "c", 9}}},
		{name: "remove", update: "REMOVE s, n", gone: []string{"s", "n"}},
		{name: "remove-absent", update: "REMOVE nothing"},
		{
			name: "remove-member", update: "REMOVE m.#in.x, m.k",
			want: item{"m": item{"in": item{}, "l": list{item{"y": "z"}}}},
		},
		{name: "remove-element", update: "REMOVE l[0]", want: item{"l": list{"b", "c"}}},
		{name: "remove-elements", update: "REMOVE l[0], l[1]", want: item{"l": list{"c"}}},
		{name: "remove-element-absent", update: "REMOVE l[10]"},
		{name: "add", update: "ADD n :v", values: item{":v": 2}, want: item{"n": 7}},
		{name: "add-negative", update: "ADD n :v", values: item{":v": -7}, want: item{"n": -2}},
		{name: "add-absent", update: "ADD c :v", values: item{":v": 2}, want: item{"c": 2}},
		{name: "add-member", update: "ADD m.#in.x :v", values: item{":v": 2}, want: item{"m": item{"in": item{"x": 3}, "l": list{item{"y": "z"}}, "k": "v"}}},
		{name: "add-to-set", update: "ADD ss :v", values: item{":v": texts{"q", "r"}}, want: item{"ss": texts{"p", "q", "r"}}},
		{name: "add-to-number-set", update: "ADD ns :v", values: item{":v": nums{"2.0", "3"}}, want: item{"ns": nums{"1", "2", "3"}}},
		{name: "add-absent-set", update: "ADD s2 :v", values: item{":v": texts{"x"}}, want: item{"s2": texts{"x"}}},
		{name: "delete", update: "DELETE ss :v", values: item{":v": texts{"q", "other"}}, want: item{"ss": texts{"p"}}},
		{name: "delete-binary", update: "DELETE bs :v", values: item{":v": bins{{1}}}, want: item{"bs": bins{{2}}}},
		{name: "delete-all", update: "DELETE ss :v", values: item{":v": texts{"p", "q"}}, gone: []string{"ss"}},
		{name: "delete-absent", update: "DELETE s2 :v", values: item{":v": texts{"p"}}},
		{
			name: "all-sections", update: "ADD n :one REMOVE s DELETE ss :p SET a = :one", values: item{":one": 1, ":p": texts{"p"}},
			want: item{"n": 6, "ss": texts{"q"}, "a": 1}, gone: []string{"s"},
		},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			f, key := f.on(t), item{"id": row.name}
			f.put(rich(row.name))
			got, err := f.updateIf(key, expressions{update: row.update, values: row.values, names: named(row.update, "#in", "in")})
			wantCode(t, err, "")
			want := without(with(rich(row.name), row.want), row.gone...)
			wantItem(t, "returned", got, want)
			f.wantStored(key, want)
		})
	}
}

// A placeholder is one name, whatever is in it; and a word is none where it is no whole attribute.
func TestUpdate_Names(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	got, err := f.updateIf(item{"id": "k"}, expressions{
		update: "SET #dotted = :v, #spaced = :v, #reserved = :v, #umlaut = :v, statuses = :v",
		names:  map[string]string{"#dotted": "a.b[0]", "#spaced": "a b", "#reserved": "status", "#umlaut": "größe"},
		values: item{":v": 1},
	})
	wantCode(t, err, "")
	wantItem(t, "returned", got, item{"id": "k", "a.b[0]": 1, "a b": 1, "status": 1, "größe": 1, "statuses": 1})
}

// An update makes the item that is not there, but for one that only removes: it is taken, whatever its paths are.
func TestUpdate_Absent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	rows := []struct {
		name string
		e    expressions
		want item // nil: there is none
	}{
		{"set", expressions{update: "SET a = :v", values: item{":v": 1}}, item{"a": 1}},
		{"add", expressions{update: "ADD a :v", values: item{":v": 1}}, item{"a": 1}},
		{"condition-holds", expressions{update: "SET a = :v", values: item{":v": 1}, condition: "attribute_not_exists(id)"}, item{"a": 1}},
		{"set-and-remove", expressions{update: "SET a = :v REMOVE b", values: item{":v": 1}}, item{"a": 1}},
		{"remove", expressions{update: "REMOVE a"}, nil},
		{"remove-several", expressions{update: "REMOVE a, b"}, nil},
		{"remove-member", expressions{update: "REMOVE a.b"}, nil},
		{"remove-element", expressions{update: "REMOVE a[0]"}, nil},
		{"remove-where-absent", expressions{update: "REMOVE a", condition: "attribute_not_exists(id)"}, nil},
		{"nothing", expressions{}, item{}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			f, key := f.on(t), item{"id": row.name}
			got, err := f.updateIf(key, row.e)
			wantCode(t, err, "")
			want := row.want
			if want != nil {
				want = with(key, want)
			}
			wantItem(t, "returned", got, want)
			f.wantStored(key, want)
		})
	}
	t.Run("remove-where-present", func(t *testing.T) {
		f, key := f.on(t), item{"id": "remove-where-present"}
		_, err := f.updateIf(key, expressions{update: "REMOVE a", condition: "attribute_exists(id)"})
		wantCode(t, err, conditionFailed)
		f.wantStored(key, nil)
	})
}

// What depends on the item is refused when the item is known, and changes nothing.
func TestUpdate_RefusedByTheItem(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	rows := []struct {
		name, update string
		values       item
	}{
		{"plus-absent", "SET n = absent + :v", item{":v": 1}},
		{"plus-text", "SET n = s + :v", item{":v": 1}},
		{"copy-absent", "SET n = absent", nil},
		{"append-to-text", "SET s = list_append(s, :v)", item{":v": list{}}},
		{"parent-absent", "SET absent.x = :v", item{":v": 1}},
		{"parent-is-text", "SET s.x = :v", item{":v": 1}},
		{"element-of-map", "SET m[0] = :v", item{":v": 1}},
		{"remove-below-absent", "REMOVE absent.x", nil},
		{"add-to-text", "ADD s :v", item{":v": 1}},
		{"add-other-set", "ADD ss :v", item{":v": nums{"1"}}},
		{"delete-from-text", "DELETE s :v", item{":v": texts{"x"}}},
		{"one-of-two", "SET ok = :v, absent.x = :v", item{":v": 1}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			f, key := f.on(t), item{"id": row.name}
			f.put(rich(row.name))
			_, err := f.updateIf(key, expressions{update: row.update, values: row.values})
			wantCode(t, err, invalid)
			f.wantStored(key, rich(row.name))
		})
	}
}
