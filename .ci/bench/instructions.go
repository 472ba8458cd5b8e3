package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// counter is how instructions are counted.
type counter string

const (
	byPerf     counter = "counted by perf"
	byValgrind counter = "counted by valgrind, which has no SHA instructions, so without SHA-256's block function"
	uncounted  counter = "not counted, neither perf nor valgrind"
)

// findCounter prefers perf: a virtual machine has often no counters of its CPU.
func findCounter(ctx context.Context) counter {
	if _, err := perf(ctx, "true"); err == nil {
		return byPerf
	}
	if _, err := exec.LookPath("valgrind"); err == nil {
		return byValgrind
	}
	return uncounted
}

// few and many iterations: what they differ by is that of the iterations alone.
const few, many = 50, 550

// instructions counts those of an iteration for each pair whose budget asks for them, and its baseline; by benchmark.
func (w *binaries) instructions(ctx context.Context, by counter, of []pair) (map[string]float64, error) {
	counted := map[string]float64{}
	if by == uncounted {
		return counted, nil
	}
	files := map[string]string{} // test binary by benchmark
	for _, p := range of {
		if !p.counted() {
			continue
		}
		file, err := w.binary(ctx, p.pkg)
		if err != nil {
			return nil, err
		}
		files[p.ours], files[p.base] = file, file
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	var failed error
	two := make(chan struct{}, 2) // at once; a count does not depend on what else runs
	for name, file := range files {
		all.Go(func() {
			two <- struct{}{}
			defer func() { <-two }()
			n, err := perIteration(func(iterations int) (float64, error) { return count(ctx, by, file, name, iterations) })
			mu.Lock()
			defer mu.Unlock()
			if counted[name] = n; err != nil {
				failed = fmt.Errorf("instructions of %s: %w", name, err)
			}
		})
	}
	all.Wait()
	return counted, failed
}

// perIteration takes the median of three: where maps are laid out is another matter in each process, and shows.
func perIteration(count func(iterations int) (float64, error)) (float64, error) {
	before, err := count(few)
	if err != nil {
		return 0, err
	}
	var after [3]float64
	for i := range after {
		if after[i], err = count(many); err != nil {
			return 0, err
		}
	}
	return (median(after[:]) - before) / (many - few), nil
}

// count runs a benchmark on one thread, without the garbage collector, whose work is that of the whole process's heap.
func count(ctx context.Context, by counter, file, name string, iterations int) (float64, error) {
	command := []string{file, "-test.run=^$", "-test.bench=" + exactly(name), fmt.Sprintf("-test.benchtime=%dx", iterations)}
	if by == byPerf {
		return perf(ctx, command...)
	}
	return cachegrind(ctx, filepath.Dir(file), command...)
}

// exactly is the pattern of that benchmark alone.
func exactly(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

func command(ctx context.Context, words ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, words[0], words[1:]...) //nolint:gosec // perf or valgrind, with what was built here
	c.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=off", "GODEBUG=asyncpreemptoff=1")
	return c
}

func perf(ctx context.Context, words ...string) (float64, error) {
	out, err := command(ctx, append([]string{"perf", "stat", "-x", ",", "-e", "instructions:u"}, words...)...).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("perf: %w\n%s", err, out)
	}
	return readPerf(string(out))
}

// readPerf finds the line "123456,,instructions:u,…"; a machine that cannot count says "<not supported>" there.
func readPerf(out string) (float64, error) {
	for line := range strings.Lines(out) {
		if number, rest, _ := strings.Cut(line, ","); strings.Contains(rest, "instructions:u") {
			return strconv.ParseFloat(number, 64)
		}
	}
	return 0, fmt.Errorf("perf has told no instructions:\n%s", out)
}

func cachegrind(ctx context.Context, dir string, words ...string) (float64, error) {
	file, err := os.CreateTemp(dir, "cachegrind")
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }()
	tool := []string{"valgrind", "--tool=cachegrind", "--cache-sim=no", "--branch-sim=no", "--cachegrind-out-file=" + file.Name()}
	if out, err := command(ctx, append(tool, words...)...).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("valgrind: %w\n%s", err, out)
	}
	return readCachegrind(bufio.NewScanner(file))
}

// hashing is SHA-256's block function. Without the CPU's instructions for it, which every machine that runs Lambda has, it would
// be a quarter of the whole, most of it the SDK's signature.
const hashing = "crypto/internal/fips140/sha256.block"

// readCachegrind adds up the lines "line count" behind each "fn=name".
func readCachegrind(lines *bufio.Scanner) (sum float64, err error) {
	function := ""
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "fn="); ok {
			function = name
			continue
		}
		words := strings.Fields(lines.Text())
		if len(words) != 2 || strings.HasPrefix(function, hashing) {
			continue
		}
		if _, err := strconv.Atoi(words[0]); err != nil {
			continue // a header
		}
		n, err := strconv.ParseFloat(words[1], 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	if sum == 0 {
		return 0, fmt.Errorf("no counts in cachegrind's file: %w", lines.Err())
	}
	return sum, lines.Err()
}
