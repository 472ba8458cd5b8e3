package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// results are measured values by benchmark and unit, one for each time that it was run.
type results map[string]map[string][]float64

func (r results) add(name, unit string, value float64) {
	if r[name] == nil {
		r[name] = map[string][]float64{}
	}
	r[name][unit] = append(r[name][unit], value)
}

// all of a benchmark's values in a unit; an error if there are none, since a budget that is not measured is not kept.
func (r results) all(name, unit string) ([]float64, error) {
	values := r[name][unit]
	if len(values) == 0 {
		return nil, fmt.Errorf("%s has told no %s", name, unit)
	}
	return values, nil
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	if n := len(sorted); n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[len(sorted)/2]
}

// binaries are those of the packages' tests: where they are built, and run.
type binaries struct {
	dir string
	cpu string // as the benchmarks have told
}

// binary of the package's tests, built once.
func (w *binaries) binary(ctx context.Context, pkg string) (string, error) {
	file := filepath.Join(w.dir, pkg+".test")
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	out, err := exec.CommandContext(ctx, "go", "test", "-c", "-o", file, "./"+pkg).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go test -c ./%s: %w\n%s", pkg, err, out)
	}
	return file, nil
}

// measure runs benchmarks. Each time is a process of its own, with both sides of a pair in it, so that whatever the machine
// does besides hits both.
func (w *binaries) measure(ctx context.Context, r run, into results) error {
	file, err := w.binary(ctx, r.pkg)
	if err != nil {
		return err
	}
	test := r.test
	if test == "" {
		test = "^$"
	}
	for range r.times {
		c := exec.CommandContext(ctx, file, "-test.v", "-test.run="+test, "-test.bench="+r.bench, "-test.benchmem",
			fmt.Sprintf("-test.benchtime=%dx", r.iterations))
		c.Dir = r.pkg
		out, err := c.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(c.Args, " "), err, out)
		}
		w.cpu = read(out, into)
	}
	return nil
}

var (
	benchmarkLine = regexp.MustCompile(`^(Benchmark\S+?)(?:-\d+)?\s+\d+\s+(.+)$`)
	attributeLine = regexp.MustCompile(`^=== ATTR\s+(\S+) (\S+) (\S+)$`)
)

// read takes the values out of what a test binary has printed, and returns the CPU's name.
func read(out []byte, into results) (cpu string) {
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "cpu: "); ok {
			cpu = name
		}
		if m := attributeLine.FindStringSubmatch(lines.Text()); m != nil {
			if value, err := strconv.ParseFloat(m[3], 64); err == nil {
				into.add(m[1], m[2], value)
			}
		}
		m := benchmarkLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		words := strings.Fields(m[2])
		for i := 0; i+1 < len(words); i += 2 {
			if value, err := strconv.ParseFloat(words[i], 64); err == nil {
				into.add(m[1], words[i+1], value)
			}
		}
	}
	return cpu
}
