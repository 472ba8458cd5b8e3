package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/oncekey/oncekey/localtest"
)

const functionPackage = "github.com/oncekey/oncekey/lambda/payments"

// function is the built example.
type function struct {
	bootstrap string            // path of the executable
	events    map[string][]byte // by file name without ".json"
}

// build makes the bootstrap for this machine and reads the event files beside it. It does without the flags that
// only make the file smaller or reproducible (-trimpath, CGO_ENABLED=0): with them the AWS SDK would be compiled a
// second time, which takes a minute.
func build(ctx context.Context, tb localtest.TB) function {
	tb.Helper()
	dir, err := os.MkdirTemp("", "payments-demo-")
	if err != nil {
		tb.Fatalf("make a folder for the bootstrap: %v", err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) }) // a temporary folder that stays does no harm
	source, err := goTool(ctx, dir, "list", "-f", "{{.Dir}}", functionPackage)
	if err != nil {
		tb.Fatalf("find the source of %s: %v", functionPackage, err)
	}
	f := function{bootstrap: filepath.Join(dir, "bootstrap"), events: map[string][]byte{}}
	if _, err := goTool(ctx, dir, "build", "-tags", "lambda.norpc", "-o", f.bootstrap, functionPackage); err != nil {
		tb.Fatalf("build the bootstrap: %v", err)
	}
	files, err := filepath.Glob(filepath.Join(source, "testdata", "events", "*.json"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("no event files in %s: %v", filepath.Join(source, "testdata", "events"), err)
	}
	for _, file := range files {
		event, err := os.ReadFile(file)
		if err != nil {
			tb.Fatalf("read an event: %v", err)
		}
		f.events[strings.TrimSuffix(filepath.Base(file), ".json")] = event
	}
	return f
}

// goTool runs the go command, whose temporary files go to dir.
func goTool(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Env = append(cmd.Environ(), "GOTMPDIR="+dir) // an interrupted build leaves its own folder behind
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("the Go tool is not in PATH, and it is needed to build the function: %w", err)
	}
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimSpace(string(out)), nil
}
