package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/oncekey/oncekey/localtest"
)

const functionPackage = "github.com/oncekey/oncekey/lambda/payments"

// build makes the function's bootstrap for this machine, and returns its path. It does without the flags that only make
// the file smaller or reproducible (-trimpath, CGO_ENABLED=0): with them the AWS SDK would be compiled a second time,
// which takes a minute.
func build(ctx context.Context, tb localtest.TB) (bootstrap string) {
	tb.Helper()
	dir, err := os.MkdirTemp("", "payments-demo-")
	if err != nil {
		tb.Fatalf("make a folder for the bootstrap: %v", err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) }) // a temporary folder that stays does no harm
	bootstrap = filepath.Join(dir, "bootstrap")
	cmd := exec.CommandContext(ctx, "go", "build", "-tags", "lambda.norpc", "-o", bootstrap, functionPackage)
	cmd.Env = append(cmd.Environ(), "GOTMPDIR="+dir) // an interrupted build leaves its own folder behind
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err = cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		err = fmt.Errorf("the Go tool is not in PATH: %w", err)
	}
	if err != nil {
		tb.Fatalf("build the bootstrap: %v\n%s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return bootstrap
}
