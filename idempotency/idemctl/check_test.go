package main

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

const (
	recoveryOn  = `{"ContinuousBackupsDescription":{"ContinuousBackupsStatus":"ENABLED","PointInTimeRecoveryDescription":{"PointInTimeRecoveryStatus":"ENABLED"}}}`
	recoveryOff = `{"ContinuousBackupsDescription":{"ContinuousBackupsStatus":"ENABLED","PointInTimeRecoveryDescription":{"PointInTimeRecoveryStatus":"DISABLED"}}}`
	timeToLive  = `{"TimeToLiveDescription":{"TimeToLiveStatus":"STATUS","AttributeName":"expiration"}}`
)

// goodTable is one as AWS describes it; tests add to it, or replace a part.
func goodTable(replacements ...string) string {
	return strings.NewReplacer(replacements...).Replace(`{"Table":{"TableName":"records","TableStatus":"ACTIVE",
		"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],
		"BillingModeSummary":{"BillingMode":"PAY_PER_REQUEST"},"DeletionProtectionEnabled":true}}`)
}

// findings are the levels and texts of a report, by rule.
func findings(t *testing.T, r result) map[string]finding {
	t.Helper()
	var doc report
	if err := json.Unmarshal([]byte(r.out), &doc); err != nil {
		t.Fatalf("%v in %q, stderr %q", err, r.out, r.err)
	}
	byRule := map[string]finding{}
	for _, f := range doc.Findings {
		byRule[f.Rule] = f
	}
	return byRule
}

func TestCheck_TableAsItShouldBe(t *testing.T) {
	t.Parallel()
	localtest.OnlyEmbedded(t, "the tables' names")
	f := newFixture(t)
	in := idempotency.Table("good", idempotency.Schema{})
	in.DeletionProtectionEnabled = aws.Bool(true)
	f.table = f.db.CreateTable(t, in)
	f.db.EnableTTL(t, f.table, idempotency.DefaultExpiry)
	f.standIn(t, standIn{"DescribeContinuousBackups": answers(recoveryOn)})
	res := f.run(t.Context(), t, "check")
	res.want(t, exitOK)
	golden(t, "check-good", res.out)
}

func TestCheck_TableAsLeftAlone(t *testing.T) {
	t.Parallel()
	localtest.OnlyEmbedded(t, "the tables' names, and operations that are not there")
	f := newFixture(t)
	res := f.run(t.Context(), t, "check") // the embedded database knows no backups
	res.want(t, exitRefused)
	golden(t, "check-bare", res.out)
	f.db.EnableTTL(t, f.table, idempotency.DefaultExpiry)
	f.run(t.Context(), t, "check").want(t, exitUnasked, "not checked", "0 errors, 1 not checked")
}

