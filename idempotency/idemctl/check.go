package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/oncekey/oncekey/idempotency"
)

func checkCommand() *command {
	return &command{
		name: "check", args: "[-queue URL]", summary: "Hold the table, and a queue before it, against what the library needs", timeout: defaultTimeout,
		more: `
  ok           as it should be
  warning      works, and costs more, recovers less, or lets a late delivery run again
  error        the library does not work on it, or does not keep its promise, or the table grows for ever
  not checked  could not be asked; says why
It changes nothing. Exit code 1: there is an error; 4: there is none, but something could not be asked.
Needs dynamodb:DescribeTable, DescribeTimeToLive and DescribeContinuousBackups; with -queue sqs:GetQueueAttributes and sqs:GetQueueUrl, of
its dead-letter queue too.`,
		define: func(fs *flag.FlagSet) func(context.Context, *program, []string) error {
			c := &checker{}
			c.define(fs)
			fs.StringVar(&c.queue, "queue", "", "the `URL` of an SQS queue that a function on this table reads")
			fs.DurationVar(&c.retention, "retention", idempotency.DefaultRetention, "the program's Config.Retention, a `time`")
			fs.DurationVar(&c.unknownRetention, "unknown-retention", 0, "the program's Config.UnknownRetention, a `time` (default the longer of -retention and 24h)")
			return c.run
		},
	}
}

type checker struct {
	connection

	queue                       string
	retention, unknownRetention time.Duration
}

func (c *checker) run(ctx context.Context, p *program, args []string) error {
	if len(args) > 0 {
		return usage("unknown argument %q: check has flags only", args[0])
	}
	s, err := c.open(ctx, p)
	if err != nil {
		return err
	}
	// The library's own rules for names and times.
	if _, err := s.runner(ctx, s.client, p, idempotency.Config{Retention: c.retention, UnknownRetention: c.unknownRetention}); err != nil {
		return err
	}
	if c.unknownRetention == 0 {
		c.unknownRetention = max(c.retention, idempotency.DefaultRetention)
	}
	r := &report{Table: s.table, Region: s.aws.Region}
	checkTable(ctx, s, r)
	if c.queue != "" {
		checkQueue(ctx, s, c, r)
	}
	if c.json {
		if err := document(p.stdout, r, "  "); err != nil {
			return err
		}
	} else {
		r.write(p)
	}
	return r.verdict()
}

// level is how a rule is kept.
type level string

const (
	levelOK         level = "ok"
	levelWarning    level = "warning"
	levelError      level = "error"
	levelNotChecked level = "not checked"
)

// finding is one rule, and what was found.
type finding struct {
	Level level  `json:"level"`
	Rule  string `json:"rule"`
	Found string `json:"found"`
	Mend  string `json:"mend,omitempty"`
}

// report is what a check has found.
type report struct {
	Table    string    `json:"table"`
	Region   string    `json:"region"`
	Findings []finding `json:"findings"`
}

func (r *report) add(l level, rule, mend, found string, args ...any) {
	r.Findings = append(r.Findings, finding{l, rule, fmt.Sprintf(found, args...), mend})
}

func (r *report) ok(rule, found string, args ...any) { r.add(levelOK, rule, "", found, args...) }

func (r *report) warn(rule, mend, found string, args ...any) {
	r.add(levelWarning, rule, mend, found, args...)
}

func (r *report) fault(rule, mend, found string, args ...any) {
	r.add(levelError, rule, mend, found, args...)
}

// unasked is never taken for ok.
func (r *report) unasked(ctx context.Context, rule string, at place, err error) {
	r.add(levelNotChecked, rule, "", "%s", advice(ctx, at, err))
}

func (r *report) count(l level) (n int) {
	for _, f := range r.Findings {
		if f.Level == l {
			n++
		}
	}
	return n
}

func (r *report) write(p *program) {
	say(p.stdout, "table %s in %s\n\n", printable(r.Table), r.Region)
	t := newTable(p.stdout)
	for _, f := range r.Findings {
		t.row(string(f.Level), f.Rule, f.Found)
		if f.Mend != "" {
			t.row("", "", "-> "+f.Mend)
		}
	}
	t.flush()
	say(p.stdout, "\n%d ok, %d warnings, %d errors, %d not checked\n",
		r.count(levelOK), r.count(levelWarning), r.count(levelError), r.count(levelNotChecked))
}

func (r *report) verdict() error {
	switch {
	case r.count(levelError) > 0:
		return errProblems
	case r.count(levelNotChecked) > 0:
		return errUnasked
	}
	return nil
}
