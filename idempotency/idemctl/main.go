package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	code := run(ctx, os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// defaultTimeout is the default of -timeout.
const defaultTimeout = time.Minute

// The exit codes.
const (
	exitOK      = 0
	exitRefused = 1
	exitUsage   = 2
	exitMissing = 3
	exitUnasked = 4
)

// run is the command, given its surroundings; it returns the exit code. The SDK reads the process's own environment besides.
func run(ctx context.Context, args []string, env func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	out := &output{Writer: stdout}
	code := (&program{env: env, stdin: stdin, stdout: out, stderr: stderr, now: time.Now}).run(ctx, args)
	if out.err != nil && code == exitOK {
		say(stderr, "idemctl: the result could not be written: %v\n", out.err)
		return exitUnasked
	}
	return code
}

// output keeps the first error of its writer: a list that is cut off must not look like a short one.
type output struct {
	io.Writer

	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// program is the surroundings of a command.
type program struct {
	env            func(string) string
	stdin          io.Reader
	stdout, stderr io.Writer
	now            func() time.Time
}

func (p *program) run(ctx context.Context, args []string) int {
	if len(args) == 0 {
		overview(p.stderr)
		return exitUsage
	}
	if args[0] == "help" || isHelp(args[0]) {
		return p.help(args[1:])
	}
	c := find(args[0])
	if c == nil {
		return p.fail(usage("there is no command %q: idemctl help lists them", args[0]))
	}
	return p.fail(c.start(ctx, p, args[1:]))
}
