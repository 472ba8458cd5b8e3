// Coldstart measures what the library adds to the start of a function that has the DynamoDB client already:
//
//	go run ./.ci/coldstart [-runs 25]
//
// It builds bootstraps as the Makefile builds functions, for this machine, and lets each one ask a Runtime API on loopback
// for its first event, in turns, from the start of the process on. Medians and sizes of the bootstrap in with are compared with
// those of the one in without; more than the budgets is an error. The other bootstraps are only told of.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("coldstart: ")
	runs := flag.Int("runs", 25, "how often each bootstrap is started")
	flag.Parse()
	if flag.NArg() > 0 || *runs < 1 {
		log.Fatal("usage: coldstart [-runs N], at least 1")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *runs); err != nil {
		log.Fatal(err)
	}
}

// bootstraps are what is built and started; the first one is what the others are compared with, and the second one has the
// budgets.
func bootstraps() []*bootstrap {
	return []*bootstrap{
		{name: "without", what: "the DynamoDB client alone"},
		{name: "with", what: "`idempotency.New` and `lambda.Wrap`"},
		{name: "withhttp", what: "`lambda.HTTPAPI` instead"},
		{name: "withtx", what: "`lambda.Wrap` and staged writes"},
		{name: "withcache", what: "`lambda.Wrap` and `Config.Cache`"},
	}
}

// bootstrap is a program of a folder beside this one, and what was measured of it.
type bootstrap struct {
	name, what string
	path       string
	size       int64
	starts     []start
}

// start is one start: until the process has asked for an event, and what it had taken of the processors by then.
type start struct{ wall, processor time.Duration }

func run(ctx context.Context, runs int) (err error) {
	dir, err := os.MkdirTemp("", "coldstart")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	all := bootstraps()
	for _, b := range all {
		if err := b.build(ctx, filepath.Join(dir, b.name)); err != nil {
			return err
		}
	}
	if err := measure(ctx, all, runs); err != nil {
		return err
	}
	fmt.Print(heading(time.Now(), runs), table(all))
	text, err := verdict(all[0], all[1])
	fmt.Print(text)
	return err
}
