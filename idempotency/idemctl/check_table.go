package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
)

func checkTable(ctx context.Context, s *session, r *report) {
	out, err := s.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &s.table})
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); missing {
		r.fault("table", "idemctl create-table, or another -table, -region or -profile", "there is no %s", s.place())
		return
	}
	if err == nil && out.Table == nil {
		err = errors.New("the answer describes no table")
	}
	if err != nil {
		r.unasked(ctx, "table", s.place(), err)
	} else {
		checkDescription(s, out.Table, r)
	}
	checkTimeToLive(ctx, s, r, err == nil && strong(out.Table))
	checkBackups(ctx, s, r)
}

// checkDescription is everything that DescribeTable tells.
func checkDescription(s *session, t *types.TableDescription, r *report) {
	switch t.TableStatus {
	case types.TableStatusActive, types.TableStatusUpdating:
		r.ok("table", "%s", t.TableStatus)
	default:
		r.fault("table", "wait, or look at it in the console", "its status is %s, must be ACTIVE", t.TableStatus)
	}
	checkKey(s, t, r)
	checkReplicas(t, r)
	switch b := t.BillingModeSummary; {
	case b != nil && b.BillingMode == types.BillingModePayPerRequest:
		r.ok("billing", "on demand")
	default: // a table that was never on demand has no summary
		p := t.ProvisionedThroughput
		if p == nil {
			p = &types.ProvisionedThroughputDescription{}
		}
		r.warn("billing", "aws dynamodb update-table --table-name "+s.table+" --billing-mode PAY_PER_REQUEST, or scale it ahead of the load",
			"provisioned, %d read and %d write units a second: what is over is throttled, and then nothing runs (ErrUnavailable)",
			aws.ToInt64(p.ReadCapacityUnits), aws.ToInt64(p.WriteCapacityUnits))
	}
	switch e := t.SSEDescription; {
	case e == nil || e.Status == types.SSEStatusDisabled:
		r.ok("encryption", "at rest, with a key of AWS's")
	case e.InaccessibleEncryptionDateTime != nil:
		r.fault("encryption", "give the table its key back", "the key %s cannot be used since %s", aws.ToString(e.KMSMasterKeyArn), moment(*e.InaccessibleEncryptionDateTime))
	default:
		r.ok("encryption", "at rest, with %s", aws.ToString(e.KMSMasterKeyArn))
	}
	if aws.ToBool(t.DeletionProtectionEnabled) {
		r.ok("deletion protection", "on")
	} else {
		r.warn("deletion protection", "aws dynamodb update-table --table-name "+s.table+" --deletion-protection-enabled", "off: with the table go all records, and every retry runs again")
	}
}

func checkKey(s *session, t *types.TableDescription, r *report) {
	want := idempotency.Table(s.table, s.schema).KeySchema
	kinds := map[string]types.ScalarAttributeType{}
	for _, d := range t.AttributeDefinitions {
		kinds[aws.ToString(d.AttributeName)] = d.AttributeType
	}
	const rule, mend = "key", "idemctl create-table makes another table; or name the attributes as they are, in -pk and -sk as in Config.Schema"
	if len(t.KeySchema) != len(want) {
		r.fault(rule, mend, "%s, must be %s", keyOf(t.KeySchema, kinds), keyOf(want, nil))
		return
	}
	for i, k := range t.KeySchema {
		name := aws.ToString(k.AttributeName)
		if name != aws.ToString(want[i].AttributeName) || k.KeyType != want[i].KeyType || kinds[name] != types.ScalarAttributeTypeS {
			r.fault(rule, mend, "%s, must be %s", keyOf(t.KeySchema, kinds), keyOf(want, nil))
			return
		}
	}
	r.ok(rule, "%s", keyOf(t.KeySchema, kinds))
}

// keyOf is a key for a person. Without kinds each attribute is a string, as the library has them.
func keyOf(schema []types.KeySchemaElement, kinds map[string]types.ScalarAttributeType) (text string) {
	for i, k := range schema {
		kind := types.ScalarAttributeTypeS
		if kinds != nil {
			kind = kinds[aws.ToString(k.AttributeName)]
		}
		if i > 0 {
			text += ", then "
		}
		text += fmt.Sprintf("%s (%s)", aws.ToString(k.AttributeName), kind)
	}
	return text
}

func strong(t *types.TableDescription) bool {
	return t.MultiRegionConsistency == types.MultiRegionConsistencyStrong
}

// checkReplicas: a condition is evaluated by one region, on what that one knows.
func checkReplicas(t *types.TableDescription, r *report) {
	const rule = "replicas"
	switch {
	case strong(t):
		r.warn(rule, "leave out DoTx and TxFrom, and delete expired records by a scan",
			"global table with strong consistency: it has neither transactions nor time to live")
	case len(t.Replicas) > 0 || aws.ToString(t.GlobalTableVersion) != "":
		r.fault(rule, "a table in one region, or a global table with strong consistency",
			"global table with eventual consistency: each region decides by itself, and a retry in another one runs again")
	default:
		r.ok(rule, "none")
	}
}

func checkTimeToLive(ctx context.Context, s *session, r *report, strong bool) {
	const rule = "time to live"
	if strong {
		r.warn(rule, "delete expired records by a scan", "there is none on a strongly consistent global table: records are kept, and billed, for ever")
		return
	}
	out, err := s.client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &s.table})
	if err != nil {
		r.unasked(ctx, rule, s.place(), err)
		return
	}
	want, mend := expiryOf(s.schema), "idemctl create-table turns it on"
	d := out.TimeToLiveDescription
	if d == nil {
		d = &types.TimeToLiveDescription{TimeToLiveStatus: types.TimeToLiveStatusDisabled}
	}
	switch on := d.TimeToLiveStatus == types.TimeToLiveStatusEnabled || d.TimeToLiveStatus == types.TimeToLiveStatusEnabling; {
	case on && aws.ToString(d.AttributeName) == want:
		r.ok(rule, "on %s", want)
	case on:
		r.fault(rule, "turn it off; an hour later idemctl create-table turns it on. Or name the attribute as it is, in -expiry as in Config.Schema",
			"on %s, must be on %s: records are kept, and billed, for ever", aws.ToString(d.AttributeName), want)
	case d.TimeToLiveStatus == types.TimeToLiveStatusDisabling:
		r.fault(rule, mend+" an hour later", "being turned off, must be on %s: records are kept, and billed, for ever", want)
	default:
		r.fault(rule, mend, "off, must be on %s: records are kept, and billed, for ever", want)
	}
}

func expiryOf(s idempotency.Schema) string {
	if s.Expiry == "" {
		return idempotency.DefaultExpiry
	}
	return s.Expiry
}

func checkBackups(ctx context.Context, s *session, r *report) {
	const rule = "point-in-time recovery"
	out, err := s.client.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: &s.table})
	if err != nil {
		r.unasked(ctx, rule, s.place(), err)
		return
	}
	if d := out.ContinuousBackupsDescription; d != nil && d.PointInTimeRecoveryDescription != nil &&
		d.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus == types.PointInTimeRecoveryStatusEnabled {
		r.ok(rule, "on")
		return
	}
	r.warn(rule, "aws dynamodb update-continuous-backups --table-name "+s.table+" --point-in-time-recovery-specification PointInTimeRecoveryEnabled=true",
		"off: what a mistake deletes is lost, and every retry runs again")
}
