package main

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each guard is in the code, once, and is what one test at least is there for.
func TestGuards_FitTheCode(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{"idempotency": testsIn(t, "idempotency"), "lambda": testsIn(t, "lambda")}
	names := map[string]bool{}
	for _, g := range guards {
		if names[g.name] {
			t.Errorf("%s is there twice", g.name)
		}
		names[g.name] = true
		text, err := os.ReadFile(filepath.Join("../..", g.file))
		if err != nil {
			t.Fatal(err)
		}
		if mutant, err := g.in(string(text)); err != nil || mutant == string(text) {
			t.Errorf("%s: %v", g.name, err)
		}
		pattern := regexp.MustCompile(g.heldBy)
		found := 0
		for _, name := range tests[path.Dir(g.file)] {
			if pattern.MatchString(name) {
				found++
			}
		}
		if g.heldBy == "" || found == 0 {
			t.Errorf("%s: no test is called %q", g.name, g.heldBy)
		}
	}
}

// testsIn are the names of a package's tests.
func testsIn(t *testing.T, pkg string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var tests []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(text), -1) {
			tests = append(tests, m[1])
		}
	}
	return tests
}

func TestGuard_In(t *testing.T) {
	t.Parallel()
	g := guard{file: "a.go", text: "b", instead: "c"}
	if got, err := g.in("abd"); err != nil || got != "acd" {
		t.Errorf("%q, %v", got, err)
	}
	for _, text := range []string{"", "a", "bb"} {
		if got, err := g.in(text); err == nil {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestKillerIn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		out      string
		deadline bool
		want     string
	}{
		{"--- FAIL: TestA (0.1s)\n    --- FAIL: TestA/b (0.1s)\nFAIL\n", false, "TestA"},
		{"    --- FAIL: TestA/b (0.1s)\n", false, "TestA/b"},
		{"panic: runtime error: index out of range\n", false, "a panic"},
		{"panic: test timed out after 3m0s\n", true, "the time-out"},
		{"panic: test timed out after 3m0s\n", false, ""},
		{"FAIL\tx [setup failed]\n", false, ""},
	} {
		if got, err := killerIn(c.out, c.deadline); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q: %q, %v, want %q", c.out, got, err, c.want)
		}
	}
}

// A mutant that lives, one that does not compile and a guard without a test are told apart.
func TestGuard_Kill(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the package's tests")
	}
	t.Chdir("../..")
	lives := guard{name: "a comment", file: "idempotency/values.go", text: "package idempotency\n", instead: "package idempotency // and more\n", heldBy: "^TestFingerprint_Golden"}
	if killer, err := lives.kill(t.Context(), t.TempDir()); !errors.Is(err, errLives) {
		t.Errorf("killed by %q, %v", killer, err)
	}
	broken := lives
	broken.instead = "package idempotency\nfunc"
	if killer, err := broken.kill(t.Context(), t.TempDir()); !errors.Is(err, errBuild) {
		t.Errorf("killed by %q, %v", killer, err)
	}
	none := lives
	none.heldBy = "^TestNothingIsCalledSo$"
	if killer, err := none.kill(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "no test") {
		t.Errorf("killed by %q, %v", killer, err)
	}
}
