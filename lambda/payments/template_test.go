package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"go.yaml.in/yaml/v3"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda/payments/demo/frontdoor"
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
	environment := below(template, function+"Environment.Variables.")
	_, _ = setup(t.Context(), func(name string) string { // whether it succeeds is another test's
		if _, ok := environment[name]; !ok {
			t.Errorf("main.go reads %s, which the template does not set", name)
		}
		return map[string]string{"IDEMPOTENCY_TABLE": "records"}[name]
	})
	equal(t, "environment", environment, map[string]string{
		"IDEMPOTENCY_TABLE":  "!Ref IdempotencyTable",
		"CARD_PROCESSOR_URL": "!Ref CardProcessorUrl",
		"ON_UNKNOWN":         "!Ref OnUnknown",
		"FRONT_DOOR":         "http-api",
	})
	// The client is to hear from the function: the API gives up after 30 s.
	if seconds, err := strconv.Atoi(template[function+"Timeout"]); err != nil || seconds < 1 || seconds >= 29 {
		t.Errorf("Timeout = %q, want less than the API's 30, and the way there and back", template[function+"Timeout"])
	}
}

// Each parameter has a default: the template can be deployed as it is.
func TestTemplate_AsksForNothing(t *testing.T) {
	t.Parallel()
	template := readTemplate(t)
	for path := range below(template, "Parameters.") {
		name, _, _ := strings.Cut(path, ".")
		if _, ok := template["Parameters."+name+".Default"]; !ok {
			t.Errorf("the parameter %s has no default", name)
		}
	}
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
