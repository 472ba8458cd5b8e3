package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"go.yaml.in/yaml/v3"

	"github.com/oncekey/oncekey/idempotency"
)

func TestTemplate_TableIsTheLibrarys(t *testing.T) {
	t.Parallel()
	const table = "Resources.IdempotencyTable."
	in := idempotency.Table("", idempotency.Schema{})
	want := map[string]string{
		"BillingMode":                                                 string(in.BillingMode),
		"TimeToLiveSpecification.AttributeName":                       idempotency.DefaultExpiry,
		"TimeToLiveSpecification.Enabled":                             "true",
		"PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled": "true",
		"SSESpecification.SSEEnabled":                                 "true",
	}
	for i, a := range in.AttributeDefinitions {
		want[fmt.Sprintf("AttributeDefinitions[%d].AttributeName", i)] = aws.ToString(a.AttributeName)
		want[fmt.Sprintf("AttributeDefinitions[%d].AttributeType", i)] = string(a.AttributeType)
	}
	for i, k := range in.KeySchema {
		want[fmt.Sprintf("KeySchema[%d].AttributeName", i)] = aws.ToString(k.AttributeName)
		want[fmt.Sprintf("KeySchema[%d].KeyType", i)] = string(k.KeyType)
	}
	template := readTemplate(t)
	equal(t, "table", below(template, table+"Properties."), want)
	// Records outlive a deleted stack: a retry that finds none charges again.
	for _, policy := range []string{"DeletionPolicy", "UpdateReplacePolicy"} {
		if got := template[table+policy]; got != "Retain" {
			t.Errorf("%s = %q, want Retain", policy, got)
		}
	}
}

func TestTemplate_RightsAreTheLeast(t *testing.T) {
	t.Parallel()
	template := readTemplate(t)
	equal(t, "policies", below(template, "Resources.PaymentsFunction.Properties.Policies"), map[string]string{
		"[0].Version":                "2012-10-17",
		"[0].Statement[0].Sid":       "Records",
		"[0].Statement[0].Effect":    "Allow",
		"[0].Statement[0].Action[0]": "dynamodb:GetItem",
		"[0].Statement[0].Action[1]": "dynamodb:PutItem",
		"[0].Statement[0].Action[2]": "dynamodb:UpdateItem",
		"[0].Statement[0].Resource":  "!GetAtt IdempotencyTable.Arn",
	})
	for path, value := range template {
		if strings.Contains(path, ".Statement[") && strings.Contains(value, "*") {
			t.Errorf("%s = %q, want no wildcard", path, value)
		}
	}
}

func TestTemplate_Function(t *testing.T) {
	t.Parallel()
	template := readTemplate(t)
	const function = "Resources.PaymentsFunction.Properties."
	for path, want := range map[string]string{
		"Handler":       "bootstrap",
		"Runtime":       "provided.al2023",
		"Architectures": "arm64",
	} {
		got := cmp.Or(template[function+path], template[function+path+"[0]"])
		if got != want {
			t.Errorf("%s = %q, want %q", path, got, want)
		}
	}
	// What main.go reads.
	equal(t, "environment", below(template, function+"Environment.Variables."), map[string]string{
		"IDEMPOTENCY_TABLE":  "!Ref IdempotencyTable",
		"CARD_PROCESSOR_URL": "!Ref CardProcessorUrl",
		"ON_UNKNOWN":         "!Ref OnUnknown",
	})
	// The scope comes from the event, so there is no door for strangers.
	if events := below(template, function+"Events."); len(events) > 0 {
		t.Errorf("events = %v, want none", events)
	}
}

// sam build asks the Makefile for a target named after each function.
func TestTemplate_MakefileBuildsFunctions(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	functions := 0
	for path, value := range readTemplate(t) {
		if !strings.HasSuffix(path, ".Type") || value != "AWS::Serverless::Function" {
			continue
		}
		functions++
		name := strings.TrimSuffix(strings.TrimPrefix(path, "Resources."), ".Type")
		if !strings.Contains(string(makefile), "\nbuild-"+name+":") {
			t.Errorf("the Makefile has no target build-%s", name)
		}
	}
	if functions == 0 {
		t.Error("the template has no function")
	}
}

// below returns the values under a path, by the rest of their paths.
func below(template map[string]string, prefix string) map[string]string {
	found := map[string]string{}
	for path, value := range template {
		if rest, ok := strings.CutPrefix(path, prefix); ok {
			found[rest] = value
		}
	}
	return found
}

func equal(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	paths := slices.AppendSeq(slices.Collect(maps.Keys(got)), maps.Keys(want))
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		if got[path] != want[path] {
			t.Errorf("%s: %s = %q, want %q", what, path, got[path], want[path])
		}
	}
}

// readTemplate returns the template's scalars by path, such as "Resources.IdempotencyTable.Type" or "….Action[0]".
// Short-form functions keep their tag: "!Ref IdempotencyTable".
func readTemplate(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatalf("template.yaml: %v", err)
	}
	template := map[string]string{}
	scalars(template, "", document.Content[0])
	return template
}

// scalars collects a node's scalars by path; a tag of CloudFormation's own stays before the value.
func scalars(found map[string]string, path string, node *yaml.Node) {
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i < len(node.Content); i += 2 {
			scalars(found, strings.TrimPrefix(path+"."+node.Content[i].Value, "."), node.Content[i+1])
		}
	case yaml.SequenceNode:
		for i, item := range node.Content {
			scalars(found, fmt.Sprintf("%s[%d]", path, i), item)
		}
	case yaml.ScalarNode:
		found[path] = node.Value
		if tag := node.ShortTag(); !strings.HasPrefix(tag, "!!") {
			found[path] = tag + " " + node.Value
		}
	default: // a document or an alias, which the template has none of
	}
}
