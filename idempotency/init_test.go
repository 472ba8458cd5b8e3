package idempotency_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/oncekey/oncekey/"

// A function that imports the library pays nothing for it before main: no variable of a package is made there at a price, such
// as a map or a regular expression. Sentinels by errors.New cost nothing, since the linker lays them out.
func TestInit_DoesNothing(t *testing.T) {
	t.Parallel()
	trace := initTrace(t, "idempotency", "idempotency/httpclient", "lambda")
	for _, pkg := range []string{"idempotency", "idempotency/httpclient", "lambda"} {
		if got := trace[module+pkg]; got > 0 {
			t.Errorf("%s allocates %d times before main: which variable of the package is the result of a call?", pkg, got)
		}
	}
	if trace["github.com/aws/aws-sdk-go-v2/service/dynamodb/schemas"] == 0 {
		t.Errorf("the trace does not show what the SDK is known to do: %v", trace)
	}
}

// initTrace is how often each package of a program allocates before main, as the runtime tells it. The program imports the
// packages and does nothing: in a test binary the variables of the tests would be counted too.
func initTrace(t *testing.T, packages ...string) map[string]int {
	t.Helper()
	source := "package main\n\nimport (\n"
	for _, p := range packages {
		source += "\t_ " + strconv.Quote(module+p) + "\n"
	}
	dir := t.TempDir()
	file, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "main.exe")
	if err := os.WriteFile(file, []byte(source+")\n\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// The linker drops a large map that this program does not use, and would keep it for one that does: here all are kept.
	build := exec.CommandContext(t.Context(), "go", "build", "-gcflags="+module+"...=-d=wrapglobalmapctl=1", "-o", program, file)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	run := exec.CommandContext(t.Context(), program)
	run.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	run.Stderr = &trace
	if err := run.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &trace)
	}
	allocs := make(map[string]int)
	for line := range strings.Lines(trace.String()) {
		// init net/http @1.4 ms, 0.016 ms clock, 3616 bytes, 6 allocs
		words := strings.Fields(line)
		if len(words) < 3 || words[0] != "init" {
			continue
		}
		n, err := strconv.Atoi(words[len(words)-2])
		if err != nil || words[len(words)-1] != "allocs" {
			t.Fatalf("not understood: %s", line)
		}
		allocs[words[1]] = n
	}
	return allocs
}
