package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// The units are what the database bills the library for.
func TestCost_UnitsAreThoseOfTheBill(t *testing.T) {
	t.Parallel()
	localtest.OnlyEmbedded(t, "units")
	for _, answer := range []int{500, 2_000, 3_000, 10_000, 100_000, 1_000_000} {
		t.Run(fmt.Sprintf("answer of %d bytes", answer), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { newBilled(t).check(t, noise(answer-len(`""`))) })
		})
	}
	// Where the layout changes: the longest answer in the record, the longest in one item, and a byte more.
	for _, stored := range []int{100, 1536, 1537, 384 << 10, 384<<10 + 1, 6_900_000} {
		t.Run(fmt.Sprintf("%d bytes stored", stored), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				newBilled(t, func(c *idempotency.Config) { c.Codec = padded(stored) }).check(t, "")
			})
		})
	}
}

// noise is a text of that many bytes, of which nothing comes again: compression leaves three quarters.
func noise(length int) string {
	b := make([]byte, length)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b)
	return base64.StdEncoding.EncodeToString(b)[:length]
}

// padded makes every answer as many bytes as it says, as it is stored.
type padded int

func (n padded) Seal(_ context.Context, _ string, data []byte) ([]byte, error) {
	return append(bytes.Clone(data), make([]byte, max(0, int(n)-len(data)))...), nil
}

func (n padded) Open(_ context.Context, _ string, sealed []byte) ([]byte, error) {
	return bytes.TrimRight(sealed, "\x00"), nil
}

// billed is a program whose calls are billed.
type billed struct {
	*fixture

	runner *idempotency.Runner
}

func newBilled(t *testing.T, options ...func(*idempotency.Config)) billed {
	t.Helper()
	f := newFixture(t)
	f.now = noon
	return billed{f, f.runner(t, options...)}
}

// check holds the bill of first runs and replays, and of a scan, against what is computed from the bytes in the table.
func (b billed) check(t *testing.T, answer string) {
	t.Helper()
	first := b.ask(t, "1", answer, false)
	items, size := b.stored(t)
	replay := b.ask(t, "1", answer, false)
	readFirst := b.ask(t, "2", answer, true)
	readReplay := b.ask(t, "2", answer, true)

	plain, reads := load{Size: size}.price(), load{Size: size, ReadFirst: true}.price()
	if plain.Items != items {
		t.Errorf("%v items, want %v", plain.Items, items)
	}
	for _, row := range []struct {
		path        string
		bill        units
		write, read float64
	}{
		{"first run", first, plain.FirstUnits, plain.FirstReads},
		{"replay", replay, plain.ReplayUnits, plain.ReplayReads},
		{"first run, read first", readFirst, reads.FirstUnits, reads.FirstReads},
		{"replay, read first", readReplay, reads.ReplayUnits, reads.ReplayReads},
	} {
		if got := (units{row.write, row.read}); got != row.bill {
			t.Errorf("%s: computed %+v, billed %+v", row.path, got, row.bill)
		}
	}
	b.checkScan(t, size)
	b.checkExpiry(t)
}

// checkScan: what the scan reads is computed, but for the last unit of each of its calls.
func (b billed) checkScan(t *testing.T, size float64) {
	t.Helper()
	b.db.ResetCalls()
	for rec, err := range b.runner.Unknowns(t.Context()) {
		t.Errorf("unknown %+v, %v", rec, err)
	}
	calls := b.db.Calls("Scan")
	billed, window := sum(calls).read, 10_000*day // so long that the time the items stay longer is nothing
	computed := load{Rate: 2 / window.Seconds(), Size: size, Retention: window}.price().ScanUnits
	if computed > billed*1.001 || computed < billed*0.999-float64(len(calls))/2 {
		t.Errorf("a scan: computed %v units, billed %v in %d calls", computed, billed, len(calls))
	}
}

// checkExpiry: what is beside a record stays for as much longer as storage is computed with.
func (b billed) checkExpiry(t *testing.T) {
	t.Helper()
	out, err := b.db.Client().Scan(t.Context(), &dynamodb.ScanInput{TableName: &b.table})
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range out.Items {
		n, _ := it["expiration"].(*types.AttributeValueMemberN)
		seconds, err := strconv.ParseInt(n.Value, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		want := noon().Add(idempotency.DefaultRetention)
		if it["status"] == nil {
			want = want.Add(besideLonger)
		}
		if got := time.Unix(seconds, 0); !got.Equal(want) {
			t.Errorf("an item stays until %s, want %s", got.UTC(), want)
		}
	}
}

type units struct{ write, read float64 }

func sum(calls []localtest.Call) (u units) {
	for _, c := range calls {
		u.write += c.WriteUnits
		u.read += c.ReadUnits
	}
	return u
}

// ask makes a request, whose record is like many, and returns its bill.
func (b billed) ask(t *testing.T, key, answer string, readFirst bool) units {
	t.Helper()
	b.db.ResetCalls()
	req := request(key)
	req.Operation, req.Input, req.ReadFirst = "POST /payments", "what is asked for", readFirst
	if res, err := idempotency.Do(t.Context(), b.runner, req, returns(answer)); err != nil || res.Value != answer {
		t.Fatalf("%d bytes, %v, want %d", len(res.Value), err, len(answer))
	}
	return sum(b.db.Calls(""))
}

// stored is what the table has of one answer.
func (b billed) stored(t *testing.T) (items, size float64) {
	t.Helper()
	out, err := b.db.Client().DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &b.table})
	if err != nil {
		t.Fatal(err)
	}
	return float64(*out.Table.ItemCount), float64(*out.Table.TableSizeBytes)
}
