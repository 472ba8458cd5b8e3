package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
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
	text, err := report(few)
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
	if again, err := report(few); err != nil || again != text {
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

// What is written is found again, and the rest of the file stays.
func TestFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "README.md")
	if err := os.WriteFile(file, []byte("# Cost\n\n"+begin+"old\n"+end+"\nMore.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := compareWith(file, "new\n"); err == nil || !strings.Contains(err.Error(), "line 1 of them is\n\told") {
		t.Errorf("compared with an old one: %v", err)
	}
	for range 2 {
		if err := replaceIn(file, "new\n"); err != nil {
			t.Fatal(err)
		}
		if err := compareWith(file, "new\n"); err != nil {
			t.Errorf("compared with what was written: %v", err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "# Cost\n\n"+begin+"\nnew\n"+end+"\nMore.\n" {
		t.Errorf("the file is %q, %v", got, err)
	}
	if err := compareWith(file, "new\nmore\n"); err == nil {
		t.Error("a missing line is not found")
	}
}

func TestFile_Refuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no lines":    "# Cost\n",
		"no end":      begin + "text\n",
		"two of them": begin + end + begin + end,
		"backwards":   end + begin,
	} {
		file := filepath.Join(t.TempDir(), "README.md")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := replaceIn(file, "new\n"); err == nil {
			t.Errorf("%s: no error", name)
		}
		if err := compareWith(file, "new\n"); err == nil {
			t.Errorf("%s: compared without an error", name)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != text {
			t.Errorf("%s: the file is %q, %v", name, got, err)
		}
	}
}
