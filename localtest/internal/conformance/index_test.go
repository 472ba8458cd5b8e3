package conformance

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// global describes an index of its own keys, and local one that shares the table's partition key.

func global(name string, projection types.Projection, keys ...string) types.GlobalSecondaryIndex {
	return types.GlobalSecondaryIndex{IndexName: &name, KeySchema: tableOf(keys...).KeySchema, Projection: &projection}
}

func local(name string, projection types.Projection, keys ...string) types.LocalSecondaryIndex {
	return types.LocalSecondaryIndex{IndexName: &name, KeySchema: tableOf(keys...).KeySchema, Projection: &projection}
}

var (
	everything = types.Projection{ProjectionType: types.ProjectionTypeAll}
	keysOnly   = types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}
	included   = types.Projection{ProjectionType: types.ProjectionTypeInclude, NonKeyAttributes: []string{"shown"}}
)

// indexed is a table of id and sk with an index of each projection by g and h, and a local one by h.
func indexed() *dynamodb.CreateTableInput {
	in := tableOf("id", "sk")
	in.AttributeDefinitions = tableOf("id", "sk").AttributeDefinitions
	for _, name := range []string{"g", "h"} {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: &name, AttributeType: types.ScalarAttributeTypeS})
	}
	in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{
		global("all", everything, "g"), global("keys", keysOnly, "g", "h"), global("some", included, "g", "h"),
	}
	in.LocalSecondaryIndexes = []types.LocalSecondaryIndex{local("local", keysOnly, "id", "h")}
	return in
}

// ask is a query of the index for all entries of the partition.
func (f fixture) ask(index, partitionKey, partition string) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName: &f.table, IndexName: &index, KeyConditionExpression: aws.String(partitionKey + " = :p"),
		ExpressionAttributeValues: attributesOf(item{":p": partition}),
	}
}

