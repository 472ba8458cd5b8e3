package conformance

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

func TestDelete(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put(item{"id": "k", "owner": "me"}, item{"id": "other"})
	mine := func(owner string) expressions {
		return expressions{condition: "#o = :o", names: map[string]string{"#o": "owner"}, values: item{":o": owner}}
	}
	key := item{"id": "k"}
	wantCode(t, f.deleteIf(key, mine("another")), conditionFailed)
	f.wantStored(key, item{"id": "k", "owner": "me"})
	wantCode(t, f.deleteIf(key, mine("me")), "")
	f.wantStored(key, nil)
	wantCode(t, f.deleteIf(key, expressions{}), "") // what is gone can be deleted
	wantCode(t, f.deleteIf(key, mine("me")), conditionFailed)
	f.wantStored(item{"id": "other"}, item{"id": "other"})
}

func TestGet_Absent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if got := f.get(item{"id": "absent"}); got != nil {
		t.Errorf("got %s, want no item", show(got))
	}
}

func TestGet_Projection(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put(rich("k"))
	rows := []struct {
		name, projection string
		want             item
	}{
		{"attributes", "n, s", item{"n": 5, "s": "hello world"}},
		{"key-alone", "id", item{"id": "k"}},
		{"absent", "absent", item{}},
		{"absent-too", "n, absent, m.absent, l[9]", item{"n": 5}},
		{"member", "m.#in.x, m.k", item{"m": item{"in": item{"x": 1}, "k": "v"}}},
		{"element", "l[1]", item{"l": list{"b"}}},
		{"elements-close-up", "l[2], l[0]", item{"l": list{"a", "c"}}},
		{"below-element", "m.l[0].y", item{"m": item{"l": list{item{"y": "z"}}}}},
		{"into-text", "s.x", item{}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			out, err := f.client.GetItem(t.Context(), &dynamodb.GetItemInput{
				TableName:                &f.table,
				Key:                      attributesOf(item{"id": "k"}),
				ProjectionExpression:     &row.projection,
				ExpressionAttributeNames: named(row.projection, "#in", "in"),
			})
			if err != nil {
				t.Fatal(err)
			}
			wantItem(t, "projected", out.Item, row.want)
		})
	}
}

func TestInvalid_Projection(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	rows := []struct {
		name, projection string
		names            map[string]string
	}{
		{"empty", "", nil},
		{"reserved-word", "status", nil},
		{"undefined-name", "#a", nil},
		{"unused-name", "n", map[string]string{"#a": "a"}},
		{"overlap", "m, m.k", nil},
		{"same-twice", "n, n", nil},
		{"constant", ":v", nil},
		{"comma-at-the-end", "n,", nil},
		{"no-comma", "n s", nil},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, err := f.client.GetItem(t.Context(), &dynamodb.GetItemInput{
				TableName:                &f.table,
				Key:                      attributesOf(item{"id": "k"}),
				ProjectionExpression:     &row.projection,
				ExpressionAttributeNames: row.names,
			})
			wantCode(t, err, invalid)
		})
	}
}

// A key has the table's key attributes, of their types, and nothing else.
func TestInvalid_Key(t *testing.T) {
	t.Parallel()
	f := newFixtureOf(t, tableOf("id", "sk"))
	rows := []struct {
		name string
		key  item
	}{
		{"no-sort-key", item{"id": "k"}},
		{"no-partition-key", item{"sk": "k"}},
		{"more", item{"id": "k", "sk": "k", "n": 1}},
		{"other-name", item{"id": "k", "SK": "k"}},
		{"other-type", item{"id": "k", "sk": 1}},
		{"null", item{"id": nil, "sk": "k"}},
		{"empty", item{"id": "", "sk": "k"}},
		{"empty-sort-key", item{"id": "k", "sk": ""}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			f := f.on(t)
			_, err := f.client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &f.table, Key: attributesOf(row.key)})
			wantCode(t, err, invalid)
			_, err = f.updateIf(row.key, expressions{})
			wantCode(t, err, invalid)
			wantCode(t, f.deleteIf(row.key, expressions{}), invalid)
			if row.name != "more" { // which makes a good item
				wantCode(t, f.putIf(row.key, expressions{}), invalid)
			}
		})
	}
}
