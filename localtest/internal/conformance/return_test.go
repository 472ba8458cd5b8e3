package conformance

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func TestReturnValues_Update(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	before := item{"n": 1, "s": "x", "m": item{"a": 1, "b": 2}, "l": list{"a", "b"}}
	rows := []struct {
		name, update string
		ask          types.ReturnValue
		values       item
		absent       bool // there was no item
		want         item // less the key of ALL_OLD and ALL_NEW
	}{
		{name: "default", update: "SET n = :v", values: item{":v": 2}},
		{name: "none", ask: types.ReturnValueNone, update: "SET n = :v", values: item{":v": 2}},
		{name: "all-old", ask: types.ReturnValueAllOld, update: "SET n = :v", values: item{":v": 2}, want: before},
		{name: "all-new", ask: types.ReturnValueAllNew, update: "SET n = :v", values: item{":v": 2}, want: with(before, item{"n": 2})},
		{name: "updated-old", ask: types.ReturnValueUpdatedOld, update: "SET n = :v", values: item{":v": 2}, want: item{"n": 1}},
		{name: "updated-new", ask: types.ReturnValueUpdatedNew, update: "SET n = :v", values: item{":v": 2}, want: item{"n": 2}},
		{name: "updated-new-same", ask: types.ReturnValueUpdatedNew, update: "SET n = n", want: item{"n": 1}},
		{name: "updated-old-added", ask: types.ReturnValueUpdatedOld, update: "SET c = :v", values: item{":v": 2}},
		{name: "updated-new-removed", ask: types.ReturnValueUpdatedNew, update: "REMOVE n"},
		{name: "updated-old-removed", ask: types.ReturnValueUpdatedOld, update: "REMOVE n", want: item{"n": 1}},
		{name: "updated-new-member", ask: types.ReturnValueUpdatedNew, update: "SET m.a = :v", values: item{":v": 2}, want: item{"m": item{"a": 2}}},
		{name: "updated-old-member", ask: types.ReturnValueUpdatedOld, update: "SET m.a = :v", values: item{":v": 2}, want: item{"m": item{"a": 1}}},
		{name: "updated-new-element", ask: types.ReturnValueUpdatedNew, update: "SET l[1] = :v", values: item{":v": 2}, want: item{"l": list{2}}},
		{name: "absent-all-old", ask: types.ReturnValueAllOld, absent: true, update: "SET n = :v", values: item{":v": 2}},
		{name: "absent-all-new", ask: types.ReturnValueAllNew, absent: true, update: "SET n = :v", values: item{":v": 2}, want: item{"n": 2}},
		{name: "absent-updated-old", ask: types.ReturnValueUpdatedOld, absent: true, update: "SET n = :v", values: item{":v": 2}},
		{name: "absent-updated-old-removed", ask: types.ReturnValueUpdatedOld, absent: true, update: "REMOVE n"},
		{name: "absent-updated-new-removed", ask: types.ReturnValueUpdatedNew, absent: true, update: "REMOVE m.a"},
		{name: "absent-updated-new", ask: types.ReturnValueUpdatedNew, absent: true, update: "SET n = :v", values: item{":v": 2}, want: item{"n": 2}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			f, key := f.on(t), item{"id": row.name}
			if !row.absent {
				f.put(with(before, key))
			}
			out, err := f.client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
				TableName:                 &f.table,
				Key:                       attributesOf(key),
				UpdateExpression:          &row.update,
				ExpressionAttributeValues: attributesOf(row.values),
				ReturnValues:              row.ask,
			})
			if err != nil {
				t.Fatal(err)
			}
			want := row.want
			if want != nil && (row.ask == types.ReturnValueAllOld || row.ask == types.ReturnValueAllNew) {
				want = with(want, key)
			}
			wantItem(t, "returned", out.Attributes, want)
		})
	}
}

func TestReturnValues_PutAndDelete(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	old := item{"id": "k", "n": 1}
	ask := func(t *testing.T, r types.ReturnValue) (put, deleted attributes) {
		t.Helper()
		f := f.on(t)
		f.put(old)
		p, err := f.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &f.table, Item: attributesOf(item{"id": "k", "n": 2}), ReturnValues: r})
		if err != nil {
			t.Fatal(err)
		}
		f.put(old)
		d, err := f.client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &f.table, Key: attributesOf(item{"id": "k"}), ReturnValues: r})
		if err != nil {
			t.Fatal(err)
		}
		return p.Attributes, d.Attributes
	}
	for name, r := range map[string]types.ReturnValue{"default": "", "none": types.ReturnValueNone} {
		t.Run(name, func(t *testing.T) {
			put, deleted := ask(t, r)
			wantItem(t, "put", put, nil)
			wantItem(t, "deleted", deleted, nil)
		})
	}
	t.Run("all-old", func(t *testing.T) {
		put, deleted := ask(t, types.ReturnValueAllOld)
		wantItem(t, "put", put, old)
		wantItem(t, "deleted", deleted, old)
	})
	t.Run("all-old-absent", func(t *testing.T) {
		out, err := f.client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &f.table, Key: attributesOf(item{"id": "absent"}), ReturnValues: types.ReturnValueAllOld})
		if err != nil {
			t.Fatal(err)
		}
		wantItem(t, "deleted", out.Attributes, nil)
	})
}

// Only an update has new values to tell of.
func TestReturnValues_Refused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for name, r := range map[string]types.ReturnValue{
		"all-new": types.ReturnValueAllNew, "updated-old": types.ReturnValueUpdatedOld, "updated-new": types.ReturnValueUpdatedNew, "unknown": "EVERYTHING",
	} {
		t.Run(name, func(t *testing.T) {
			f := f.on(t)
			_, err := f.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &f.table, Item: attributesOf(item{"id": "k"}), ReturnValues: r})
			wantCode(t, err, invalid)
			_, err = f.client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &f.table, Key: attributesOf(item{"id": "k"}), ReturnValues: r})
			wantCode(t, err, invalid)
			f.wantStored(item{"id": "k"}, nil)
		})
	}
}
