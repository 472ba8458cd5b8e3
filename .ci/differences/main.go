// Differences runs a package's tests on a DynamoDB that the environment names, and compares what fails with a table of
// the differences that are known there:
//
//	LOCALTEST_DYNAMODB=http://127.0.0.1:8000 go run ./.ci/differences TABLE PACKAGE
//
// A test that fails and is not in the table is an error, and so is one that came to no end, and a line of the table
// whose test passes or does not exist: the table says no less and no more than what is so.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

func main() {
	log.SetFlags(0)
	parallel := flag.Int("parallel", 0, "how many tests run at once; 0: as go test has it")
	flag.Usage = func() {
		log.Print("usage: differences [-parallel N] TABLE PACKAGE")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 2 {
		flag.Usage()
		os.Exit(2)
	}
	text, err := run(context.Background(), flag.Arg(0), flag.Arg(1), *parallel)
	fmt.Print(text)
	if err != nil {
		log.Fatal(err)
	}
}

// run is what there is to say, and an error if the tests and the table do not agree.
func run(ctx context.Context, file, pkg string, parallel int) (string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	known, err := parseTable(string(b))
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	names, err := list(ctx, pkg)
	if err != nil {
		return "", err
	}
	args := []string{"test", "-json", "-count=1", "-timeout=3m"}
	if parallel > 0 {
		args = append(args, "-parallel="+strconv.Itoa(parallel))
	}
	if skip := known.skipPattern(); skip != "" {
		args = append(args, "-skip="+skip)
	}
	results, err := test(ctx, append(args, pkg))
	if err != nil {
		return "", err
	}
	c := compare(known, names, results)
	title := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	return c.report(title), c.problem(file)
}

// list is the names of the package's tests.
func list(ctx context.Context, pkg string) ([]string, error) {
	out, err := exec.CommandContext(ctx, "go", "test", "-list", "^Test", pkg).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("list the tests of %s: %w\n%s", pkg, err, out)
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "Test") {
			names = append(names, strings.TrimSpace(line))
		}
	}
	return names, nil
}

// test runs go test; that tests fail is no error.
func test(ctx context.Context, args []string) (results, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stream, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	found, other, err := read(stream)
	if err != nil { // go test must not wait for somebody to read on
		_, _ = io.Copy(io.Discard, stream)
	}
	ended := cmd.Wait()
	switch _, failed := errors.AsType[*exec.ExitError](ended); {
	case err != nil:
		return nil, fmt.Errorf("read the results: %w", err)
	case ended != nil && (!failed || !found.anyFailed()):
		return nil, fmt.Errorf("go %s: %w\n%s%s", strings.Join(args, " "), ended, other, &stderr)
	}
	return found, nil
}