// wantEntries checks what the query finds: in the end, since a global index follows its table a little later.
func (f fixture) wantEntries(in *dynamodb.QueryInput, want ...item) {
	f.Helper()
	expected := make([]attributes, len(want))
	for i, w := range want {
		expected[i] = attributesOf(w)
	}
	end := time.NewTimer(2 * time.Second)
	defer end.Stop()
	for {
		out, err := f.client.Query(f.Context(), in)
		if err != nil {
			f.Fatal(err)
		}
		if showAll(out.Items) == showAll(expected) && int(out.Count) == len(want) {
			return
		}
		select {
		case <-end.C:
			f.Fatalf("index %s has %d entries\n%s\nwant\n%s", *in.IndexName, out.Count, showAll(out.Items), showAll(expected))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func TestIndex_Describe(t *testing.T) {
	t.Parallel()
	f := newFixtureOf(t, indexed())
	out, err := f.client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &f.table})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	describe := func(keys []types.KeySchemaElement, p *types.Projection) string {
		text := ""
		for _, k := range keys {
			text += *k.AttributeName + " " + string(k.KeyType) + " "
		}
		return text + string(p.ProjectionType) + fmt.Sprint(p.NonKeyAttributes)
	}
	for _, x := range out.Table.GlobalSecondaryIndexes {
		got[*x.IndexName] = describe(x.KeySchema, x.Projection) + " " + string(x.IndexStatus)
	}
	for _, x := range out.Table.LocalSecondaryIndexes {
		got[*x.IndexName] = describe(x.KeySchema, x.Projection)
	}
	want := map[string]string{
		"all": "g HASH ALL[] ACTIVE", "keys": "g HASH h RANGE KEYS_ONLY[] ACTIVE", "some": "g HASH h RANGE INCLUDE[shown] ACTIVE",
		"local": "id HASH h RANGE KEYS_ONLY[]",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

// An index has an entry of each item that has the index's keys, and shows what it was told to.
func TestIndex_Projection(t *testing.T) {
	t.Parallel()
	f := newFixtureOf(t, indexed())
	full := item{"id": "a", "sk": "1", "g": "x", "h": "2", "shown": 1, "secret": 2}
	half := item{"id": "b", "sk": "1", "g": "x", "shown": 1}
	f.put(full, item{"id": "c", "sk": "1", "h": "2", "shown": 1}, item{"id": "d", "sk": "1", "g": "other", "h": "1"})
	keys := without(full, "shown", "secret")
	for name, row := range map[string]struct {
		in   *dynamodb.QueryInput
		want item
	}{
		"all":      {f.ask("all", "g", "x"), full},
		"keys":     {f.ask("keys", "g", "x"), keys},
		"included": {f.ask("some", "g", "x"), without(full, "secret")},
		"local":    {f.ask("local", "id", "a"), without(keys, "g")},
	} {
		t.Run(name, func(t *testing.T) { f.on(t).wantEntries(row.in, row.want) })
	}
	t.Run("sparse", func(t *testing.T) {
		f := f.on(t)
		f.put(half)
		f.wantEntries(f.ask("keys", "g", "x"), keys) // half has no h
		all := f.ask("all", "g", "x")
		all.FilterExpression, all.ExpressionAttributeValues[":b"] = aws.String("id = :b"), value("b")
		f.wantEntries(all, half)
	})
	t.Run("expression", func(t *testing.T) {
		in := f.ask("all", "g", "other")
		in.ProjectionExpression = aws.String("h")
		f.on(t).wantEntries(in, item{"h": "1"})
	})
	t.Run("local-fetches", func(t *testing.T) {
		in := f.ask("local", "id", "a")
		in.ProjectionExpression = aws.String("h, secret")
		f.on(t).wantEntries(in, item{"h": "2", "secret": 2})
	})
	t.Run("scan", func(t *testing.T) {
		out, err := f.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &f.table, IndexName: aws.String("some")})
		if err != nil || out.Count != 2 {
			t.Errorf("%+v, %v, want 2 entries", out, err)
		}
	})
}

// An index follows every way of writing.
func TestIndex_Follows(t *testing.T) {
	t.Parallel()
	f := newFixtureOf(t, indexed())
	key := item{"id": "a", "sk": "1"}
	entry := func(g, h string) item { return item{"id": "a", "sk": "1", "g": g, "h": h} }
	steps := []struct {
		name  string
		write func() error
		at    string // the partition it is in then; "" none
		h     string
	}{
		{"put", func() error { return f.putIf(entry("x", "1"), expressions{}) }, "x", "1"},
		{"sort-key-changes", func() error {
			_, err := f.updateIf(key, expressions{update: "SET h = :h", values: item{":h": "2"}})
			return err
		}, "x", "2"},
		{"partition-changes", func() error {
			_, err := f.updateIf(key, expressions{update: "SET g = :g", values: item{":g": "y"}})
			return err
		}, "y", "2"},
		{"key-removed", func() error {
			_, err := f.updateIf(key, expressions{update: "REMOVE h"})
			return err
		}, "", ""},
		{"batch-put", func() error { return f.batchWrite(putRequest(entry("x", "3"))) }, "x", "3"},
		{"refused", func() error {
			if err := f.putIf(entry("y", "4"), expressions{condition: "attribute_not_exists(id)"}); code(err) != conditionFailed {
				return fmt.Errorf("got %w, want %s", err, conditionFailed)
			}
			return nil
		}, "x", "3"},
		{"deleted", func() error { return f.deleteIf(key, expressions{}) }, "", ""},
	}
	for _, step := range steps { // each goes on from the one before
		if err := step.write(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		for _, partition := range []string{"x", "y"} {
			if partition == step.at {
				f.wantEntries(f.ask("keys", "g", partition), entry(partition, step.h))
			} else {
				f.wantEntries(f.ask("keys", "g", partition))
			}
		}
	}
}

// Entries with equal keys stand side by side, and pages lead past all of them.
func TestIndex_Pages(t *testing.T) {
	t.Parallel()
	f := newFixtureOf(t, indexed())
	for i := range 9 {
		f.put(item{"id": fmt.Sprint(i), "sk": "1", "g": "x", "h": fmt.Sprint(i % 3)})
	}
	for _, forward := range []bool{true, false} {
		t.Run(fmt.Sprintf("forward-%v", forward), func(t *testing.T) {
			in := f.ask("keys", "g", "x")
			in.Limit, in.ScanIndexForward = aws.Int32(2), &forward
			ids, order := map[string]int{}, ""
			pages := dynamodb.NewQueryPaginator(f.client, in)
			for pages.HasMorePages() && len(order) <= 9 {
				page, err := pages.NextPage(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, a := range page.Items {
					ids[showValue(a["id"])]++
					order += showValue(a["h"])[1:2]
				}
			}
			wantOnceEach(t, ids, 9)
			if want := map[bool]string{true: "000111222", false: "222111000"}[forward]; order != want {
				t.Errorf("order %s, want %s", order, want)
			}
		})
	}
}
