package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"

	"github.com/oncekey/oncekey/idempotency"
)

func getCommand() *command {
	return &command{
		name: "get", args: "ID | -operation O -scope S -key K", summary: "Show one record", timeout: defaultTimeout,
		more: `
The id is that of a log line, an error or "idemctl list"; use it behind HTTP and under tenant isolation, where the wrapper makes the
scope. A key on the command line can be seen by who looks at this machine's
processes and the shell's history.
An outcome that is sealed is told of and not shown: only the function's Config.Codec reads it. Exit code 3: there is no record; 4: its
outcome cannot be read. Needs dynamodb:GetItem, and BatchGetItem for outcomes over 384 KB as they are stored.`,
		define: func(fs *flag.FlagSet) func(context.Context, *program, []string) error {
			g := &get{fs: fs}
			g.define(fs)
			fs.StringVar(&g.operation, "operation", "", "with -key: the request's `operation`")
			fs.StringVar(&g.scope, "scope", "", "with -key: the request's `scope`, which is * where all callers share one")
			fs.StringVar(&g.key, "key", "", "the request's `key`, instead of an id")
			fs.Var(&g.secretFiles, "secret-file", "with -key: a `file` with the HMAC secret, without the newline at its end; once for each secret that is in use")
			fs.BoolVar(&g.outcome, "outcome", false, "show what is replayed, which may be a customer's data")
			fs.StringVar(&g.downstream, "downstream", "", "show the downstream key of this `name`, by which the other side can be asked")
			return g.run
		},
	}
}

type get struct {
	connection

	fs                    *flag.FlagSet
	operation, scope, key string
	secretFiles           list
	outcome               bool
	downstream            string
}

func (g *get) run(ctx context.Context, p *program, args []string) error {
	flags := given(g.fs)
	byKey := flags["key"] || flags["operation"] || flags["scope"] || flags["secret-file"]
	switch {
	case byKey && len(args) > 0:
		return usage("give an id, or -operation, -scope and -key, but not both")
	case byKey && (g.operation == "" || g.scope == "" || g.key == ""):
		return usage("which record? -operation, -scope and -key go together; a scope that all callers share is %q", idempotency.GlobalScope)
	case !byKey && len(args) != 1:
		return usage("which record? Give one id, or -operation, -scope and -key")
	}
	hmac, err := secrets(g.secretFiles)
	if err != nil {
		return err
	}
	s, err := g.open(ctx, p)
	if err != nil {
		return err
	}
	r, err := s.runner(ctx, s.client, p, idempotency.Config{Secrets: hmac})
	if err != nil {
		return err
	}
	ids := args
	if byKey {
		if ids, err = r.RecordIDs(idempotency.Request{Operation: g.operation, Scope: g.scope, Key: g.key, Input: idempotency.AnyInput}); err != nil {
			return explain(ctx, s.place(), err)
		}
	}
	rec, unread, err := firstOf(ctx, r, ids)
	if err != nil {
		return explain(ctx, s.place(), err)
	}
	if err := g.write(p, rec); err != nil {
		return err
	}
	if unread != nil && (g.outcome || !sealed(rec)) {
		return &exitError{exitUnasked, "the record's outcome cannot be read", unread}
	}
	return nil
}

// firstOf is the record with the first of the ids that has one: while secrets rotate, a request may have several.
func firstOf(ctx context.Context, r *idempotency.Runner, ids []string) (rec idempotency.Record, unread, err error) {
	for _, id := range ids {
		if rec, unread, err = recordOf(ctx, r, id); !errors.Is(err, idempotency.ErrNotFound) {
			break
		}
	}
	return rec, unread, err
}

func (g *get) write(p *program, rec idempotency.Record) error {
	now := p.now()
	if g.json {
		doc := toJSON(rec, now)
		if g.outcome {
			if json.Valid(rec.Outcome) {
				doc.Outcome = rec.Outcome
			} else {
				doc.OutcomeRaw = rec.Outcome
			}
		}
		if g.downstream != "" {
			doc.Downstream = &downstreamJSON{g.downstream, rec.DownstreamKey(g.downstream), rec.DownstreamUUID(g.downstream)}
		}
		return document(p.stdout, doc, "  ")
	}
	show(p.stdout, rec, now)
	if g.downstream != "" {
		say(p.stdout, "\ndownstream key   %s\ndownstream UUID  %s\n", rec.DownstreamKey(g.downstream), rec.DownstreamUUID(g.downstream))
	}
	if g.outcome && rec.Outcome != nil {
		say(p.stdout, "\n%s\n", visible(string(rec.Outcome)))
	}
	return nil
}
