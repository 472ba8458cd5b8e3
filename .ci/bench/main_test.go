package main

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	t.Parallel()
	found := results{}
	for range 2 {
		cpu := read([]byte(`goos: linux
cpu: A CPU @ 2 GHz
=== ATTR  TestStorm_Throttled virtual-s 5.5
=== ATTR  TestStorm_Throttled name value
BenchmarkFirst/server=none/by=hand
BenchmarkFirst/server=none/by=hand-16         	    1000	    144697 ns/op	   63043 B/op	     650 allocs/op
BenchmarkUnknowns 	       5	   8432658 ns/op	       965.5 read-units/op
PASS
`), found)
		if cpu != "A CPU @ 2 GHz" {
			t.Errorf("cpu %q", cpu)
		}
	}
	for _, want := range []struct {
		name, unit string
		value      float64
	}{
		{"BenchmarkFirst/server=none/by=hand", "allocs/op", 650},
		{"BenchmarkFirst/server=none/by=hand", "ns/op", 144697},
		{"BenchmarkUnknowns", "read-units/op", 965.5},
		{"TestStorm_Throttled", "virtual-s", 5.5},
	} {
		if got, err := found.all(want.name, want.unit); err != nil || !slices.Equal(got, []float64{want.value, want.value}) {
			t.Errorf("%s %s is %v, %v, want %v twice", want.name, want.unit, got, err, want.value)
		}
	}
	if len(found) != 3 {
		t.Errorf("found %v", found)
	}
	if _, err := found.all("BenchmarkFirst/server=none/by=hand", "MB/s"); err == nil {
		t.Error("what was not measured is no error")
	}
}

func TestMedian(t *testing.T) {
	t.Parallel()
	if got := median([]float64{9, 1, 5}); got != 5 {
		t.Errorf("of three %v", got)
	}
	if got := median([]float64{9, 1, 5, 6}); got != 5.5 {
		t.Errorf("of four %v", got)
	}
}

func TestReadPerf(t *testing.T) {
	t.Parallel()
	if n, err := readPerf("PASS\n12345678,,instructions:u,100,100.00,,\n"); err != nil || n != 12345678 {
		t.Errorf("got %v, %v", n, err)
	}
	for _, out := range []string{"<not supported>,,instructions:u,0,100.00,,\n", "PASS\n", ""} {
		if n, err := readPerf(out); err == nil {
			t.Errorf("%q: got %v and no error", out, n)
		}
	}
}

func TestReadCachegrind(t *testing.T) {
	t.Parallel()
	n, err := readCachegrind(bufio.NewScanner(strings.NewReader(`desc: I1 cache: 
cmd: idempotency.test -test.run=^$
events: Ir
fl=a.go
fn=main.a
3 100
4 20
fn=crypto/internal/fips140/sha256.blockAVX2.abi0
5 4000
fn=main.b
-1 3
summary: 4123
`)))
	if err != nil || n != 123 {
		t.Errorf("got %v, %v, want 123", n, err)
	}
	for _, out := range []string{"", "fn=main.a\n", "fn=main.a\n3 many\n"} {
		if _, err := readCachegrind(bufio.NewScanner(strings.NewReader(out))); err == nil {
			t.Errorf("%q is no error", out)
		}
	}
}

