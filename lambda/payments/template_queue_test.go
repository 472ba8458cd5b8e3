package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda/payments/internal/outboxpipe"
)

// A message that has failed comes back, once no attempt at it can be at work, and is kept in the end.
func TestTemplate_Queue(t *testing.T) {
	t.Parallel()
	template := readTemplate(t)
	const queue, dead = "Resources.CommissionQueue.Properties.", "Resources.CommissionDeadLetterQueue.Properties."
	equal(t, "event source mapping", below(template, "Resources.CommissionMessages."), map[string]string{
		"Type":                                "AWS::Lambda::EventSourceMapping",
		"Properties.FunctionName":             "!Ref CommissionFunction",
		"Properties.EventSourceArn":           "!GetAtt CommissionQueue.Arn",
		"Properties.BatchSize":                "10",
		"Properties.FunctionResponseTypes[0]": "ReportBatchItemFailures", // without it the messages that have failed are lost
	})
	equal(t, "redrive policy", below(template, queue+"RedrivePolicy."), map[string]string{
		"deadLetterTargetArn": "!GetAtt CommissionDeadLetterQueue.Arn",
		"maxReceiveCount":     "5",
	})
	for _, q := range []string{queue, dead} {
		if got := template[q+"SqsManagedSseEnabled"]; got != "true" {
			t.Errorf("%sSqsManagedSseEnabled = %q", q, got)
		}
	}
	timeout, visibility := number(t, template, "Resources.CommissionFunction.Properties.Timeout"), number(t, template, queue+"VisibilityTimeout")
	if visibility < 6*timeout {
		t.Errorf("VisibilityTimeout = %d, want at least 6 times the function's Timeout, which is %d", visibility, timeout)
	}
	seconds := number(t, template, queue+"MessageRetentionPeriod")
	inDead := number(t, template, dead+"MessageRetentionPeriod")
	if inDead < 14*24*60*60 { // counted from when the message was sent, not from when it came there
		t.Errorf("the dead-letter queue's MessageRetentionPeriod = %d, want 14 days", inDead)
	}
	cfg := forCommissions(idempotency.Config{})
	if longest := time.Duration(seconds+inDead) * time.Second; cfg.Retention < longest || cfg.UnknownRetention < longest {
		t.Errorf("records are kept for %v, of unknowns %v; a message can come again for %v", cfg.Retention, cfg.UnknownRetention, longest)
	}
}

// The pipe lets the outbox through, as the ledger writes it, and nothing else of the ledger.
func TestTemplate_Pipe(t *testing.T) {
	t.Parallel()
	template := readTemplate(t)
	const role = "Resources.OutboxPipeRole.Properties."
	pipe := below(template, "Resources.OutboxPipe.Properties.")
	var pattern map[string]any
	if err := json.Unmarshal([]byte(pipe["SourceParameters.FilterCriteria.Filters[0].Pattern"]), &pattern); err != nil {
		t.Fatal(err)
	}
	for _, free := range []string{"Description", "SourceParameters.FilterCriteria.Filters[0].Pattern"} {
		delete(pipe, free)
	}
	equal(t, "pipe", pipe, map[string]string{
		"RoleArn": "!GetAtt OutboxPipeRole.Arn",
		"Source":  "!GetAtt LedgerTable.StreamArn",
		"SourceParameters.DynamoDBStreamParameters.StartingPosition": "TRIM_HORIZON",
		"SourceParameters.DynamoDBStreamParameters.BatchSize":        "10",
		"Target": "!GetAtt CommissionQueue.Arn", // without TargetParameters, which could change the message
	})
	want := map[string]string{"PolicyName": "outbox", "PolicyDocument.Version": "2012-10-17"}
	allows(want, "PolicyDocument.Statement[0].", "Stream", "!GetAtt LedgerTable.StreamArn", []string{"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams"})
	allows(want, "PolicyDocument.Statement[1].", "Queue", "!GetAtt CommissionQueue.Arn", []string{"sqs:SendMessage"})
	equal(t, "pipe's role", below(template, role+"Policies[0]."), want)
	equal(t, "pipe's role", below(template, role+"AssumeRolePolicyDocument.Statement[0]."), map[string]string{
		"Effect": "Allow", "Principal.Service": "pipes.amazonaws.com", "Action": "sts:AssumeRole",
		"Condition.StringEquals.aws:SourceAccount": "!Ref AWS::AccountId",
	})

	inMarket(t, 1, func(m *market) {
		m.delivers(1, 0)
		out, err := m.db.Client().Scan(m.t.Context(), &dynamodb.ScanInput{TableName: &m.function.ledger.table})
		if err != nil || len(out.Items) != 4 {
			t.Fatalf("%d rows, %v, want total, payment, outbox and commission", len(out.Items), err)
		}
		for _, row := range out.Items {
			text, err := outboxpipe.Record(row)
			if err != nil {
				t.Fatal(err)
			}
			for name, happened := range map[string]bool{"INSERT": true, "MODIFY": false, "REMOVE": false} {
				var record any
				if err := json.Unmarshal([]byte(strings.Replace(text, `"INSERT"`, `"`+name+`"`, 1)), &record); err != nil {
					t.Fatal(err)
				}
				body := new(published)
				_, isOutbox := row["event"]
				if got, want := matches(pattern, record), isOutbox && happened; got != want || isOutbox && body.UnmarshalJSON([]byte(text)) != nil {
					t.Errorf("the pipe lets the %s of %s through: %v, want %v", name, text, got, want)
				}
			}
		}
	})
}

// matches says what an event pattern does, as far as the template's has it: each of its fields is in the record, and has one of
// the values in its list, or a value with that prefix.
func matches(pattern, record any) bool {
	switch p := pattern.(type) {
	case map[string]any:
		r, ok := record.(map[string]any)
		for name, inner := range p {
			ok = ok && matches(inner, r[name])
		}
		return ok
	case []any:
		return slices.ContainsFunc(p, func(one any) bool {
			text, _ := record.(string)
			if rule, ok := one.(map[string]any); ok {
				prefix, ok := rule["prefix"].(string)
				return ok && len(rule) == 1 && strings.HasPrefix(text, prefix)
			}
			return one == record
		})
	}
	return false
}
