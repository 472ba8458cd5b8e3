// Mutants takes each guard of the protocol out of the code in turn, and sees that a test fails for it:
//
//	go run ./.ci/mutants [-run REGEXP]
//
// A guard is a condition, an order or a formula that an invariant rests on: guards.go lists those of package idempotency with the
// test that holds each, guards_doors.go those of package lambda. The files themselves are never touched: the compiler is given
// other texts by an overlay. The program fails if a mutant lives, does not compile, or no longer fits the code, and if the tests do not
// pass on the code as it is.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"sync"
	"time"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("mutants: ")
	run := flag.String("run", "", "only guards whose name matches this `regexp`")
	flag.Parse()
	pattern, err := regexp.Compile(*run)
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err = mutate(ctx, pattern)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// atOnce is how many mutants are tested side by side.
const atOnce = 2

func mutate(ctx context.Context, pattern *regexp.Regexp) error {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	chosen := slices.DeleteFunc(slices.Clone(guards), func(g guard) bool { return !pattern.MatchString(g.name) })
	if len(chosen) == 0 {
		return fmt.Errorf("no guard's name matches %q", pattern)
	}

	if err := sound(ctx, chosen); err != nil {
		return err
	}

	var all sync.WaitGroup
	var mu sync.Mutex
	var failed []error
	places := make(chan struct{}, atOnce)
	for _, g := range chosen {
		all.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			start := time.Now()
			killer, err := g.kill(ctx, dir)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", g.name, err))
				fmt.Printf("FAILED  %-60s %v\n", g.name, err)
				return
			}
			fmt.Printf("killed  %-60s %s, %.1f s\n", g.name, killer, time.Since(start).Seconds())
		})
	}
	all.Wait()
	fmt.Printf("%d passed, %d failed\n", len(chosen)-len(failed), len(failed))
	return errors.Join(failed...)
}
