package conformance

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// newOrders has a table of three partitions; that of "p" has the sort keys a#0 to a#4 and b#0.
func newOrders(t *testing.T) fixture {
	t.Helper()
	f := newFixtureOf(t, tableOf("id", "sk"))
	for i := range 5 {
		f.put(item{"id": "p", "sk": fmt.Sprintf("a#%d", 4-i), "n": 4 - i, "m": item{"k": i}})
	}
	f.put(item{"id": "p", "sk": "b#0", "n": 10}, item{"id": "other", "sk": "a#1", "n": 1}, item{"id": "P", "sk": "a#1", "n": 1})
	return f
}

// sortKeys are those of the items, in their order.
func sortKeys(items []attributes) string {
	keys := make([]string, len(items))
	for i, a := range items {
		if v, ok := a["sk"].(*types.AttributeValueMemberS); ok {
			keys[i] = v.Value
		}
	}
	return strings.Join(keys, " ")
}

func TestQuery_KeyCondition(t *testing.T) {
	t.Parallel()
	f := newOrders(t)
	rows := []struct {
		name, keys string
		values     item
		want       string
	}{
		{"partition", "id = :p", nil, "a#0 a#1 a#2 a#3 a#4 b#0"},
		{"equal", "id = :p AND sk = :a", item{":a": "a#2"}, "a#2"},
		{"equal-absent", "id = :p AND sk = :a", item{":a": "a#9"}, ""},
		{"less", "id = :p AND sk < :a", item{":a": "a#2"}, "a#0 a#1"},
		{"less-or-equal", "id = :p AND sk <= :a", item{":a": "a#2"}, "a#0 a#1 a#2"},
		{"greater", "id = :p AND sk > :a", item{":a": "a#3"}, "a#4 b#0"},
		{"greater-or-equal", "id = :p AND sk >= :a", item{":a": "a#4"}, "a#4 b#0"},
		{"between", "id = :p AND sk BETWEEN :a AND :b", item{":a": "a#1", ":b": "a#3"}, "a#1 a#2 a#3"},
		{"begins-with", "id = :p AND begins_with(sk, :a)", item{":a": "b"}, "b#0"},
		{"sort-key-first", "sk = :a AND id = :p", item{":a": "a#2"}, "a#2"},
		{"parentheses", "(id = :p) AND (sk = :a)", item{":a": "a#2"}, "a#2"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			values := with(item{":p": "p"}, row.values)
			for _, forward := range []bool{true, false} {
				out, err := f.client.Query(t.Context(), &dynamodb.QueryInput{
					TableName: &f.table, KeyConditionExpression: &row.keys, ExpressionAttributeValues: attributesOf(values), ScanIndexForward: &forward,
				})
				if err != nil {
					t.Fatal(err)
				}
				want := strings.Fields(row.want)
				if !forward {
					for i, j := 0, len(want)-1; i < j; i, j = i+1, j-1 {
						want[i], want[j] = want[j], want[i]
					}
				}
				if got := sortKeys(out.Items); got != strings.Join(want, " ") || int(out.Count) != len(want) {
					t.Errorf("forward %v: got %q, %d items, want %q", forward, got, out.Count, want)
				}
			}
		})
	}
}

