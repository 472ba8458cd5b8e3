// Peers puts the same load on this library and on others of its kind, each in a process of its own, and prints how they
// compare as a Markdown table: .ci/peers/run installs and builds the workers and starts it.
//
//	go run ./.ci/peers -worker COMMAND [-worker COMMAND]... [-write FILE]
//
// The first worker is the one that the others are compared with. The DynamoDB is the embedded one, in this process, so
// that calls and units are counted and its own time is nobody's.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/oncekey/oncekey/.ci/page"
	"github.com/oncekey/oncekey/localtest"
)

// limit is how long all of it may take; it takes one to two minutes.
const limit = 10 * time.Minute

// plan is how much is measured.
type plan struct {
	rounds, operations int
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("peers: ")
	var commands []string
	var p plan
	worker := func(command string) error {
		commands = append(commands, command)
		return nil
	}
	flag.Func("worker", "executable and arguments of a library's worker, separated by spaces; may be repeated", worker)
	flag.IntVar(&p.rounds, "rounds", 3, "how often everything is measured; the median is shown")
	flag.IntVar(&p.operations, "operations", 1000, "operations of one kind in a round")
	file := flag.String("write", "", "Markdown `file` to write the table into, as its block "+block)
	flag.Parse()
	if flag.NArg() > 0 || len(commands) == 0 || p.rounds < 1 || p.operations < 1 {
		flag.Usage()
		os.Exit(2)
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done within %v", limit))
	defer cancel()
	if err := run(ctx, commands, p, *file); err != nil {
		log.Fatal(err) // the workers end with their standard input
	}
}

func run(ctx context.Context, commands []string, p plan, file string) error {
	if file != "" { // before minutes of work
		if err := page.Check(file, block); err != nil {
			return err
		}
	}
	var workers []*worker
	ok := localtest.Program("peers", log.Default(), func(tb localtest.TB) {
		var err error
		if workers, err = measure(ctx, tb, commands, p); err != nil {
			tb.Fatalf("%v", err)
		}
	})
	if !ok { // it has said why
		return errors.New("no table: figures of which something is wrong are none")
	}
	text := report(workers, p, time.Now(), machine(ctx))
	fmt.Print(text)
	if file == "" {
		return nil
	}
	return page.Replace(file, block, text)
}

// measure plays the plan with all workers, taking turns, and ends them.
func measure(ctx context.Context, tb localtest.TB, commands []string, p plan) ([]*worker, error) {
	tb.Helper()
	var workers []*worker
	for _, command := range commands {
		w, err := start(ctx, tb, command)
		if err != nil {
			return nil, err
		}
		workers = append(workers, w)
	}
	for _, w := range workers {
		if err := w.warmUp(ctx); err != nil {
			return nil, err
		}
	}
	for round := range p.rounds {
		for _, k := range kinds {
			for _, w := range workers { // in turn, so that what else the machine does meets them alike
				if err := w.measure(ctx, k, round+1, p.operations); err != nil {
					return nil, err
				}
			}
		}
	}
	var failed []error
	for _, w := range workers {
		failed = append(failed, w.end())
	}
	return workers, errors.Join(failed...)
}
