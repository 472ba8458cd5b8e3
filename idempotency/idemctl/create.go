package main

import (
	"context"
	"errors"
	"flag"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
)

func createCommand() *command {
	return &command{
		name: "create-table", summary: "Make the table: on demand, with time to live", timeout: defaultTimeout,
		more: `
What is there already is left alone and said, so that the command can be repeated: after a time-out, or to turn time to live on. A table with
another key is a problem (exit code 1). Point-in-time recovery and deletion protection are yours to turn on; idemctl check says how.
Needs dynamodb:DescribeTable, CreateTable, DescribeTimeToLive and UpdateTimeToLive.`,
		define: func(fs *flag.FlagSet) func(context.Context, *program, []string) error {
			c := &creator{poll: time.Second}
			c.define(fs)
			return c.run
		},
	}
}

type creator struct {
	connection

	poll time.Duration // between two looks at a table that is being made
}

// created says what was done, and what was there.
type created struct {
	Table      string `json:"table"`
	Region     string `json:"region"`
	Created    bool   `json:"created"`
	Expiry     string `json:"expiry"`
	TTLEnabled bool   `json:"timeToLiveEnabled"` // now; false: it was on
}

func (c *creator) run(ctx context.Context, p *program, args []string) error {
	if len(args) > 0 {
		return usage("unknown argument %q: the table's name is given as -table", args[0])
	}
	s, err := c.open(ctx, p)
	if err != nil {
		return err
	}
	if _, err := s.runner(ctx, s.client, p, idempotency.Config{}); err != nil { // the library's own rules for names
		return err
	}
	done := created{Table: s.table, Region: s.aws.Region, Expiry: expiryOf(s.schema)}
	if done.Created, err = c.create(ctx, s); err != nil {
		return explain(ctx, s.place(), err)
	}
	if !c.json {
		say(p.stdout, "%s: %s\n", s.place(), pick(done.Created, "created", "is there already"))
	}
	if done.TTLEnabled, err = enable(ctx, s, done.Expiry); err != nil {
		return explain(ctx, s.place(), err)
	}
	if c.json {
		return document(p.stdout, done, "  ")
	}
	say(p.stdout, "time to live on %s: %s\n", done.Expiry, pick(done.TTLEnabled, "turned on", "is on already"))
	return nil
}

func pick(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

// create makes the table unless it is there, and waits until it is active with the key that it must have. made says that this
// call has made it; who meets another maker, or an earlier copy of the own request, finds out below that the table will do.
func (c *creator) create(ctx context.Context, s *session) (made bool, err error) {
	_, err = describe(ctx, s)
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); missing {
		made = true
		_, err = s.client.CreateTable(ctx, idempotency.Table(s.table, s.schema))
		if _, met := errors.AsType[*types.ResourceInUseException](err); met {
			err = nil
		}
	}
	for err == nil {
		var t *types.TableDescription
		t, err = describe(ctx, s)
		switch _, missing := errors.AsType[*types.ResourceNotFoundException](err); {
		case missing && made:
			err = nil // a description can lag behind
		case err != nil:
			return made, err
		case t.TableStatus == types.TableStatusActive || t.TableStatus == types.TableStatusUpdating:
			r := &report{}
			if checkKey(s, t, r); r.count(levelError) > 0 {
				return made, refuse("the %s has another key: %s", s.place(), r.Findings[0].Found)
			}
			return made, nil
		case t.TableStatus != types.TableStatusCreating:
			return made, refuse("the %s is %s, must be ACTIVE", s.place(), t.TableStatus)
		}
		select {
		case <-time.After(c.poll):
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return made, err
}

func describe(ctx context.Context, s *session) (*types.TableDescription, error) {
	out, err := s.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &s.table})
	if err != nil {
		return nil, err
	}
	return out.Table, nil
}

// enable turns time to live on, unless it is. An own request whose reply was lost fails on itself; what is there decides.
func enable(ctx context.Context, s *session, attribute string) (changed bool, err error) {
	on, err := expires(ctx, s, attribute)
	if on || err != nil {
		return false, err
	}
	_, err = s.client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               &s.table,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &attribute, Enabled: aws.Bool(true)},
	})
	if err != nil {
		if on, again := expires(ctx, s, attribute); on || again != nil {
			return on, again
		}
	}
	return err == nil, err
}

// expires says whether time to live is on; on another attribute is a problem.
func expires(ctx context.Context, s *session, attribute string) (bool, error) {
	out, err := s.client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &s.table})
	if err != nil {
		return false, err
	}
	d := out.TimeToLiveDescription
	if d == nil {
		return false, nil
	}
	switch d.TimeToLiveStatus {
	case types.TimeToLiveStatusEnabled, types.TimeToLiveStatusEnabling:
		if name := aws.ToString(d.AttributeName); name != attribute {
			return false, refuse("time to live of the %s is on %s, must be on %s: turn it off, and run this again an hour later", s.place(), name, attribute)
		}
		return true, nil
	case types.TimeToLiveStatusDisabling:
		return false, refuse("time to live of the %s is being turned off: run this again an hour later", s.place())
	default:
		return false, nil
	}
}
