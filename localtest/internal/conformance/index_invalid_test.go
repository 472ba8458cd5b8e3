package conformance

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func TestInvalid_Index(t *testing.T) {
	t.Parallel()
	f := newFixtureOf(t, indexed())
	rows := []struct {
		name  string
		query func(in *dynamodb.QueryInput)
	}{
		{"unknown", func(in *dynamodb.QueryInput) { in.IndexName = aws.String("unknown") }},
		{"global-consistent", func(in *dynamodb.QueryInput) { in.ConsistentRead = aws.Bool(true) }},
		{"table-key", func(in *dynamodb.QueryInput) { in.KeyConditionExpression = aws.String("id = :p") }},
		{"filter-on-key", func(in *dynamodb.QueryInput) { in.FilterExpression = aws.String("h = :p") }},
		{"global-not-projected", func(in *dynamodb.QueryInput) { in.Select = types.SelectAllAttributes }},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			in := f.ask("keys", "g", "x")
			row.query(in)
			_, err := f.client.Query(t.Context(), in)
			wantCode(t, err, invalid)
		})
	}
	t.Run("key-type", func(t *testing.T) {
		wantCode(t, f.on(t).putIf(item{"id": "k", "sk": "1", "g": 1}, expressions{}), invalid)
	})
	t.Run("key-empty", func(t *testing.T) {
		wantCode(t, f.on(t).putIf(item{"id": "k", "sk": "1", "g": ""}, expressions{}), invalid)
	})
	t.Run("key-type-updated", func(t *testing.T) {
		_, err := f.on(t).updateIf(item{"id": "k", "sk": "1"}, expressions{update: "SET g = :v", values: item{":v": 1}})
		wantCode(t, err, invalid)
	})
}

func TestInvalid_IndexedTable(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	rows := []struct {
		name   string
		change func(in *dynamodb.CreateTableInput)
	}{
		{"same-name-twice", func(in *dynamodb.CreateTableInput) { in.GlobalSecondaryIndexes[1].IndexName = aws.String("all") }},
		{"key-undefined", func(in *dynamodb.CreateTableInput) {
			in.GlobalSecondaryIndexes[0].KeySchema[0].AttributeName = aws.String("undefined")
		}},
		{"definition-unused", func(in *dynamodb.CreateTableInput) {
			in.GlobalSecondaryIndexes, in.LocalSecondaryIndexes = in.GlobalSecondaryIndexes[:1], nil
		}},
		{"include-nothing", func(in *dynamodb.CreateTableInput) { in.GlobalSecondaryIndexes[2].Projection.NonKeyAttributes = nil }},
		{"all-and-names", func(in *dynamodb.CreateTableInput) {
			in.GlobalSecondaryIndexes[0].Projection.NonKeyAttributes = []string{"shown"}
		}},
		{"local-other-partition", func(in *dynamodb.CreateTableInput) {
			in.LocalSecondaryIndexes[0].KeySchema[0].AttributeName = aws.String("g")
		}},
		{"local-without-sort-key", func(in *dynamodb.CreateTableInput) {
			in.LocalSecondaryIndexes[0].KeySchema = in.LocalSecondaryIndexes[0].KeySchema[:1]
		}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			in := indexed()
			in.TableName = aws.String(f.table + "." + row.name)
			row.change(in)
			_, err := f.client.CreateTable(t.Context(), in)
			wantCode(t, err, invalid)
			if err == nil {
				_, _ = f.client.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: in.TableName})
			}
		})
	}
}
