package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"go.yaml.in/yaml/v3"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda/payments/demo/frontdoor"
)

// Both tables have one key; the library describes it. Time to live is for records alone: a ledger forgets nothing.
func TestTemplate_Tables(t *testing.T) {
	t.Parallel()
	in := idempotency.Table("", idempotency.Schema{})
	want := map[string]string{
		"BillingMode": string(in.BillingMode),
		"PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled": "true",
		"DeletionProtectionEnabled":                                   "true",
		"SSESpecification.SSEEnabled":                                 "true",
		"SSESpecification.SSEType":                                    "KMS",
		"SSESpecification.KMSMasterKeyId[0]":                          "HasTableKey",
		"SSESpecification.KMSMasterKeyId[1]":                          "!Ref TableKey",
		"SSESpecification.KMSMasterKeyId[2]":                          "!Ref AWS::NoValue", // the key that AWS manages
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
	want["StreamSpecification.StreamViewType"] = "NEW_IMAGE"
	equal(t, "ledger", below(template, "Resources.LedgerTable.Properties."), want)
	delete(want, "StreamSpecification.StreamViewType")
	want["TimeToLiveSpecification.AttributeName"] = idempotency.DefaultExpiry
	want["TimeToLiveSpecification.Enabled"] = "true"
	equal(t, "table", below(template, "Resources.IdempotencyTable.Properties."), want)
	// They outlive a deleted stack: a retry that finds no record charges again.
	for _, table := range []string{"IdempotencyTable", "LedgerTable"} {
		for _, policy := range []string{"DeletionPolicy", "UpdateReplacePolicy"} {
			if got := template["Resources."+table+"."+policy]; got != "Retain" {
				t.Errorf("%s of %s = %q, want Retain", policy, table, got)
			}
		}
	}
}

func TestTemplate_Functions(t *testing.T) {
	t.Parallel()
	template := readTemplate(t)
	common := map[string]string{
		"IDEMPOTENCY_TABLE":  "!Ref IdempotencyTable",
		"LEDGER_TABLE":       "!Ref LedgerTable",
		"CARD_PROCESSOR_URL": "!Ref CardProcessorUrl",
		"METRICS_SERVICE":    "!Ref AWS::StackName", // two stacks of an account wake nobody for one another
	}
	for name, own := range map[string]map[string]string{
		"PaymentsFunction":   {"FRONT_DOOR": "http-api", "ON_UNKNOWN": "!Ref OnUnknown"},
		"ReconcileFunction":  {"FRONT_DOOR": "schedule", "GRACE": "10m"},
		"CommissionFunction": {"FRONT_DOOR": "queue", "SHOP_CARD": "!Ref ShopCard"},
	} {
		function := "Resources." + name + ".Properties."
		for path, want := range map[string]string{
			"Handler":       "bootstrap",
			"Runtime":       "provided.al2023",
			"Architectures": "arm64",
		} {
			got := cmp.Or(template[function+path], template[function+path+"[0]"])
			if got != want {
				t.Errorf("%s: %s = %q, want %q", name, path, got, want)
			}
		}
		environment := below(template, function+"Environment.Variables.")
		maps.Copy(own, common)
		equal(t, name+"'s environment", environment, own)
		right := map[string]string{"IDEMPOTENCY_TABLE": "records", "LEDGER_TABLE": "ledger", "FRONT_DOOR": own["FRONT_DOOR"], "GRACE": own["GRACE"], "SHOP_CARD": "card_shop"}
		_, err := setup(t.Context(), func(variable string) string {
			if _, ok := environment[variable]; !ok {
				t.Errorf("%s: main.go reads %s, which the template does not set", name, variable)
			}
			return right[variable]
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The client is to hear from the function: the API gives up after 30 s.
	if seconds := number(t, template, "Resources.PaymentsFunction.Properties.Timeout"); seconds < 1 || seconds >= 29 {
		t.Errorf("Timeout = %d, want less than the API's 30, and the way there and back", seconds)
	}
}

// The reconciler's clock: one tick after the other, and none of them repeated.
func TestTemplate_Schedule(t *testing.T) {
	t.Parallel()
	template := readTemplate(t)
	const function = "Resources.ReconcileFunction.Properties."
	equal(t, "events", below(template, function+"Events."), map[string]string{
		"Tick.Type":                "Schedule",
		"Tick.Properties.Schedule": "rate(5 minutes)",
		"Tick.Properties.RetryPolicy.MaximumEventAgeInSeconds": "300",
		"Tick.Properties.RetryPolicy.MaximumRetryAttempts":     "0",
	})
	equal(t, "invocations", below(template, function+"EventInvokeConfig."), map[string]string{"MaximumRetryAttempts": "0"})
	if seconds := number(t, template, function+"Timeout"); seconds <= int(askLimit.Seconds()) || seconds >= 5*60 {
		t.Errorf("Timeout = %d, want time for some records, and less than the 5 minutes to the next tick", seconds)
	}
	// A charge on its way when the payment's time was over must have arrived.
	if grace, err := time.ParseDuration(template[function+"Environment.Variables.GRACE"]); err != nil || grace < 5*time.Minute {
		t.Errorf("GRACE = %v, %v, want minutes", grace, err)
	}
}

func number(t *testing.T, template map[string]string, path string) int {
	t.Helper()
	n, err := strconv.Atoi(template[path])
	if err != nil {
		t.Errorf("%s = %q, want a number", path, template[path])
	}
	return n
}

// The events' routes are those that the handler is tested with, and nobody gets in without an authorizer.
func TestTemplate_RoutesAreAuthorized(t *testing.T) {
	t.Parallel()
	template := readTemplate(t)
	const function, api = "Resources.PaymentsFunction.Properties.", "Resources.PaymentsApi."
	equal(t, "API", below(template, api+"Properties.Auth."), map[string]string{
		"EnableIamAuthorizer": "true",
		"DefaultAuthorizer":   "AWS_IAM",
	})
	if got := template[api+"Type"]; got != "AWS::Serverless::HttpApi" {
		t.Errorf("the API's type is %q, want the one that FRONT_DOOR says", got)
	}
	var routes []string
	for path := range below(template, function+"Events.") {
		name, isType := strings.CutSuffix(path, ".Type")
		if !isType {
			continue
		}
		event := function + "Events." + name + "."
		routes = append(routes, template[event+"Properties.Method"]+" "+template[event+"Properties.Path"])
		got := below(template, event)
		delete(got, "Properties.Method")
		delete(got, "Properties.Path")
		equal(t, "event "+name, got, map[string]string{ // with no Auth of its own, which could be NONE
			"Type":                            "HttpApi",
			"Properties.ApiId":                "!Ref PaymentsApi",
			"Properties.PayloadFormatVersion": "2.0",
		})
	}
	want := frontdoor.Routes()
	slices.Sort(want)
	slices.Sort(routes)
	if !slices.Equal(routes, want) {
		t.Errorf("routes %q, want %q", routes, want)
	}
	if got, want := template["Outputs.PaymentsUrl.Value"], "!Sub ${PaymentsApi.ApiEndpoint}/payments"; got != want {
		t.Errorf("PaymentsUrl = %q, want %q", got, want)
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
		if !regexp.MustCompile(`(?m)^(build-\w+ )*build-` + name + `( build-\w+)*:`).Match(makefile) {
			t.Errorf("the Makefile has no target build-%s", name)
		}
	}
	if functions != len(rights) {
		t.Errorf("the template has %d functions, want %d", functions, len(rights))
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
