package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// firstMinutes does what a user does first, in a new module: gets this one, types the quick start in, builds it, runs its test, and
// installs idemctl. Until a release is published the new module is told that this one lies here; that apart, the lines are the
// documents' own.
func firstMinutes(ctx context.Context, folder string) (*world, error) {
	repository, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	w := &world{repository: repository, module: filepath.Join(folder, "shop"), bin: filepath.Join(folder, "bin")}
	if problem := w.run(ctx, held{command: "go mod download", limit: 2 * time.Minute}); problem != "" {
		return nil, fmt.Errorf("go mod download: %s", problem)
	}
	began := time.Now()
	lies := "go mod edit -replace " + module + "=" + quoted(repository)
	if err := w.steps(ctx, w.module, "go mod init example.com/shop", lies, "go get "+module); err != nil {
		return nil, err
	}
	for _, name := range []string{"main.go", "main_test.go"} {
		text, err := os.ReadFile(filepath.Join("lambda", "quickstart", name))
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(w.module, name), text, 0o600); err != nil {
			return nil, err
		}
	}
	if err := w.steps(ctx, w.module, "go mod tidy", "go vet .", "GOOS=linux GOARCH=arm64 go build -o bootstrap .", "go test -count=1 ./..."); err != nil {
		return nil, err
	}
	log.Printf("the first five minutes: from an empty folder to the quick start built and its test passed in %.0f s", time.Since(began).Seconds())

	// What go install does with @latest: a module of its own, with this one's versions.
	const idemctl = module + "/idempotency/idemctl"
	began = time.Now()
	err = w.steps(ctx, filepath.Join(folder, "install"), "go mod init example.com/install", lies, "go get "+idemctl, "GOBIN="+quoted(w.bin)+" go install "+idemctl, quoted(filepath.Join(w.bin, "idemctl"))+" help")
	if err != nil {
		return nil, err
	}
	log.Printf("idemctl is installed in %.0f s", time.Since(began).Seconds())
	return w, nil
}

// steps runs command lines in a folder, one after the other, until one fails.
func (w *world) steps(ctx context.Context, folder string, lines ...string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	in := *w
	in.module = folder
	for _, line := range lines {
		if problem := in.run(ctx, held{command: line, where: newModule}); problem != "" {
			return fmt.Errorf("in a new module: %s: %s", line, problem)
		}
	}
	return nil
}

// quoted is text as one word of a shell's line.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
