// Command demo shows what the clients of the payments function get when something goes wrong: the real bootstrap runs as
// Lambda would run it, behind an HTTP API, with its reconciler, a worker behind a queue, a DynamoDB and a card processor, all on
// this machine, and is retried, flooded, cut off and killed. It prints a table, and fails if a line of it is not as it should
// be. Run it within the source tree; it needs Go and nothing else.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/oncekey/oncekey/lambda/payments/demo/frontdoor"
	"github.com/oncekey/oncekey/localtest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	addr := flag.String("serve", "", "keep the function up behind a front door on this host and port, instead of playing")
	door := flag.String("door", "http-api", "with -serve: the front door, "+strings.Join(frontdoor.Names(), ", "))
	flag.Parse()
	say := func(text string) { fmt.Println(text) }
	ok := localtest.Program("demo", log.New(os.Stderr, "demo: ", 0), func(tb localtest.TB) {
		if *addr != "" {
			serve(ctx, tb, *addr, *door, say)
			return
		}
		demo(ctx, tb, say)
	})
	if *addr != "" && ok {
		return // Ctrl-C is its end
	}
	if !ok || ctx.Err() != nil {
		os.Exit(1) // without stop: there is nothing left that a signal could interrupt
	}
	stop()
}

// demo plays every situation in a world of its own and says what came of it.
func demo(ctx context.Context, tb localtest.TB, say func(string)) {
	tb.Helper()
	say("Building the payments function ...\n")
	shared := begin(ctx, tb)
	began := time.Now()

	worlds := make([]*world, len(situations))
	for i, s := range situations {
		worlds[i] = newWorld(tb, shared, s) //nolint:contextcheck // it lasts until the end of tb
	}
	var slow sync.WaitGroup
	for i, s := range situations {
		if s.slow {
			slow.Go(func() { s.play(ctx, worlds[i]) })
		}
	}
	for i, s := range situations {
		if !s.slow {
			s.play(ctx, worlds[i])
		}
	}
	slow.Wait()
	if ctx.Err() != nil {
		say("Interrupted.")
		return
	}

	for _, w := range worlds {
		if err := w.end(ctx); err != nil {
			tb.Fatalf("%v", err)
		}
	}
	table, wrong := report(worlds)
	say(table)
	say("CHARGES are what the card processor has charged so far: customers, and the shop for commissions.\n" +
		"ROWS are the payments and commissions in the ledger in the end, one for each charge.\n" +
		"Of a batch, what is done is deleted from the queue.\n" +
		"httpclient is this module's RoundTripper: its client asked once, and was handed the last answer.")
	say(fmt.Sprintf("%d situations took %.1f s.", len(situations), time.Since(began).Seconds()))
	if wrong > 0 {
		tb.Fatalf("%d lines are not as expected", wrong)
	}
}
