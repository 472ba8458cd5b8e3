package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/logging"

	"github.com/oncekey/oncekey/idempotency"
)

const tableVariable = "IDEMPOTENCY_TABLE"

// connection are the flags of every command that asks AWS.
type connection struct {
	table, region, profile, endpoint string
	schema                           idempotency.Schema
	json                             bool
}

func (c *connection) define(fs *flag.FlagSet) {
	fs.StringVar(&c.table, "table", "", "the table's `name` or ARN, instead of "+tableVariable)
	fs.StringVar(&c.region, "region", "", "the AWS `region`, instead of the SDK's own")
	fs.StringVar(&c.profile, "profile", "", "the AWS `profile`, instead of the SDK's own")
	fs.StringVar(&c.endpoint, "endpoint-url", "", "the `URL` to ask, instead of AWS")
	fs.StringVar(&c.schema.PartitionKey, "pk", "", "the table's partition key, if it is not id: its `attribute`")
	fs.StringVar(&c.schema.SortKey, "sk", "", "the table's sort key, if it has one: its `attribute`")
	fs.StringVar(&c.schema.SortKeyValue, "sk-value", "", "the records' `value` of the sort key, if it is not idempotency")
	fs.StringVar(&c.schema.Expiry, "expiry", "", "the records' expiry, if it is not expiration: its `attribute`")
	fs.BoolVar(&c.json, "json", false, "write JSON")
}

// session is an opened connection.
type session struct {
	aws    aws.Config
	client *dynamodb.Client
	table  string
	schema idempotency.Schema
}

func (s *session) place() place { return place{"table", s.table, s.aws.Region} }

// credentialsLimit is shorter than it takes to wait for a machine's metadata where there is none.
const credentialsLimit = 10 * time.Second

// open finds table, region and credentials, before anything is asked.
func (c *connection) open(ctx context.Context, p *program) (*session, error) {
	table := c.table
	if table == "" {
		table = p.env(tableVariable)
	}
	if table == "" {
		return nil, usage("which table? Give -table, or set %s", tableVariable)
	}
	options := []func(*config.LoadOptions) error{
		config.WithRegion(c.region), config.WithLogger(logging.Nop{}), // what goes wrong is told by the error
	}
	if c.profile != "" {
		options = append(options, config.WithSharedConfigProfile(c.profile))
	}
	if c.endpoint != "" {
		options = append(options, config.WithBaseEndpoint(c.endpoint))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	s := &session{aws: cfg, table: table, schema: c.schema}
	if _, missing := errors.AsType[config.SharedConfigProfileNotExistError](err); missing {
		return nil, &exitError{exitUsage, "the AWS configuration has no such profile: check -profile and AWS_PROFILE", err}
	}
	if err != nil {
		return nil, &exitError{exitUsage, "the AWS configuration cannot be read: check -profile, AWS_PROFILE and the files of the AWS CLI", err}
	}
	if cfg.Region == "" {
		return nil, usage("which region? Give -region, or set AWS_REGION")
	}
	waiting, cancel := context.WithTimeout(ctx, credentialsLimit)
	defer cancel()
	if _, err := cfg.Credentials.Retrieve(waiting); err != nil {
		if ctx.Err() != nil {
			return nil, explain(ctx, s.place(), err)
		}
		return nil, &exitError{exitUnasked, "there are no credentials: give -profile, log in, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", err}
	}
	s.client = dynamodb.NewFromConfig(cfg)
	return s, nil
}

// runner is the library on the session's table.
func (s *session) runner(ctx context.Context, client idempotency.Client, p *program, cfg idempotency.Config) (*idempotency.Runner, error) {
	cfg.Table, cfg.Schema, cfg.Now = s.table, s.schema, p.now
	r, err := idempotency.New(client, cfg)
	return r, explain(ctx, s.place(), err)
}

// secrets reads files of secrets, each without the newline at its end.
func secrets(files []string) ([][]byte, error) {
	var all [][]byte
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, &exitError{exitUsage, fmt.Sprintf("-secret-file %s cannot be read", name), err}
		}
		all = append(all, []byte(withoutNewline(string(text))))
	}
	return all, nil
}

// withoutNewline takes off the one that an editor has added. A secret may end in anything else.
func withoutNewline(text string) string {
	if line, ok := strings.CutSuffix(text, "\r\n"); ok {
		return line
	}
	return strings.TrimSuffix(text, "\n")
}