func TestInvalid_Query(t *testing.T) {
	t.Parallel()
	f := newOrders(t)
	value := item{":p": "p", ":a": "a"}
	rows := []struct {
		name   string
		change func(in *dynamodb.QueryInput)
	}{
		{"no-partition-key", func(in *dynamodb.QueryInput) {
			in.KeyConditionExpression, in.ExpressionAttributeValues = aws.String("sk = :a"), attributesOf(without(value, ":p"))
		}},
		{"partition-key-less", func(in *dynamodb.QueryInput) { in.KeyConditionExpression = aws.String("id < :p AND sk = :a") }},
		{"or", func(in *dynamodb.QueryInput) { in.KeyConditionExpression = aws.String("id = :p OR sk = :a") }},
		{"not", func(in *dynamodb.QueryInput) { in.KeyConditionExpression = aws.String("id = :p AND NOT sk = :a") }},
		{"unequal", func(in *dynamodb.QueryInput) { in.KeyConditionExpression = aws.String("id = :p AND sk <> :a") }},
		{"in", func(in *dynamodb.QueryInput) { in.KeyConditionExpression = aws.String("id = :p AND sk IN (:a)") }},
		{"contains", func(in *dynamodb.QueryInput) { in.KeyConditionExpression = aws.String("id = :p AND contains(sk, :a)") }},
		{"other-attribute", func(in *dynamodb.QueryInput) { in.KeyConditionExpression = aws.String("id = :p AND n = :a") }},
		{"sort-key-twice", func(in *dynamodb.QueryInput) {
			in.KeyConditionExpression = aws.String("id = :p AND sk > :a AND sk < :a")
		}},
		{"other-type", func(in *dynamodb.QueryInput) { in.ExpressionAttributeValues = attributesOf(with(value, item{":a": 1})) }},
		{"empty-key", func(in *dynamodb.QueryInput) {
			in.ExpressionAttributeValues = attributesOf(with(value, item{":p": ""}))
		}},
		{"unused-value", func(in *dynamodb.QueryInput) {
			in.ExpressionAttributeValues = attributesOf(with(value, item{":b": 1}))
		}},
		{"filter-on-key", func(in *dynamodb.QueryInput) { in.FilterExpression = aws.String("sk > :a") }},
		{"filter-reserved-word", func(in *dynamodb.QueryInput) { in.FilterExpression = aws.String("status = :a") }},
		{"limit-zero", func(in *dynamodb.QueryInput) { in.Limit = aws.Int32(0) }},
		{"select-unknown", func(in *dynamodb.QueryInput) { in.Select = "SOME" }},
		{"count-with-projection", func(in *dynamodb.QueryInput) {
			in.Select, in.ProjectionExpression = types.SelectCount, aws.String("n")
		}},
		{"specific-without-projection", func(in *dynamodb.QueryInput) { in.Select = types.SelectSpecificAttributes }},
		{"start-in-other-partition", func(in *dynamodb.QueryInput) {
			in.ExclusiveStartKey = attributesOf(item{"id": "other", "sk": "a"})
		}},
		{"start-without-sort-key", func(in *dynamodb.QueryInput) { in.ExclusiveStartKey = attributesOf(item{"id": "p"}) }},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			in := &dynamodb.QueryInput{
				TableName: &f.table, KeyConditionExpression: aws.String("id = :p AND sk >= :a"), ExpressionAttributeValues: attributesOf(value),
			}
			row.change(in)
			_, err := f.client.Query(t.Context(), in)
			wantCode(t, err, invalid)
		})
	}
}

// Pages follow each other without a gap, whatever their limit and direction.
func TestQuery_Pages(t *testing.T) {
	t.Parallel()
	f := newOrders(t)
	for _, forward := range []bool{true, false} {
		t.Run(fmt.Sprintf("forward-%v", forward), func(t *testing.T) {
			pages := dynamodb.NewQueryPaginator(f.client, &dynamodb.QueryInput{
				TableName: &f.table, KeyConditionExpression: aws.String("id = :p"), ExpressionAttributeValues: attributesOf(item{":p": "p"}),
				Limit: aws.Int32(4), ScanIndexForward: &forward,
			})
			var got []string
			for pages.HasMorePages() && len(got) < 9 {
				page, err := pages.NextPage(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, sortKeys(page.Items))
			}
			want := "a#0 a#1 a#2 a#3|a#4 b#0"
			if !forward {
				want = "b#0 a#4 a#3 a#2|a#1 a#0"
			}
			if strings.Join(got, "|") != want {
				t.Errorf("got pages %q, want %q", got, want)
			}
		})
	}
	t.Run("start-key-need-not-exist", func(t *testing.T) {
		out, err := f.client.Query(t.Context(), &dynamodb.QueryInput{
			TableName: &f.table, KeyConditionExpression: aws.String("id = :p"), ExpressionAttributeValues: attributesOf(item{":p": "p"}),
			ExclusiveStartKey: attributesOf(item{"id": "p", "sk": "a#35"}),
		})
		if err != nil || sortKeys(out.Items) != "a#4 b#0" {
			t.Errorf("got %+v, %v", out, err)
		}
	})
}

