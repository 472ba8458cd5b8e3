package conformance

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// A write is paid once for the table and once for every index that it changes; one that moves an entry twice.
func TestCapacity_Index(t *testing.T) {
	t.Parallel()
	f := newFixtureOf(t, indexed())
	rows := []struct {
		name                          string
		put                           item
		table, all, keys, some, local float64
	}{
		{"no-index", item{"secret": 1}, 1, 0, 0, 0, 0},
		{"sparse", item{"g": "x", "secret": 1}, 1, 1, 0, 0, 0},
		{"every-index", item{"g": "x", "h": "1", "secret": 1}, 1, 1, 1, 1, 1},
		{"nothing-changes", item{"g": "x", "h": "1", "secret": 1}, 1, 0, 0, 0, 0},
		{"shown-by-one", item{"g": "x", "h": "1", "secret": 2}, 1, 1, 0, 0, 0},
		{"moves", item{"g": "x", "h": "2", "secret": 2}, 1, 1, 2, 2, 2},
		{"leaves", item{"g": "x", "secret": 2}, 1, 1, 1, 1, 1},
	}
	for _, row := range rows { // each goes on from the one before
		t.Run(row.name, func(t *testing.T) {
			out, err := f.client.PutItem(t.Context(), &dynamodb.PutItemInput{
				TableName: &f.table, Item: attributesOf(with(row.put, item{"id": "k", "sk": "1"})), ReturnConsumedCapacity: types.ReturnConsumedCapacityIndexes,
			})
			if err != nil {
				t.Fatal(err)
			}
			c := out.ConsumedCapacity
			if c == nil || c.Table == nil {
				t.Fatal("no capacity of the table")
			}
			got := map[string]float64{"total": units(c), "table": aws.ToFloat64(c.Table.CapacityUnits)}
			for name, x := range c.GlobalSecondaryIndexes {
				got[name] = aws.ToFloat64(x.CapacityUnits)
			}
			for name, x := range c.LocalSecondaryIndexes {
				got[name] = aws.ToFloat64(x.CapacityUnits)
			}
			want := map[string]float64{
				"total": row.table + row.all + row.keys + row.some + row.local,
				"table": row.table, "all": row.all, "keys": row.keys, "some": row.some, "local": row.local,
			}
			for name, n := range want {
				if got[name] != n {
					t.Errorf("%s: %v units, want %v", name, got[name], n)
				}
			}
		})
	}
}
