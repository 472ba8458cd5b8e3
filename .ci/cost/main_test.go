package main

import (
	"encoding/json"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/oncekey/oncekey/localtest"
)

// Twice the same text, of requests that took the paths which the rows are named for.
func TestReport(t *testing.T) {
	t.Parallel()
	localtest.OnlyEmbedded(t, "the bill")
	few := []size{500, 2_000}
	text, err := report(t, few)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\n| JSON, a list of orders | 0.5 KB | 2 KB |\n|---|---|---|\n| stored as | 1 item, 0.",
		"\n| random bytes in base64 | 0.5 KB | 2 KB |\n",
		"\n| first run | 2 calls, 2 W, $1.25 |",
		"\n| replay | 1 call, 1 W, $0.625 |",
		"\n| first run, `ReadFirst` | 3 calls, 2 W, 0.5 R, $1.31 |",
		"\n| replay, `ReadFirst` | 1 call, 0.5 R, $0.0625 | 1 call, 0.5 R, $0.0625 |\n",
		"\n| a waiting duplicate's poll | 1 call, 1 R, $0.125 | 1 call, 1 R, $0.125 |\n",
		"\n| its poll that finds the answer | 1 call, 1 R, $0.125 |",
		"\n| 5 % duplicates | $1.28 |", // 1.25 + 0.05 * 0.625
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if again, err := report(t, few); err != nil || again != text {
		t.Errorf("another text of the same requests, %v:\n%s", err, again)
	}
}

func TestMeasure_NotStored(t *testing.T) {
	t.Parallel()
	localtest.OnlyEmbedded(t, "the bill")
	m, err := measure(t, math.Inf(1)) // which JSON does not have
	if err != nil {
		t.Fatal(err)
	}
	if got, want := m.replay.String(), "1 call, 1 W, $0.625; not stored"; got != want {
		t.Errorf("replay = %s, want %s", got, want)
	}
	if !m.replayed.noBody || !m.pollEnd.noBody || m.first.noBody || m.pollRunning.noBody {
		t.Errorf("measured %+v", m)
	}
}

// What is measured is the size that the column says, and the same bytes each time.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, s := range sizes {
		list, err := ordersOf(s)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ordersOf(s)
		if err != nil {
			t.Fatal(err)
		}
		for name, answers := range map[string][2]any{"orders": {list, again}, "random": {randomOf(s), randomOf(s)}} {
			one, other := encoded(t, answers[0]), encoded(t, answers[1])
			if len(one) != int(s) || one != other {
				t.Errorf("%s of %v: %d bytes, and %d the second time, which are equal: %t", name, s, len(one), len(other), one == other)
			}
		}
	}
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The operator's command computes with the same prices.
func TestPrices(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../idempotency/idemctl/price.go")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"writePrice": writePrice, "readPrice": readPrice} {
		m := regexp.MustCompile(name + ` += ([\d.]+)`).FindStringSubmatch(string(text))
		if m == nil {
			t.Errorf("no %s in idemctl", name)
			continue
		}
		if got, err := strconv.ParseFloat(m[1], 64); err != nil || got != want {
			t.Errorf("idemctl's %s = %v, %v, want %v", name, got, err, want)
		}
	}
}

func TestMoney(t *testing.T) {
	t.Parallel()
	for d, want := range map[float64]string{0: "$0", 0.0625: "$0.0625", 0.625: "$0.625", 0.1875: "$0.188", 0.5: "$0.50", 1: "$1.00", 3.125: "$3.13", 61.875: "$61.88"} {
		if got := money(d); got != want {
			t.Errorf("money(%v) = %s, want %s", d, got, want)
		}
	}
}