// Each rule, as AWS describes a table that breaks it.
func TestCheck_Rules(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		standIn standIn
		rule    string
		level   level
		found   string
		code    int
	}{
		"no table":             {standIn{"DescribeTable": fails("ResourceNotFoundException")}, "table", levelError, "there is no table", exitRefused},
		"table not asked":      {standIn{"DescribeTable": fails("AccessDeniedException")}, "table", levelNotChecked, "the caller needs dynamodb:DescribeTable", exitUnasked},
		"creating":             {standIn{"DescribeTable": answers(goodTable("ACTIVE", "CREATING"))}, "table", levelError, "its status is CREATING", exitRefused},
		"updating":             {standIn{"DescribeTable": answers(goodTable("ACTIVE", "UPDATING"))}, "table", levelOK, "UPDATING", exitOK},
		"key's name":           {standIn{"DescribeTable": answers(goodTable(`"id"`, `"pk"`))}, "key", levelError, "pk (S), must be id (S)", exitRefused},
		"key's type":           {standIn{"DescribeTable": answers(goodTable(`"AttributeType":"S"`, `"AttributeType":"B"`))}, "key", levelError, "id (B), must be id (S)", exitRefused},
		"sort key":             {standIn{"DescribeTable": answers(goodTable(`"KeyType":"HASH"}`, `"KeyType":"HASH"},{"AttributeName":"sk","KeyType":"RANGE"}`, `"AttributeType":"S"}`, `"AttributeType":"S"},{"AttributeName":"sk","AttributeType":"N"}`))}, "key", levelError, "id (S), then sk (N), must be id (S)", exitRefused},
		"replicas":             {standIn{"DescribeTable": answers(goodTable(`"TableName"`, `"GlobalTableVersion":"2019.11.21","MultiRegionConsistency":"EVENTUAL","Replicas":[{"RegionName":"eu-west-1"}],"TableName"`))}, "replicas", levelError, "eventual consistency", exitRefused},
		"replicas, unsaid":     {standIn{"DescribeTable": answers(goodTable(`"TableName"`, `"Replicas":[{"RegionName":"eu-west-1"}],"TableName"`))}, "replicas", levelError, "eventual consistency", exitRefused},
		"replicas, of old":     {standIn{"DescribeTable": answers(goodTable(`"TableName"`, `"GlobalTableVersion":"2017.11.29","TableName"`))}, "replicas", levelError, "eventual consistency", exitRefused},
		"replicas, strong":     {standIn{"DescribeTable": answers(goodTable(`"TableName"`, `"MultiRegionConsistency":"STRONG","Replicas":[{"RegionName":"eu-west-1"}],"TableName"`))}, "replicas", levelWarning, "neither transactions nor time to live", exitOK},
		"strong, time to live": {standIn{"DescribeTable": answers(goodTable(`"TableName"`, `"MultiRegionConsistency":"STRONG","TableName"`)), "DescribeTimeToLive": fails("ValidationException")}, "time to live", levelWarning, "there is none on a strongly consistent global table", exitOK},
		"provisioned":          {standIn{"DescribeTable": answers(goodTable(`"BillingMode":"PAY_PER_REQUEST"`, `"BillingMode":"PROVISIONED"`, `"TableName"`, `"ProvisionedThroughput":{"ReadCapacityUnits":5,"WriteCapacityUnits":6},"TableName"`))}, "billing", levelWarning, "provisioned, 5 read and 6 write units", exitOK},
		"provisioned, always":  {standIn{"DescribeTable": answers(goodTable(`"BillingModeSummary":{"BillingMode":"PAY_PER_REQUEST"},`, ``))}, "billing", levelWarning, "provisioned", exitOK},
		"a key of their own":   {standIn{"DescribeTable": answers(goodTable(`"TableName"`, `"SSEDescription":{"Status":"ENABLED","KMSMasterKeyArn":"arn:aws:kms:us-east-1:1:key/2"},"TableName"`))}, "encryption", levelOK, "arn:aws:kms:us-east-1:1:key/2", exitOK},
		"a key that is gone":   {standIn{"DescribeTable": answers(goodTable(`"TableName"`, `"SSEDescription":{"Status":"ENABLED","KMSMasterKeyArn":"arn:k","InaccessibleEncryptionDateTime":1793620800},"TableName"`))}, "encryption", levelError, "cannot be used since 2026-11-02 12:00:00Z", exitRefused},
		"unprotected":          {standIn{"DescribeTable": answers(goodTable(`true`, `false`))}, "deletion protection", levelWarning, "off", exitOK},
		"ttl off":              {standIn{"DescribeTimeToLive": answers(`{"TimeToLiveDescription":{"TimeToLiveStatus":"DISABLED"}}`)}, "time to live", levelError, "off, must be on expiration", exitRefused},
		"ttl unsaid":           {standIn{"DescribeTimeToLive": answers(`{}`)}, "time to live", levelError, "off, must be", exitRefused},
		"ttl going off":        {standIn{"DescribeTimeToLive": answers(strings.Replace(timeToLive, "STATUS", "DISABLING", 1))}, "time to live", levelError, "being turned off", exitRefused},
		"ttl going on":         {standIn{"DescribeTimeToLive": answers(strings.Replace(timeToLive, "STATUS", "ENABLING", 1))}, "time to live", levelOK, "on expiration", exitOK},
		"ttl elsewhere":        {standIn{"DescribeTimeToLive": answers(`{"TimeToLiveDescription":{"TimeToLiveStatus":"ENABLED","AttributeName":"ttl"}}`)}, "time to live", levelError, "on ttl, must be on expiration", exitRefused},
		"ttl not asked":        {standIn{"DescribeTimeToLive": fails("AccessDeniedException")}, "time to live", levelNotChecked, "the caller needs dynamodb:DescribeTimeToLive", exitUnasked},
		"no recovery":          {standIn{"DescribeContinuousBackups": answers(recoveryOff)}, "point-in-time recovery", levelWarning, "off", exitOK},
		"recovery unsaid":      {standIn{"DescribeContinuousBackups": answers(`{}`)}, "point-in-time recovery", levelWarning, "off", exitOK},
		"recovery not asked":   {standIn{"DescribeContinuousBackups": fails("AccessDeniedException")}, "point-in-time recovery", levelNotChecked, "the caller needs dynamodb:DescribeContinuousBackups", exitUnasked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			whole := standIn{
				"DescribeTable": answers(goodTable()), "DescribeContinuousBackups": answers(recoveryOn),
				"DescribeTimeToLive": answers(strings.Replace(timeToLive, "STATUS", "ENABLED", 1)),
			}
			maps.Copy(whole, tc.standIn)
			f.standIn(t, whole)
			res := f.run(t.Context(), t, "check", "-json")
			res.want(t, tc.code)
			for rule, got := range findings(t, res) {
				switch {
				case rule == tc.rule && (got.Level != tc.level || !strings.Contains(got.Found, tc.found)):
					t.Errorf("%+v, want %s, %q", got, tc.level, tc.found)
				case rule == tc.rule && (got.Level == levelWarning || got.Level == levelError) == (got.Mend == ""):
					t.Errorf("%+v has a way to mend it, or has none", got)
				case rule != tc.rule && got.Level != levelOK && !strings.HasPrefix(name, "strong") && !strings.HasSuffix(name, "strong"):
					t.Errorf("%s is %+v, want ok", rule, got)
				}
			}
			if _, ok := findings(t, res)[tc.rule]; !ok {
				t.Errorf("no rule %q in %s", tc.rule, res.out)
			}
		})
	}
}

func TestCheck_OtherAttributes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.table = f.db.CreateTable(t, idempotency.Table("shared", idempotency.Schema{PartitionKey: "PK", SortKey: "SK"}))
	f.standIn(t, standIn{
		"DescribeContinuousBackups": answers(recoveryOn),
		"DescribeTimeToLive":        answers(`{"TimeToLiveDescription":{"TimeToLiveStatus":"ENABLED","AttributeName":"ttl"}}`),
	})
	f.run(t.Context(), t, "check", "-pk", "PK", "-sk", "SK", "-expiry", "ttl").want(t, exitOK, "PK (S), then SK (S)", "on ttl")
	f.run(t.Context(), t, "check", "-pk", "PK").want(t, exitRefused, "PK (S), then SK (S), must be PK (S)", "must be on expiration")
}
