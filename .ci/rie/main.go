// Command rie checks the payments function under AWS's own emulator of Lambda's runtime: the bootstrap as it is
// deployed, the emulator, the embedded DynamoDB as a server, and a card processor that counts. It takes the folder of
// their executables, runs from the top of the source tree, and prints a line for each check.
//
// One invocation at a time: the emulator takes no more.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// limit is for all of it, which takes some seconds.
const limit = 2 * time.Minute

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: rie FOLDER, with the executables aws-lambda-rie, bootstrap and dynamodb in it")
		os.Exit(2)
	}
	// SIGPIPE, too: whoever reads the lines may leave (as head does), and the processes must not be left behind.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	err := run(ctx, os.Args[1])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "rie:", err)
		os.Exit(1)
	}
}

// run returns when every process that it started has ended.
func run(ctx context.Context, bin string) (err error) {
	began := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done within %v", limit))
	defer cancel()
	w, err := newWorld(ctx, bin)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close()) }()

	wrong := 0
	all := slices.Concat(checks, httpChecks)
	for _, c := range all {
		problems, err := w.play(ctx, c)
		if err != nil {
			return fmt.Errorf("%s: %w\nthe emulator wrote:\n%s", c.what, err, w.log())
		}
		verdict := "ok    "
		if len(problems) > 0 {
			verdict = "WRONG "
			wrong++
		}
		fmt.Println(verdict + c.what)
		for _, p := range problems {
			fmt.Println("      " + p)
		}
	}
	fmt.Printf("%d checks took %.1f s.\n", len(all), time.Since(began).Seconds())
	if wrong > 0 {
		return fmt.Errorf("%d of %d checks are wrong; the emulator wrote:\n%s", wrong, len(all), w.log())
	}
	return nil
}
