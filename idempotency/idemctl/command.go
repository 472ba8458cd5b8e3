package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// command is one of idemctl's.
type command struct {
	name, args, summary string
	timeout             time.Duration // default of -timeout; 0: none
	more                string        // the last paragraphs of its help

	// define adds the command's own flags, and returns what runs it once they are read. The error that it returns is told to
	// the caller by [program.fail].
	define func(fs *flag.FlagSet) (action func(ctx context.Context, p *program, args []string) error)
}

// commands are in the order of their help.
func commands() []*command {
	return []*command{getCommand(), listCommand(), resolveCommand(), checkCommand(), createCommand(), costCommand()}
}

func find(name string) *command {
	for _, c := range commands() {
		if c.name == name {
			return c
		}
	}
	return nil
}

// start reads the command line and runs the command, which ends with its time or with ctx.
func (c *command) start(ctx context.Context, p *program, args []string) error {
	fs, timeout, action := c.flags()
	positional, err := parse(fs, args)
	if errors.Is(err, flag.ErrHelp) {
		c.help(p.stdout)
		return nil
	}
	if err != nil {
		return usage("%w; see idemctl help %s", err, c.name)
	}
	if *timeout < 0 {
		return usage("-timeout is %s, must not be negative", *timeout)
	}
	if *timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, *timeout, timeUpError(*timeout))
		defer cancel()
	}
	return action(ctx, p, positional)
}

func (c *command) flags() (*flag.FlagSet, *time.Duration, func(context.Context, *program, []string) error) {
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // errors are told by the caller, in its own form
	timeout := fs.Duration("timeout", c.timeout, "end after this `time`; 0: never")
	return fs, timeout, c.define(fs)
}

// parse reads flags before, between and after the arguments, up to a "--".
func parse(fs *flag.FlagSet, args []string) (positional []string, err error) {
	for {
		if err := fs.Parse(args); err != nil {
			return nil, err
		}
		rest := fs.Args()
		read := len(args) - len(rest)
		if len(rest) == 0 || read > 0 && args[read-1] == "--" {
			return append(positional, rest...), nil
		}
		positional, args = append(positional, rest[0]), rest[1:]
	}
}

// given says which flags the command line has.
func given(fs *flag.FlagSet) map[string]bool {
	names := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { names[f.Name] = true })
	return names
}

// list is a flag that can be repeated.
type list []string

func (l *list) String() string { return strings.Join(*l, ", ") }

func (l *list) Set(s string) error {
	*l = append(*l, s)
	return nil
}

// choice is a flag with a few values.
type choice struct {
	value   string
	allowed []string
}

func (c *choice) String() string { return c.value }

func (c *choice) Set(s string) error {
	if !slices.Contains(c.allowed, s) {
		return fmt.Errorf("must be %s", strings.Join(c.allowed, ", "))
	}
	c.value = s
	return nil
}
