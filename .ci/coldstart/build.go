package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// The Makefile's, for functions.
var (
	buildFlags = []string{"-tags", "lambda.norpc", "-trimpath", "-ldflags", "-s -w"}
	buildEnv   = []string{"CGO_ENABLED=0"}
)

// build makes the bootstrap as the file path.
func (b *bootstrap) build(ctx context.Context, path string) error {
	args := append([]string{"build"}, buildFlags...)
	cmd := exec.CommandContext(ctx, "go", append(args, "-o", path, "./.ci/coldstart/"+b.name)...)
	cmd.Env = append(os.Environ(), buildEnv...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", b.name, err, out)
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	b.path, b.size = path, info.Size()
	return nil
}
