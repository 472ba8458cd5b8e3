package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
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
				Requests: 1050, RecordsADay: 86.4e6, Records: 86.4e6, Items: 1, Data: 172.8, Billed: 181.44, FirstUnits: 3, ReplayUnits: 2, WriteUnits: 3100,
				MillionFirsts: 1.875, MillionReplays: 1.25, Million: 1.8452380952, WritesAMonth: 5022, StorageAMonth: 45.36,
				ScanUnits: 21_093_750, ScanPrice: 2.63671875, ScanRate: 70_312.5, ScansAMonth: 22_781.25, Month: 27_848.61,
			},
		},
		"small, no retries, a week": {
			"-rate 10 -retries 0 -size 500 -retention 168h",
			price{
				Requests: 10, RecordsADay: 864_000, Records: 6.048e6, Items: 1, Data: 3.024, Billed: 3.6288, FirstUnits: 2, ReplayUnits: 1, WriteUnits: 20,
				MillionFirsts: 1.25, MillionReplays: 0.625, Million: 1.25, WritesAMonth: 32.4, StorageAMonth: 0.9072,
				ScanUnits: 369_140.625, ScanPrice: 0.046142578125, Month: 33.3072,
			},
		},
		"a retry reads first": {
			"-rate 10 -retries 50% -size 2000 -retention 24h -read-first",
			price{
				Requests: 15, RecordsADay: 864_000, Records: 864_000, Items: 1, Data: 1.728, Billed: 1.8144,
				FirstUnits: 3, ReplayUnits: 0, WriteUnits: 30, FirstReads: 0.5, ReplayReads: 0.5, ReadUnits: 7.5,
				MillionFirsts: 1.9375, MillionReplays: 0.0625, Million: 1.3125, WritesAMonth: 48.6, ReadsAMonth: 2.43, StorageAMonth: 0.4536,
				ScanUnits: 210_937.5, ScanPrice: 0.0263671875, Month: 51.4836,
			},
		},
		// 9790 bytes are beside the record: for an hour, and the 25 hours that they stay longer.
		"in an item beside the record, each one twice": {
			"-rate 1 -retries 1 -size 10KiB -retention 1h -unknown-scan 10m",
			price{
				Requests: 2, RecordsADay: 86_400, Records: 3600, Items: 2, Data: 0.917964, Billed: 0.927684,
				FirstUnits: 12, ReplayUnits: 1, WriteUnits: 13, FirstReads: 0, ReplayReads: 1.5, ReadUnits: 1.5,
				MillionFirsts: 7.5, MillionReplays: 0.8125, Million: 4.15625, WritesAMonth: 21.06, ReadsAMonth: 0.486, StorageAMonth: 0.231921,
				ScanUnits: 112_056.15234375, ScanPrice: 0.01400701904, ScanRate: 186.7602539, ScansAMonth: 60.51032227, Month: 82.28824327,
			},
		},
		"in two items beside the record, reads first": {
			"-rate 1 -retries 10% -size 500KB -retention 25h -read-first",
			price{
				Requests: 1.1, RecordsADay: 86_400, Records: 90_000, Items: 3, Data: 89.9595, Billed: 90.0045,
				FirstUnits: 491, ReplayUnits: 0, WriteUnits: 491, FirstReads: 0.5, ReplayReads: 62, ReadUnits: 6.7,
				MillionFirsts: 306.9375, MillionReplays: 7.75, Million: 279.7386364, WritesAMonth: 795.42, ReadsAMonth: 2.1708, StorageAMonth: 22.501125,
				ScanUnits: 10_981_384.28, ScanPrice: 1.372673, Month: 820.091925,
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

func TestCost_Golden(t *testing.T) {
	t.Parallel()
	f := &fixture{now: time.Now}
	golden(t, "cost", f.bare(t.Context(), "cost", "-rate", "1000", "-retries", "5%", "-size", "2KB", "-retention", "24h", "-unknown-scan", "5m").out)
	golden(t, "cost-small", f.bare(t.Context(), "cost", "-rate", "0.5").out)
	golden(t, "cost-large", f.bare(t.Context(), "cost", "-rate", "100", "-size", "1MB", "-unknown-scan", "24h").out)
	golden(t, "cost-read-first", f.bare(t.Context(), "cost", "-rate", "1000", "-retries", "250%", "-size", "10KB", "-read-first").out)
}

func TestCost_Sizes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{"2048": 2048, "2048B": 2048, "2KB": 2000, "2kB": 2000, "1.5KiB": 1536, "400KiB": 400 << 10, "7.5MB": 7.5e6, "7.5MiB": 7.5 * (1 << 20)} {
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
