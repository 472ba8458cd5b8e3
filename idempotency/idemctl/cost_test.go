package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// Figures that were worked out by hand.
func TestCost_Figures(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args string
		want price
	}{
		"a thousand a second": {
			"-rate 1000 -retries 5% -size 2KB -retention 24h -unknown-scan 5m",
			price{
				Requests: 1050, RecordsADay: 86.4e6, Records: 86.4e6, Data: 172.8, Billed: 181.44, FirstUnits: 3, ReplayUnits: 2, WriteUnits: 3100,
				MillionFirsts: 1.875, MillionReplays: 1.25, Million: 1.8452380952, WritesAMonth: 5022, StorageAMonth: 45.36,
				ScanUnits: 21_093_750, ScanPrice: 2.63671875, ScanRate: 70_312.5, ScansAMonth: 22_781.25, Month: 27_848.61,
			},
		},
		"small, no retries, a week": {
			"-rate 10 -retries 0 -size 500 -retention 168h",
			price{
				Requests: 10, RecordsADay: 864_000, Records: 6.048e6, Data: 3.024, Billed: 3.6288, FirstUnits: 2, ReplayUnits: 1, WriteUnits: 20,
				MillionFirsts: 1.25, MillionReplays: 0.625, Million: 1.25, WritesAMonth: 32.4, StorageAMonth: 0.9072,
				ScanUnits: 369_140.625, ScanPrice: 0.046142578125, Month: 33.3072,
			},
		},
		"large, each one twice": {
			"-rate 1 -retries 1 -size 10KiB -retention 1h",
			price{
				Requests: 2, RecordsADay: 86_400, Records: 3600, Data: 0.036864, Billed: 0.037224, FirstUnits: 11, ReplayUnits: 10, WriteUnits: 21,
				MillionFirsts: 6.875, MillionReplays: 6.25, Million: 6.5625, WritesAMonth: 34.02, StorageAMonth: 0.009306,
				ScanUnits: 4500, ScanPrice: 0.0005625, Month: 34.029306,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fixture{now: time.Now}
			res := f.bare(t.Context(), append([]string{"cost", "-json"}, strings.Fields(tc.args)...)...)
			res.want(t, exitOK)
			var got, want map[string]any
			text, _ := json.Marshal(tc.want)
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(res.out), &got); err != nil {
				t.Fatal(err)
			}
			for field, w := range want {
				g, _ := got[field].(float64)
				if w := w.(float64); math.Abs(g-w) > 1e-6*w {
					t.Errorf("%s is %v, want %v", field, g, w)
				}
			}
		})
	}
}

// The units are what the database bills.
func TestCost_UnitsAreThoseOfTheBill(t *testing.T) {
	t.Parallel()
	localtest.OnlyEmbedded(t, "units")
	f := newFixture(t)
	units := func(operations ...string) (sum float64) {
		for _, operation := range operations {
			for _, c := range f.db.Calls(operation) {
				sum += c.WriteUnits + c.ReadUnits
			}
		}
		f.db.ResetCalls()
		return sum
	}
	for _, answer := range []int{10, 1500, 9000} {
		key := strings.Repeat("k", answer%97+1)
		run := func() {
			if _, err := idempotency.Do(t.Context(), f.runner(t), request(key), returns(strings.Repeat("x", answer))); err != nil {
				t.Fatal(err)
			}
		}
		f.db.ResetCalls()
		run()
		first := units("PutItem", "UpdateItem")
		run()
		replay := units("PutItem")
		record := f.record(t, idOf(t, f.runner(t), key))
		l := load{Rate: 1, Size: float64(len(record.Outcome) + 400), Retention: day}
		if want := l.price(); first != want.FirstUnits || replay != want.ReplayUnits {
			t.Errorf("an answer of %d bytes: %v units and %v a replay, want %v and %v", answer, first, replay, want.FirstUnits, want.ReplayUnits)
		}
	}
}

func TestCost_Golden(t *testing.T) {
	t.Parallel()
	f := &fixture{now: time.Now}
	golden(t, "cost", f.bare(t.Context(), "cost", "-rate", "1000", "-retries", "5%", "-size", "2KB", "-retention", "24h", "-unknown-scan", "5m").out)
	golden(t, "cost-small", f.bare(t.Context(), "cost", "-rate", "0.5").out)
}

func TestCost_Sizes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{"2048": 2048, "2048B": 2048, "2KB": 2000, "2kB": 2000, "1.5KiB": 1536, "400KiB": 400 << 10} {
		var got float64
		if err := readSize(text, &got); err != nil || got != want {
			t.Errorf("%s is %v, %v, want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]float64{"5%": 0.05, "0.05": 0.05, "0": 0, "250%": 2.5} {
		var got float64
		if err := readShare(text, &got); err != nil || got != want {
			t.Errorf("%s is %v, %v, want %v", text, got, err, want)
		}
	}
}