// The limit counts what was looked at, not what the filter let through.
func TestQuery_Filter(t *testing.T) {
	t.Parallel()
	f := newOrders(t)
	query := func(t *testing.T, change func(in *dynamodb.QueryInput)) *dynamodb.QueryOutput {
		t.Helper()
		in := &dynamodb.QueryInput{
			TableName: &f.table, KeyConditionExpression: aws.String("id = :p"), FilterExpression: aws.String("n >= :n"),
			ExpressionAttributeValues: attributesOf(item{":p": "p", ":n": 3}),
		}
		change(in)
		out, err := f.client.Query(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	t.Run("counts", func(t *testing.T) {
		out := query(t, func(*dynamodb.QueryInput) {})
		if sortKeys(out.Items) != "a#3 a#4 b#0" || out.Count != 3 || out.ScannedCount != 6 || out.LastEvaluatedKey != nil {
			t.Errorf("got %s, %d of %d, last %s", sortKeys(out.Items), out.Count, out.ScannedCount, show(out.LastEvaluatedKey))
		}
	})
	t.Run("limit", func(t *testing.T) {
		out := query(t, func(in *dynamodb.QueryInput) { in.Limit = aws.Int32(4) })
		if sortKeys(out.Items) != "a#3" || out.Count != 1 || out.ScannedCount != 4 {
			t.Errorf("got %s, %d of %d", sortKeys(out.Items), out.Count, out.ScannedCount)
		}
		wantItem(t, "last", out.LastEvaluatedKey, item{"id": "p", "sk": "a#3"})
	})
	t.Run("nothing-on-the-page", func(t *testing.T) {
		out := query(t, func(in *dynamodb.QueryInput) { in.Limit = aws.Int32(1) })
		if out.Count != 0 || len(out.Items) != 0 || out.LastEvaluatedKey == nil {
			t.Errorf("got %d items, last %s", out.Count, show(out.LastEvaluatedKey))
		}
	})
	t.Run("count", func(t *testing.T) {
		out := query(t, func(in *dynamodb.QueryInput) { in.Select = types.SelectCount })
		if out.Items != nil || out.Count != 3 || out.ScannedCount != 6 {
			t.Errorf("got %d items, %d of %d", len(out.Items), out.Count, out.ScannedCount)
		}
	})
	t.Run("projection", func(t *testing.T) {
		out := query(t, func(in *dynamodb.QueryInput) { in.ProjectionExpression = aws.String("m.k") })
		want := []attributes{attributesOf(item{"m": item{"k": 1}}), attributesOf(item{"m": item{"k": 0}}), {}}
		if showAll(out.Items) != showAll(want) {
			t.Errorf("got %s\nwant %s", showAll(out.Items), showAll(want))
		}
	})
}

// Numbers sort by value, binary by unsigned bytes.
func TestQuery_Order(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		kind types.ScalarAttributeType
		keys list // as they sort
	}{
		"number": {types.ScalarAttributeTypeN, list{-100, -1, num("-0.5"), 0, num("0.001"), 2, 10, num("100000000000000000000")}},
		"binary": {types.ScalarAttributeTypeB, list{[]byte{0}, []byte{0, 0}, []byte{1}, []byte{127}, []byte{128}, []byte{255, 0}}},
		"text":   {types.ScalarAttributeTypeS, list{"10", "9", "Z", "a", "aa", "b", "é", "日", "😀"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := tableOf("id", "sk")
			in.AttributeDefinitions[1].AttributeType = row.kind
			f := newFixtureOf(t, in)
			for i := range row.keys {
				f.put(item{"id": "p", "sk": row.keys[(i*5+3)%len(row.keys)]}, item{"id": "p", "sk": row.keys[i]})
			}
			out, err := f.client.Query(t.Context(), &dynamodb.QueryInput{
				TableName: &f.table, KeyConditionExpression: aws.String("id = :p"), ExpressionAttributeValues: attributesOf(item{":p": "p"}),
			})
			if err != nil {
				t.Fatal(err)
			}
			want := make([]attributes, len(row.keys))
			for i, k := range row.keys {
				want[i] = attributesOf(item{"id": "p", "sk": k})
			}
			if showAll(out.Items) != showAll(want) {
				t.Errorf("got\n%s\nwant\n%s", showAll(out.Items), showAll(want))
			}
		})
	}
}

// A page ends with the item that makes it 1 MB.
func TestQuery_Megabyte(t *testing.T) {
	t.Parallel()
	f := newFixtureOf(t, tableOf("id", "sk"))
	for i := range 4 {
		f.put(with(sized("p", 400_000), item{"sk": fmt.Sprint(i)}))
	}
	query := func(start attributes) *dynamodb.QueryOutput {
		t.Helper()
		out, err := f.client.Query(t.Context(), &dynamodb.QueryInput{
			TableName: &f.table, KeyConditionExpression: aws.String("id = :p"), ExpressionAttributeValues: attributesOf(item{":p": "p"}),
			Select: types.SelectCount, ExclusiveStartKey: start,
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	first := query(nil)
	if first.Count < 2 || first.Count > 3 || first.LastEvaluatedKey == nil {
		t.Fatalf("first page of %d items, last %s", first.Count, show(first.LastEvaluatedKey))
	}
	second := query(first.LastEvaluatedKey)
	if second.Count != 4-first.Count || second.LastEvaluatedKey != nil {
		t.Errorf("second page of %d items, last %s", second.Count, show(second.LastEvaluatedKey))
	}
}
