package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// stream is the events of go test for lines of "ACTION TEST [OUTPUT]".
func stream(lines ...string) string {
	var b strings.Builder
	for _, l := range lines {
		parts := strings.SplitN(l, " ", 3)
		output := ""
		if len(parts) == 3 {
			output = parts[2]
		}
		fmt.Fprintf(&b, "{\"Action\":%q,\"Test\":%q,\"Output\":%q}\n", parts[0], parts[1], output)
	}
	return b.String()
}

func TestCompare(t *testing.T) {
	t.Parallel()
	passes := stream("run TestA", "pass TestA")
	subtests := stream("run TestB", "run TestB/one", "run TestB/two", "fail TestB/one", "pass TestB/two", "fail TestB")
	for name, row := range map[string]struct {
		table, events string
		counts        [3]int // passed, known, skipped
		problems      []string
		silent        string // tests of the package of which there is nothing in the events
	}{
		"all passes":               {"", passes, [3]int{1, 0, 0}, nil, ""},
		"failure that is unknown":  {"", stream("fail TestA"), [3]int{}, []string{"not in the table: TestA"}, ""},
		"failure that is known":    {"fail TestA why", stream("fail TestA"), [3]int{0, 1, 0}, nil, ""},
		"known one passes":         {"fail TestA why", passes, [3]int{}, []string{"line 1: TestA passes"}, ""},
		"known one is not there":   {"\nfail TestC why", passes, [3]int{1, 0, 0}, []string{"line 2: there is no test TestC"}, ""},
		"subtest":                  {"fail TestB/one why", subtests, [3]int{1, 1, 0}, nil, ""},
		"subtest that is unknown":  {"", subtests, [3]int{1, 0, 0}, []string{"not in the table: TestB/one"}, ""},
		"whole test, half of it":   {"fail TestB/* why", subtests, [3]int{0, 1, 0}, []string{"line 1: TestB/two passes"}, ""},
		"several by their start":   {"fail TestA* why", stream("fail TestA1", "fail TestA2", "pass TestB"), [3]int{1, 2, 0}, nil, ""},
		"failure beside subtests":  {"", stream("pass TestB/one", "fail TestB"), [3]int{1, 0, 0}, []string{"not in the table: TestB"}, ""},
		"crash":                    {"", stream("run TestA", "output TestA panic: oh"), [3]int{}, []string{"no result: TestA\npanic: oh"}, ""},
		"crash of a known one":     {"fail TestA why", stream("run TestA", "output TestA panic: oh"), [3]int{}, []string{"no result: TestA\npanic: oh"}, ""},
		"crash before the others":  {"fail TestA why\nskip TestS* why", stream("run TestA", "fail TestA"), [3]int{0, 1, 2}, []string{"no result: TestB"}, "TestB TestS1 TestS2"},
		"crash in a subtest":       {"fail TestB/* why", stream("run TestB", "run TestB/one", "pass TestB/one", "run TestB/two"), [3]int{}, []string{"line 1: TestB/one passes", "no result: TestB/two"}, ""},
		"skipped by the table":     {"skip TestS* why", passes, [3]int{1, 0, 2}, nil, "TestS1 TestS2"},
		"skipped one is not there": {"skip TestC why", passes, [3]int{1, 0, 0}, []string{"line 1: there is no test TestC"}, ""},
		"skipped by itself":        {"", stream("output TestA     a_test.go:1: the clock\n", "output TestA --- SKIP: TestA (0.00s)\n", "skip TestA"), [3]int{0, 0, 1}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			known, err := parseTable(row.table)
			if err != nil {
				t.Fatal(err)
			}
			rs, _, err := read(strings.NewReader(row.events))
			if err != nil {
				t.Fatal(err)
			}
			names := strings.Fields(row.silent)
			for _, r := range rs {
				if above(r.name) == "" {
					names = append(names, r.name)
				}
			}
			c := compare(known, names, rs)
			if got := [3]int{c.passed, sum(c.known), sum(c.skipped)}; got != row.counts {
				t.Errorf("counts %v, want %v", got, row.counts)
			}
			for i := range c.problems {
				c.problems[i] = strings.TrimSpace(c.problems[i])
			}
			if !slices.Equal(c.problems, row.problems) {
				t.Errorf("problems %q, want %q", c.problems, row.problems)
			}
			if name == "skipped by itself" && c.skipped["the clock"] != 1 {
				t.Errorf("reasons %v", c.skipped)
			}
		})
	}
}

func TestParseTable_Refused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"TestA why", "fail TestA", "fail", "skip TestA/one why", "fail TestA why\nfail TestA because"} {
		if known, err := parseTable(text); err == nil {
			t.Errorf("%q is %v", text, known)
		}
	}
}

func TestSkipPattern(t *testing.T) {
	t.Parallel()
	known, err := parseTable("skip TestA why\nfail TestB why\nskip TestC* why\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := known.skipPattern(); got != "^(TestA|TestC.*)$" {
		t.Errorf("pattern %s", got)
	}
}

// The whole of it, on this package's own tests.
func TestRun(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "mine.txt")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("skip TestRun* would run itself\nskip TestCompare as an example\n")
	text, err := run(t.Context(), file, ".", 1)
	if err != nil || !strings.HasPrefix(text, "mine: 2 passed, 0 known differences, 3 skipped\n") {
		t.Errorf("got %q, %v", text, err)
	}
	write("skip TestRun* would run itself\nfail TestSkipPattern it does not\n")
	if _, err := run(t.Context(), file, ".", 1); err == nil || !strings.Contains(err.Error(), "line 2: TestSkipPattern passes") {
		t.Errorf("got %v", err)
	}
}

func TestRun_NoSuchPackage(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "mine.txt")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t.Context(), file, "./absent", 0); err == nil {
		t.Error("no error")
	}
}
