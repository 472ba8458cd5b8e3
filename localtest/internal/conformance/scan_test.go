package conformance

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// newPeople has a table of 20 items.
func newPeople(t *testing.T) fixture {
	t.Helper()
	f := newFixture(t)
	for i := range 20 {
		f.put(item{"id": fmt.Sprintf("k%d", i), "n": i})
	}
	return f
}

// scanAll collects the ids of all pages; each is wanted once.
func (f fixture) scanAll(ids map[string]int, in dynamodb.ScanInput) {
	f.Helper()
	in.TableName = &f.table
	pages := dynamodb.NewScanPaginator(f.client, &in)
	for n := 0; pages.HasMorePages(); n++ {
		if n > 1000 {
			f.Fatal("pages without end")
		}
		page, err := pages.NextPage(f.Context())
		if err != nil {
			f.Fatal(err)
		}
		if in.Limit != nil && page.ScannedCount > *in.Limit {
			f.Errorf("a page over %d items, limit %d", page.ScannedCount, *in.Limit)
		}
		for _, a := range page.Items {
			ids[showValue(a["id"])]++
		}
	}
}

func wantOnceEach(t *testing.T, ids map[string]int, n int) {
	t.Helper()
	if len(ids) != n {
		t.Errorf("%d items, want %d", len(ids), n)
	}
	for id, times := range ids {
		if times != 1 {
			t.Errorf("%s came %d times", id, times)
		}
	}
}

func TestScan_Pages(t *testing.T) {
	t.Parallel()
	f := newPeople(t)
	for _, limit := range []int32{1, 7, 20, 100} {
		t.Run(fmt.Sprintf("limit-%d", limit), func(t *testing.T) {
			ids := map[string]int{}
			f.on(t).scanAll(ids, dynamodb.ScanInput{Limit: &limit})
			wantOnceEach(t, ids, 20)
		})
	}
}

// Every item is in one segment, and paging stays in it.
func TestScan_Segments(t *testing.T) {
	t.Parallel()
	f := newPeople(t)
	for _, segments := range []int32{1, 3, 64} {
		t.Run(fmt.Sprintf("of-%d", segments), func(t *testing.T) {
			ids := map[string]int{}
			for segment := range segments {
				f.on(t).scanAll(ids, dynamodb.ScanInput{Segment: &segment, TotalSegments: &segments, Limit: aws.Int32(2)})
			}
			wantOnceEach(t, ids, 20)
		})
	}
}

func TestScan_Filter(t *testing.T) {
	t.Parallel()
	f := newPeople(t)
	in := &dynamodb.ScanInput{
		TableName: &f.table, FilterExpression: aws.String("n >= :n AND begins_with(id, :k)"), ProjectionExpression: aws.String("n"),
		ExpressionAttributeValues: attributesOf(item{":n": 18, ":k": "k"}),
	}
	out, err := f.client.Scan(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if out.Count != 2 || out.ScannedCount != 20 || len(out.Items) != 2 || len(out.Items[0]) != 1 {
		t.Errorf("%d of %d: %s", out.Count, out.ScannedCount, showAll(out.Items))
	}
	in.ProjectionExpression, in.Select = nil, types.SelectCount
	out, err = f.client.Scan(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if out.Count != 2 || out.ScannedCount != 20 || out.Items != nil {
		t.Errorf("%d of %d, %d items", out.Count, out.ScannedCount, len(out.Items))
	}
}

func TestInvalid_Scan(t *testing.T) {
	t.Parallel()
	f := newPeople(t)
	rows := []struct {
		name string
		in   dynamodb.ScanInput
	}{
		{"segment-alone", dynamodb.ScanInput{Segment: aws.Int32(0)}},
		{"segments-alone", dynamodb.ScanInput{TotalSegments: aws.Int32(2)}},
		{"segment-too-large", dynamodb.ScanInput{Segment: aws.Int32(2), TotalSegments: aws.Int32(2)}},
		{"no-segments", dynamodb.ScanInput{Segment: aws.Int32(0), TotalSegments: aws.Int32(0)}},
		{"limit-zero", dynamodb.ScanInput{Limit: aws.Int32(0)}},
		{"filter-empty", dynamodb.ScanInput{FilterExpression: aws.String("")}},
		{"filter-reserved-word", dynamodb.ScanInput{FilterExpression: aws.String("attribute_exists(status)")}},
		{"filter-unused-name", dynamodb.ScanInput{FilterExpression: aws.String("attribute_exists(n)"), ExpressionAttributeNames: map[string]string{"#a": "a"}}},
		{"count-with-projection", dynamodb.ScanInput{Select: types.SelectCount, ProjectionExpression: aws.String("n")}},
		{"start-with-other-attribute", dynamodb.ScanInput{ExclusiveStartKey: attributesOf(item{"n": 1})}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			row.in.TableName = &f.table
			_, err := f.client.Scan(t.Context(), &row.in)
			wantCode(t, err, invalid)
		})
	}
}