func TestPerIteration(t *testing.T) {
	t.Parallel()
	noise := []float64{0, -500, 0, 9000}
	n, err := perIteration(func(iterations int) (float64, error) {
		odd := noise[0]
		noise = noise[1:]
		return 1e6 + 7*float64(iterations) + odd, nil
	})
	if err != nil || n != 7 {
		t.Errorf("got %v, %v, want 7", n, err)
	}
	broken := errors.New("broken")
	if _, err := perIteration(func(int) (float64, error) { return 0, broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestExactly(t *testing.T) {
	t.Parallel()
	if got := exactly("BenchmarkFirst/server=none/by=hand"); got != "^BenchmarkFirst$/^server=none$/^by=hand$" {
		t.Errorf("got %s", got)
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	p := pair{what: "a : b", ours: "A", base: "B", limits: limits{allocations: 1.10}}
	for _, c := range []struct {
		ours, base float64
		cell, over string
	}{
		{1100, 1000, "1,100 : 1,000 = 1.100", ""},
		{1101, 1000, "1,101 : 1,000 = **1.101**", "a : b: allocations: 1.101 is above the budget of 1.10"},
	} {
		found := results{"A": {"allocs/op": {c.ours}, "B/op": {9}}, "B": {"allocs/op": {c.base}, "B/op": {1}}}
		if cell, over, err := compare(found, p, measures[0]); err != nil || cell != c.cell || over != c.over {
			t.Errorf("got %q, %q, %v, want %q, %q", cell, over, err, c.cell, c.over)
		}
		if _, over, err := compare(found, p, measures[1]); err != nil || over != "" {
			t.Errorf("without a budget: %q, %v", over, err)
		}
	}
	if _, _, err := compare(results{"A": {"allocs/op": {1}}}, p, measures[0]); err == nil {
		t.Error("a baseline that was not measured is no error")
	}
	times := results{"A": {"ns/op": {10, 200, 30}}, "B": {"ns/op": {10, 100, 10}}} // each beside its neighbour
	if cell, _, err := compare(times, p, measures[3]); err != nil || cell != "2.00" {
		t.Errorf("got %q, %v", cell, err)
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	found := results{}
	for _, p := range pairs {
		for _, m := range measures[:2] {
			found.add(p.ours, m.unit, 100)
			found.add(p.base, m.unit, 100)
		}
		found.add(p.ours, "ns/op", 100)
		found.add(p.base, "ns/op", 100)
	}
	for _, f := range figures {
		for _, unit := range f.units {
			found.add(f.bench, unit, 7)
		}
	}
	text, broken, err := render(found, nil)
	if err != nil || len(broken) > 0 {
		t.Fatalf("broken %v, %v", broken, err)
	}
	if got, want := strings.Count(text, "\n| "), len(pairs)+len(figures)+1; got != want {
		t.Errorf("%d rows, want %d:\n%s", got, want, text)
	}
	columns := 0
	for line := range strings.Lines(text) {
		if n := strings.Count(line, "|"); line == "\n" {
			columns = 0
		} else if columns == 0 {
			columns = n
		} else if n != columns {
			t.Errorf("%d columns instead of %d: %s", n-1, columns-1, line)
		}
	}

	first := pairs[0]
	counted := map[string]float64{first.ours: 112, first.base: 100, strings.ReplaceAll(first.base, "careful", "hand"): 100}
	if _, broken, err = render(found, counted); err != nil || len(broken) != 1 {
		t.Errorf("broken %v, %v, want one", broken, err)
	}
	delete(found, first.base)
	if _, _, err := render(found, nil); err == nil {
		t.Error("a pair that was not measured is no error")
	}
}

func TestShown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value float64
		unit  string
		want  string
	}{
		{46.7, "ns/op", "46.7 ns"},
		{24_712, "ns/op", "24.7 µs"},
		{873_379_306, "ns/op", "873 ms"},
		{1_185_866.4, "records/s", "1,185,866 records/s"},
		{965.5, "read-units/op", "966 read units"},
		{3, "allocs/op", "3 allocations"},
		{1, "allocs/op", "1 allocation"},
		{0, "reads/op", "0 reads"},
		{94.9, "MB/s", "94.9 MB/s"},
	} {
		if got := shown(c.value, c.unit); got != c.want {
			t.Errorf("%v %s is %q, want %q", c.value, c.unit, got, c.want)
		}
	}
}

// What the plan names is there, and is run.
func TestPlan(t *testing.T) {
	t.Parallel()
	function := regexp.MustCompile(`(?m)^func ((?:Benchmark|Test)\w+)\(`)
	there := map[string]bool{}
	for _, r := range runs {
		files, err := filepath.Glob(filepath.Join("../..", r.pkg, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range function.FindAllStringSubmatch(string(text), -1) {
				if regexp.MustCompile(r.bench).MatchString(m[1]) || r.test != "" && regexp.MustCompile(r.test).MatchString(m[1]) {
					there[m[1]] = true
				}
			}
		}
	}
	var names []string
	for _, p := range pairs {
		names = append(names, p.ours, p.base)
	}
	for _, f := range figures {
		names = append(names, f.bench)
	}
	for _, name := range names {
		if top, _, _ := strings.Cut(name, "/"); !there[top] {
			t.Errorf("%s is not run: there is no such benchmark, or no run has it", name)
		}
	}
}
