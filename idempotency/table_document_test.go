package idempotency_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/oncekey/oncekey/idempotency"
)

// definition is what the definitions of a table have in common, each as it says it.
type definition struct {
	key, kind, billing, expiry, expires, recovery, encryption, protection, kept string
}

// TABLE.md's definitions are the one that the library makes, and template.yaml's.
func TestTableDocument(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("TABLE.md")
	if err != nil {
		t.Fatal(err)
	}
	in := idempotency.Table("idempotency", idempotency.Schema{})
	if len(in.KeySchema) != 1 || len(in.AttributeDefinitions) != 1 {
		t.Fatalf("the table has the keys %v", in.KeySchema)
	}
	template := templateTable(t)
	library := template
	library.key, library.kind = *in.KeySchema[0].AttributeName, string(in.AttributeDefinitions[0].AttributeType)
	library.billing, library.expiry = string(in.BillingMode), idempotency.DefaultExpiry
	if template != library {
		t.Errorf("template.yaml has\n%+v, the library\n%+v", template, library)
	}
	terraform := find(t, fenced(t, string(page), "hcl"), definition{
		key: `hash_key = "(\w+)"`, kind: `attribute \{ name = "id" type = "(\w)" \}`, billing: `billing_mode = "(\w+)"`,
		expiry: `ttl \{ attribute_name = "(\w+)"`, expires: `ttl \{ [^}]* enabled = (\w+) \}`,
		recovery: `point_in_time_recovery \{ enabled = (\w+) \}`, encryption: `server_side_encryption \{ enabled = (\w+) `,
		protection: `deletion_protection_enabled = (\w+)`, kept: `prevent_destroy = (\w+)`,
	})
	want := library
	want.kept = "true" // the template's is Retain
	if terraform != want {
		t.Errorf("Terraform has\n%+v, want\n%+v", terraform, want)
	}
	cdk := find(t, fenced(t, string(page), "ts"), definition{
		key: `partitionKey: \{ name: '(\w+)'`, kind: `partitionKey: \{ [^}]*AttributeType\.(\w+) \}`, billing: `billingMode: dynamodb\.BillingMode\.(\w+)`,
		expiry: `timeToLiveAttribute: '(\w+)'`, expires: `(timeToLiveAttribute)`,
		recovery: `pointInTimeRecoveryEnabled: (\w+)`, encryption: `encryption: dynamodb\.TableEncryption\.(\w+)`,
		protection: `deletionProtection: (\w+)`, kept: `removalPolicy: cdk\.RemovalPolicy\.(\w+)`,
	})
	want.kind, want.expires, want.encryption, want.kept = "STRING", "timeToLiveAttribute", "AWS_MANAGED", "RETAIN"
	if cdk != want {
		t.Errorf("CDK has\n%+v, want\n%+v", cdk, want)
	}
}

// templateTable is the table of records in template.yaml.
func templateTable(t *testing.T) (d definition) {
	t.Helper()
	text, err := os.ReadFile("../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Resources map[string]yaml.Node `yaml:"Resources"`
	}
	var table struct {
		DeletionPolicy string `yaml:"DeletionPolicy"`
		Properties     struct {
			BillingMode          string              `yaml:"BillingMode"`
			AttributeDefinitions []map[string]string `yaml:"AttributeDefinitions"`
			TimeToLive           map[string]string   `yaml:"TimeToLiveSpecification"`
			Recovery             map[string]string   `yaml:"PointInTimeRecoverySpecification"`
			Encryption           map[string]any      `yaml:"SSESpecification"`
			Protection           string              `yaml:"DeletionProtectionEnabled"`
		} `yaml:"Properties"`
	}
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	node := document.Resources["IdempotencyTable"]
	if err := node.Decode(&table); err != nil {
		t.Fatal(err)
	}
	p := table.Properties
	if len(p.AttributeDefinitions) != 1 {
		t.Fatalf("template.yaml's table has the attributes %v", p.AttributeDefinitions)
	}
	return definition{
		key: p.AttributeDefinitions[0]["AttributeName"], kind: p.AttributeDefinitions[0]["AttributeType"], billing: p.BillingMode,
		expiry: p.TimeToLive["AttributeName"], expires: p.TimeToLive["Enabled"], recovery: p.Recovery["PointInTimeRecoveryEnabled"],
		encryption: fmt.Sprint(p.Encryption["SSEEnabled"]), protection: p.Protection, kept: table.DeletionPolicy,
	}
}

// fenced is the only block of that language, with its white space made one.
func fenced(t *testing.T, page, language string) string {
	t.Helper()
	parts := strings.Split(page, "```"+language+"\n")
	if len(parts) != 2 {
		t.Fatalf("%d blocks of %s, want 1", len(parts)-1, language)
	}
	block, _, _ := strings.Cut(parts[1], "```")
	return strings.Join(strings.Fields(block), " ")
}

// find returns what each expression finds in the block, which has to be there once.
func find(t *testing.T, block string, expressions definition) (found definition) {
	t.Helper()
	for _, part := range []struct {
		expression string
		found      *string
	}{
		{expressions.key, &found.key},
		{expressions.kind, &found.kind},
		{expressions.billing, &found.billing},
		{expressions.expiry, &found.expiry},
		{expressions.expires, &found.expires},
		{expressions.recovery, &found.recovery},
		{expressions.encryption, &found.encryption},
		{expressions.protection, &found.protection},
		{expressions.kept, &found.kept},
	} {
		all := regexp.MustCompile(part.expression).FindAllStringSubmatch(block, -1)
		if len(all) != 1 {
			t.Errorf("%q is %d times in %s", part.expression, len(all), block)
			continue
		}
		*part.found = all[0][1]
	}
	return found
}
