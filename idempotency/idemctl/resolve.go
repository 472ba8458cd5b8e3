package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/oncekey/oncekey/idempotency"
)

func resolveCommand() *command {
	return &command{
		name: "resolve", args: "ID -as completed|failed|not-done", summary: "Say what has happened to a record whose outcome is unknown", timeout: defaultTimeout,
		more: `
  completed  it took place. -value is what the handler would have returned, as JSON: it is what every retry gets. Behind HTTP the
             value is an answer, a refusal too: give -http-status, -http-header and -http-body, and the value is made of them
  failed     it has failed for good; every retry gets the error
  not-done   nothing has happened, apart from recorded steps: the next request runs. Wait until no late attempt can still act

It asks before it writes. If the record has another attempt or an outcome by then, nothing is written (exit code 1). After a
lost reply it says what is there. A record that says already what is to be recorded is left alone (exit code 0), so that the command can be
repeated. What the handler would have done besides its effect, such as a row of a ledger, comes before.
The value is stored in clear, also where the function's Config.Codec seals its own answers: there, a program with that Config resolves
(Runner.Resolve). Exit code 3: there is no such record. Needs dynamodb:GetItem and UpdateItem; for a value over 1.5 KB PutItem, and
BatchWriteItem and BatchGetItem for one over 384 KB, as they are stored.`,
		define: func(fs *flag.FlagSet) func(context.Context, *program, []string) error {
			r := &resolver{}
			r.define(fs)
			r.verdict.define(fs)
			fs.BoolVar(&r.yes, "yes", false, "do not ask")
			fs.DurationVar(&r.retention, "retention", idempotency.DefaultRetention, "how long the outcome is replayed from now on, as in the program's Config, a `time`; the record's own end is never shortened")
			fs.DurationVar(&r.unknownRetention, "unknown-retention", 0, "the same of the program's UnknownRetention, for not-done, a `time` (default the longer of -retention and 24h)")
			return r.run
		},
	}
}

type resolver struct {
	connection

	verdict                     verdict
	yes                         bool
	retention, unknownRetention time.Duration
}

func (r *resolver) run(ctx context.Context, p *program, args []string) error {
	if len(args) != 1 {
		return usage("which record? Give one id")
	}
	if err := r.verdict.read(); err != nil {
		return err
	}
	s, err := r.open(ctx, p)
	if err != nil {
		return err
	}
	runner, err := s.runner(ctx, s.client, p, idempotency.Config{Retention: r.retention, UnknownRetention: r.unknownRetention})
	if err != nil {
		return err
	}
	rec, _, err := recordOf(ctx, runner, args[0]) // an outcome that cannot be read is one all the same
	if err != nil {
		return explain(ctx, s.place(), err)
	}
	if r.verdict.recordedIn(rec) {
		return r.tell(p, rec, "nothing to do: the record says so already")
	}
	if !rec.Unknown(p.now()) {
		r.show(p, rec)
		return refuse("%s", whyNot(rec, p.now()))
	}
	if !r.yes {
		show(p.stderr, rec, p.now())
		if r.verdict.as.value != asNotDone {
			say(p.stderr, "\nAn outcome is never changed, and whether it is in the form that the handler has cannot be seen here.")
		}
		say(p.stderr, "\nresolve %s as %s? [y/N] ", printable(rec.ID), r.verdict.describe())
		if !agreed(ctx, p.stdin) {
			say(p.stderr, "\n")
			return refuse("nothing was written")
		}
	}
	return r.settle(ctx, p, s, runner, rec)
}

// lookAfter is how long the record is read after the write, also when the command's own time is over.
const lookAfter = 5 * time.Second

// settle writes, and says what the record is afterwards. The write is guarded by the token that was shown, so whoever was
// faster wins, and a lost reply is looked up.
func (r *resolver) settle(ctx context.Context, p *program, s *session, runner *idempotency.Runner, found idempotency.Record) error {
	written := runner.Resolve(ctx, found, r.verdict.resolution)
	if _, ours := errors.AsType[*idempotency.StateError](written); written != nil && !ours {
		return refuse("%v", written) // the value is too long
	}
	for _, nothing := range []error{idempotency.ErrUnavailable, idempotency.ErrNotFound, idempotency.ErrBadRecord} {
		if errors.Is(written, nothing) {
			return explain(ctx, s.place(), written)
		}
	}
	looking, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookAfter)
	defer cancel()
	now, _, err := recordOf(looking, runner, found.ID)
	switch done := "resolved as " + r.verdict.as.value; {
	case err != nil && written == nil:
		return &exitError{exitUnasked, done + ", but the record could not be read again", err}
	case err == nil && (errors.Is(written, idempotency.ErrLeaseLost) || errors.Is(written, idempotency.ErrInProgress)):
		r.show(p, now)
		return refuse("nothing was written: somebody was faster, and this is what the record is now")
	case err != nil:
		return &exitError{exitUnasked, "it may be written, or not: run the same command again, which finds out", written}
	case written == nil:
		return r.tell(p, now, done)
	case r.verdict.recordedIn(now):
		return r.tell(p, now, done+": there was no answer, but the record says so")
	case now.Token == found.Token:
		r.show(p, now)
		return &exitError{exitUnasked, "there was no answer, and nothing is written so far: run the same command again", written}
	}
	r.show(p, now)
	return refuse("nothing was written: somebody was faster, and this is what the record is now")
}

func (r *resolver) tell(p *program, rec idempotency.Record, what string) error {
	say(p.stderr, "idemctl: %s\n", what)
	r.show(p, rec)
	return nil
}

func (r *resolver) show(p *program, rec idempotency.Record) {
	if r.json {
		_ = document(p.stdout, toJSON(rec, p.now()), "  ") // a reader that has gone is told of nothing
		return
	}
	show(p.stdout, rec, p.now())
}

// whyNot says why a record is nothing to resolve.
func whyNot(rec idempotency.Record, now time.Time) string {
	switch rec.Status {
	case statusInProgress:
		return fmt.Sprintf("attempt %d may still be running: its lease ends %s", rec.Attempt, distance(rec.LeaseEnd, now))
	case statusReleased:
		return "nothing is unknown: the record was released, and the next request runs"
	}
	return fmt.Sprintf("the record has an outcome, of %s, which is never changed", moment(rec.Completed))
}

// agreed reads the answer; no answer is a no, and so is the end of ctx.
func agreed(ctx context.Context, stdin io.Reader) bool {
	answer := make(chan string, 1)
	go func() { // a read of a terminal cannot be called off: it ends with the process
		line, _ := bufio.NewReader(stdin).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case a := <-answer:
		return a == "y" || a == "yes"
	case <-ctx.Done():
		return false
	}
}
