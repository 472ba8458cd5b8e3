package localtest_test

import (
	"bytes"
	"log"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/localtest"
)

// Steps are what f and its cleanups note as they are reached.
func TestProgram_CleansUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		f     func(tb localtest.TB, step func(string))
		steps []string
		ok    bool
		log   string
	}{
		"f returns": {func(tb localtest.TB, step func(string)) {
			tb.Cleanup(func() { step("first") })
			tb.Cleanup(func() { step("second") })
			tb.Logf("%s is here", tb.Name())
			step("f")
		}, []string{"f", "second", "first"}, true, "demo: play is here\n"},
		"f goes on after Errorf": {func(tb localtest.TB, step func(string)) {
			tb.Cleanup(func() { step("first") })
			tb.Errorf("no %s", "Go")
			step("f")
		}, []string{"f", "first"}, false, "demo: no Go\n"},
		"Fatalf ends f": {func(tb localtest.TB, step func(string)) {
			tb.Cleanup(func() { step("first") })
			tb.Cleanup(func() { step("second") })
			tb.Fatalf("no %s", "Go")
			step("f went on")
		}, []string{"second", "first"}, false, "demo: no Go\n"},
		"Fatalf ends a cleanup": {func(tb localtest.TB, step func(string)) {
			tb.Cleanup(func() { step("first") })
			tb.Cleanup(func() { tb.Fatalf("no %s", "end"); step("second went on") })
			step("f")
		}, []string{"f", "first"}, false, "demo: no end\n"},
		"a cleanup registers one": {func(tb localtest.TB, step func(string)) {
			tb.Cleanup(func() { step("first") })
			tb.Cleanup(func() {
				tb.Cleanup(func() { step("third") })
				step("second")
			})
		}, []string{"second", "third", "first"}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var text bytes.Buffer
			var steps []string
			ok := localtest.Program("play", log.New(&text, "demo: ", 0), func(tb localtest.TB) {
				c.f(tb, func(name string) { steps = append(steps, name) })
			})
			if !slices.Equal(steps, c.steps) || ok != c.ok || text.String() != c.log {
				t.Errorf("steps %q, ok %v, log %q; want %q, %v, %q", steps, ok, text.String(), c.steps, c.ok, c.log)
			}
		})
	}
}

// What a test may call from anywhere may be called from anywhere here.
func TestProgram_GoroutinesOfF(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	cleaned := 0
	ok := localtest.Program("play", log.New(&text, "", 0), func(tb localtest.TB) {
		var all sync.WaitGroup
		for n := range 9 {
			all.Go(func() {
				tb.Cleanup(func() { cleaned++ })
				tb.Errorf("%d", n)
			})
		}
		all.Wait()
	})
	if lines := strings.Count(text.String(), "\n"); ok || cleaned != 9 || lines != 9 {
		t.Errorf("ok %v, %d cleanups, %d lines; want false, 9, 9", ok, cleaned, lines)
	}
}

// A database is served until the end, and what is found to be wrong then fails the program.
func TestProgram_Start(t *testing.T) {
	t.Parallel()
	for _, wrong := range []bool{false, true} {
		var text bytes.Buffer
		var client *dynamodb.Client
		ok := localtest.Program("play", log.New(&text, "", 0), func(tb localtest.TB) {
			db := localtest.Start(tb)
			db.CreateTable(tb, idTable())
			client = db.Client(once, over(db.Listen(tb)))
			if wrong {
				db.Inject(localtest.Fault{Operation: "Scan", Kind: localtest.Throttled})
			}
			if _, err := client.ListTables(t.Context(), &dynamodb.ListTablesInput{}); err != nil {
				tb.Errorf("%v", err)
			}
		})
		if ok == wrong || strings.Contains(text.String(), "the fault Throttled never struck") != wrong {
			t.Errorf("with a fault that never strikes, %v: ok %v, log %q", wrong, ok, text.String())
		}
		if _, err := client.ListTables(t.Context(), &dynamodb.ListTablesInput{}); err == nil {
			t.Error("served after the end")
		}
	}
}

// A panic crashes the process with the stack of what has panicked, and leaves nothing behind: not even where a cleanup ends
// by Fatalf, which would end the panic that it runs under.
func TestProgram_Panic(t *testing.T) {
	t.Parallel()
	const variable = "PROGRAM_PANICS_IN"
	if where := os.Getenv(variable); where != "" {
		localtest.Program("play", log.New(os.Stderr, "", 0), func(tb localtest.TB) { panics(tb, where) })
		return
	}
	for _, where := range []string{"f", "a cleanup"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProgram_Panic$") //nolint:gosec // this binary
			cmd.Env = append(cmd.Environ(), variable+"="+where)
			out, err := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != 2 {
				t.Errorf("exit status %d, %v, want a crash", code, err)
			}
			rest := string(out)
			for _, want := range []string{"no end\n", "first\n", "panic: in " + where, "localtest_test.boom("} {
				before, after, found := strings.Cut(rest, want)
				if !found || strings.Contains(before, "panic") {
					t.Fatalf("no %q where it should be in:\n%s", want, out)
				}
				rest = after
			}
		})
	}
}

func panics(tb localtest.TB, where string) {
	tb.Cleanup(func() { tb.Logf("first") })
	tb.Cleanup(func() { tb.Fatalf("no end") })
	if where == "f" {
		boom(where)
	}
	tb.Cleanup(func() { boom(where) })
}

func boom(where string) { panic("in " + where) }
