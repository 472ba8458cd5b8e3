package main

import (
	"context"
	"errors"
	"flag"
	"time"

	"github.com/oncekey/oncekey/idempotency"
)

const (
	listUnknown    = "unknown"
	listInProgress = "in-progress"
	listOpen       = "open"
)

func listCommand() *command {
	return &command{
		name: "list", args: "[-status unknown] [-operation O] [-older 10m]", summary: "List the records that wait for somebody",
		more: `
  unknown      its attempt has ended without telling: status UNKNOWN, or the lease is over
  in-progress  its attempt may still be running
  open         both
It reads the whole table, for half a read unit each 4 KB (idemctl cost shows the price), and has no time limit unless -timeout is
given. The order is the table's. AGE is the time since the attempt started.
Exit code 4: a record, or a part of the table, could not be read; the others are shown. Needs dynamodb:Scan.`,
		define: func(fs *flag.FlagSet) func(context.Context, *program, []string) error {
			l := &lister{status: choice{listUnknown, []string{listUnknown, listInProgress, listOpen}}}
			l.define(fs)
			fs.Var(&l.status, "status", "`which`: unknown, in-progress or open")
			fs.StringVar(&l.operation, "operation", "", "those of this `operation` only")
			fs.DurationVar(&l.older, "older", 0, "those whose attempt started at least this `time` ago")
			fs.BoolVar(&l.progress, "progress", false, "tell on stderr how far it is, also where that is no terminal")
			return l.run
		},
	}
}

type lister struct {
	connection

	status    choice
	operation string
	older     time.Duration
	progress  bool
}

func (l *lister) run(ctx context.Context, p *program, args []string) error {
	if len(args) > 0 {
		return usage("unknown argument %q: list has flags only", args[0])
	}
	if l.older < 0 {
		return usage("-older is %s, must not be negative", l.older)
	}
	s, err := l.open(ctx, p)
	if err != nil {
		return err
	}
	counted := &counter{Client: s.client}
	r, err := s.runner(ctx, counted, p, idempotency.Config{})
	if err != nil {
		return err
	}
	records := r.Unknowns(ctx)
	if l.status.value != listUnknown {
		records = r.Unfinished(ctx)
	}
	out := &listing{p: p, json: l.json, rows: newTable(p.stdout)}
	stop := out.watch(counted, l.progress || isTerminal(p.stderr))
	damaged, unread := false, error(nil)
	for rec, err := range records {
		switch {
		case errors.Is(err, idempotency.ErrBadRecord):
			damaged = true
			out.damaged(rec.ID, err)
		case err != nil && unread == nil:
			unread = err // the other parts of the table follow
		case err == nil && l.wants(rec, p.now()):
			out.add(rec)
		}
	}
	stop()
	if out.found == 0 && unread == nil && !damaged {
		say(p.stderr, "idemctl: none\n")
	}
	if unread != nil {
		return explain(ctx, s.place(), unread)
	}
	if damaged {
		return errUnasked
	}
	return nil
}

func (l *lister) wants(rec idempotency.Record, now time.Time) bool {
	return (l.operation == "" || rec.Operation == l.operation) &&
		now.Sub(rec.Started) >= l.older &&
		(l.status.value != listInProgress || !rec.Unknown(now))
}
