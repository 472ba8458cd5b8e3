package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// guards are all there are.
var guards = slices.Concat(recordGuards, doorGuards)

// guard is what a mutant lacks: text of a file in the place of which the mutant has another.
type guard struct {
	name     string
	file     string // from the module's folder
	text     string
	instead  string
	heldBy   string // a regular expression of tests' names
	deadline bool   // the mutant never ends: the tests' time-out is its end
}

var (
	errLives = errors.New("its tests pass without it")
	errBuild = errors.New("the mutant does not compile")
	failure  = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
)

// kill runs the tests on the mutant and returns the one that has failed.
func (g guard) kill(ctx context.Context, dir string) (killer string, err error) {
	overlay, err := g.overlay(dir)
	if err != nil {
		return "", err
	}
	out, err := goTest(ctx, g.heldBy, path.Dir(g.file), "-overlay="+overlay, "-failfast", "-timeout=180s")
	exit, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil && strings.Contains(string(out), "no tests to run"):
		return "", fmt.Errorf("no test is called %s", g.heldBy)
	case err == nil:
		return "", errLives
	case !ok || !exit.Exited():
		return "", err
	case strings.Contains(string(out), "[build failed]"):
		return "", fmt.Errorf("%w:\n%s", errBuild, out)
	}
	return killerIn(string(out), g.deadline)
}

// goTest builds in the way that takes least time: without vet, symbols and optimisation.
func goTest(ctx context.Context, run, folder string, more ...string) ([]byte, error) {
	args := append([]string{"test", "-vet=off", "-gcflags=-N -l", "-ldflags=-s -w", "-count=1", "-run=" + run}, more...)
	return exec.CommandContext(ctx, "go", append(args, "./"+folder)...).CombinedOutput() //nolint:gosec // the arguments are guards.go's
}

// sound sees that the tests of the guards pass on the code as it is: one that fails anyway would kill every mutant.
func sound(ctx context.Context, guards []guard) error {
	held := map[string][]string{}
	for _, g := range guards {
		folder := path.Dir(g.file)
		held[folder] = append(held[folder], g.heldBy)
	}
	for _, folder := range slices.Sorted(maps.Keys(held)) {
		if out, err := goTest(ctx, strings.Join(held[folder], "|"), folder); err != nil {
			return fmt.Errorf("the tests fail on the code as it is: %w\n%s", err, out)
		}
	}
	return nil
}

// killerIn is the first test that has failed.
func killerIn(out string, deadline bool) (string, error) {
	switch m := failure.FindStringSubmatch(out); {
	case m != nil:
		return m[1], nil
	case strings.Contains(out, "panic: test timed out"):
		if deadline {
			return "the time-out", nil
		}
		return "", fmt.Errorf("the tests never end, which says nothing:\n%s", out)
	case strings.Contains(out, "panic: ") || strings.Contains(out, "fatal error: "):
		return "a panic", nil
	}
	return "", fmt.Errorf("no test has failed, but go test has:\n%s", out)
}

// overlay is a file for go test's -overlay.
func (g guard) overlay(dir string) (string, error) {
	file, err := filepath.Abs(g.file)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(file) //nolint:gosec // of the package
	if err != nil {
		return "", err
	}
	mutant, err := g.in(string(text))
	if err != nil {
		return "", err
	}
	place, err := os.MkdirTemp(dir, "")
	if err != nil {
		return "", err
	}
	other := filepath.Join(place, path.Base(g.file))
	if err := os.WriteFile(other, []byte(mutant), 0o600); err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {file: other}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(place, "overlay.json")
	return overlay, os.WriteFile(overlay, list, 0o600)
}

// in is the text of a file without the guard.
func (g guard) in(text string) (string, error) {
	if n := strings.Count(text, g.text); n != 1 {
		return "", fmt.Errorf("%s has %d times, and not once:\n%s", g.file, n, g.text)
	}
	return strings.Replace(text, g.text, g.instead, 1), nil
}
