package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var hourFile = flag.String("hour", "", "write what TestTemplate_WatchesWhatIsWritten has read to this file, for make dashboard")

// names returns the resources of a type.
func names(template map[string]string, kind string) (found []string) {
	for path, value := range template {
		if name, ok := strings.CutSuffix(path, ".Type"); ok && value == kind && strings.Count(path, ".") == 2 {
			found = append(found, strings.TrimPrefix(name, "Resources."))
		}
	}
	slices.Sort(found)
	return found
}

// Whoever is woken finds in the runbook what it means, and nothing is in there that wakes nobody.
func TestTemplate_AlarmsAreThoseOfTheRunbook(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../idempotency/OPERATING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n## Alarms\n")
	rest, _, _ = strings.Cut(rest, "\n## ")
	headings := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^### (.+)$`).FindAllStringSubmatch(rest, -1) {
		headings[m[1]] = false
	}
	template := readTemplate(t)
	for _, name := range names(template, "AWS::CloudWatch::Alarm") {
		alarm := below(template, "Resources."+name+".Properties.")
		heading, more, _ := strings.Cut(alarm["AlarmDescription"], ": ")
		if _, ok := headings[heading]; !ok || !strings.HasSuffix(more, " See idempotency/OPERATING.md.") {
			t.Errorf("%s: description %q, want one that begins with a heading of the runbook and names that", name, alarm["AlarmDescription"])
		}
		headings[heading] = true
		if m := alarm["DatapointsToAlarm"]; m != "" && m >= alarm["EvaluationPeriods"] {
			t.Errorf("%s: %s of %s periods, want fewer", name, m, alarm["EvaluationPeriods"])
		}
		delete(alarm, "DatapointsToAlarm")
		for _, own := range []string{"AlarmDescription", "Namespace", "MetricName", "Dimensions[0].Name", "Dimensions[0].Value", "Statistic", "Threshold", "EvaluationPeriods"} {
			if alarm[own] == "" {
				t.Errorf("%s has no %s", name, own)
			}
			delete(alarm, own)
		}
		equal(t, name, alarm, map[string]string{
			"Period":             "300",
			"ComparisonOperator": "GreaterThanOrEqualToThreshold",
			"TreatMissingData":   "notBreaching", // what has not happened is not sent
			"AlarmActions[0]":    "HasAlarmTopic", "AlarmActions[1][0]": "!Ref AlarmTopic", "AlarmActions[2]": "!Ref AWS::NoValue",
		})
	}
	for heading, watched := range headings {
		if !watched {
			t.Errorf("no alarm for %q of the runbook", heading)
		}
	}
	if len(headings) < 9 {
		t.Errorf("%d headings in the runbook, want 9 or more", len(headings))
	}
}

// The reconciler leaves a payment in peace as long as it may still be charged. An alarm on that would be for nobody.
func TestTemplate_LeftIsLongerThanTheGrace(t *testing.T) {
	t.Parallel()
	template := readTemplate(t)
	alarm := below(template, "Resources.ReconcilerLeft.Properties.")
	minutes := number(t, alarm, "DatapointsToAlarm") * number(t, alarm, "Period") / 60
	if got := template["Resources.ReconcileFunction.Properties.Environment.Variables.GRACE"]; got != "10m" || minutes < 10+5 {
		t.Errorf("the alarm comes after %d minutes, want more than the grace of %s and a tick", minutes, got)
	}
}

// metric is one that an alarm or the dashboard asks for: namespace, name, dimension and its value.
type metric [4]string

// Each of them was written in an hour in which all of it happens, with that dimension, and by a resource of the template.
func TestTemplate_WatchesWhatIsWritten(t *testing.T) {
	t.Parallel()
	template := readTemplate(t)
	written := map[metric]bool{}
	lines := anHour(t)
	if *hourFile != "" {
		if err := os.WriteFile(*hourFile, lines, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for line := range bytes.Lines(lines) {
		for _, m := range metricsOf(t, line) {
			written[m] = true
		}
	}
	asked := map[string][]metric{"dashboard": nil}
	for _, name := range names(template, "AWS::CloudWatch::Alarm") {
		alarm := below(template, "Resources."+name+".Properties.")
		_, value, _ := strings.Cut(alarm["Dimensions[0].Value"], " ")
		asked[name] = []metric{{alarm["Namespace"], alarm["MetricName"], alarm["Dimensions[0].Name"], "${" + value + "}"}}
	}
	for _, w := range dashboard(t, template) {
		for _, line := range w.Properties.Metrics {
			var m metric
			for i := range m {
				m[i], _ = line[i].(string)
			}
			asked["dashboard"] = append(asked["dashboard"], m)
		}
	}
	kinds := map[string]string{
		"FunctionName": "AWS::Serverless::Function", "ApiId": "AWS::Serverless::HttpApi", "QueueName": "AWS::SQS::Queue", "PipeName": "AWS::Pipes::Pipe",
	}
	for who, metrics := range asked {
		for _, m := range metrics {
			if !written[m] {
				t.Errorf("%s asks for %q, which nothing has written", who, m)
			}
			resource, _, _ := strings.Cut(strings.Trim(m[3], "${}"), ".")
			if m[2] != "Service" && (kinds[m[2]] == "" || template["Resources."+resource+".Type"] != kinds[m[2]]) {
				t.Errorf("%s asks for %q, and %s is no %s", who, m, resource, kinds[m[2]])
			}
		}
	}
}

// metricsOf reads a line as CloudWatch does.
func metricsOf(t *testing.T, line []byte) (found []metric) {
	t.Helper()
	var all map[string]any
	var head struct {
		AWS struct {
			CloudWatchMetrics []struct {
				Namespace  string
				Dimensions [][]string
				Metrics    []struct{ Name string }
			}
		} `json:"_aws"`
	}
	if err := json.Unmarshal(line, &all); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	if err := json.Unmarshal(line, &head); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	for _, c := range head.AWS.CloudWatchMetrics {
		for _, dimensions := range c.Dimensions {
			if len(dimensions) != 1 {
				continue // Service with Operation, which nothing in the template asks for
			}
			for _, m := range c.Metrics {
				value, _ := all[dimensions[0]].(string)
				if _, ok := all[m.Name]; ok {
					found = append(found, metric{c.Namespace, m.Name, dimensions[0], value})
				}
			}
		}
	}
	return found
}

type widget struct {
	Type                string
	X, Y, Width, Height int
	Properties          struct {
		Title, Region, View string
		Period              int
		Metrics             [][]any
	}
}

func dashboard(t *testing.T, template map[string]string) []widget {
	t.Helper()
	text, ok := strings.CutPrefix(template["Resources.Dashboard.Properties.DashboardBody"], "!Sub ")
	var body struct {
		Start   string
		Widgets []widget
	}
	from := json.NewDecoder(strings.NewReader(text))
	from.DisallowUnknownFields()
	if err := from.Decode(&body); err != nil || !ok || from.More() {
		t.Fatalf("the dashboard is no JSON with !Sub: %v", err)
	}
	return body.Widgets
}

func TestTemplate_Dashboard(t *testing.T) {
	t.Parallel()
	template := readTemplate(t)
	place := map[[2]int]string{}
	shown := map[string]bool{}
	for _, w := range dashboard(t, template) {
		p := w.Properties
		if w.Type != "metric" || p.Title == "" || p.Region != "${AWS::Region}" || p.View != "timeSeries" || p.Period != 60 || len(p.Metrics) == 0 {
			t.Errorf("widget %+v, want metrics by the minute, of this region, with a title", w)
		}
		for x := w.X; x < w.X+w.Width; x++ {
			for y := w.Y; y < w.Y+w.Height; y++ {
				if there := place[[2]int{x, y}]; x >= 24 || there != "" {
					t.Errorf("%q is at %d, %d, where there is %q", p.Title, x, y, there)
				}
				place[[2]int{x, y}] = p.Title
			}
		}
		for _, line := range p.Metrics {
			options, ok := line[len(line)-1].(map[string]any)
			if len(line) != 5 || !ok || !slices.Contains([]any{"Sum", "Maximum", "p50", "p99"}, options["stat"]) {
				t.Errorf("%q has the line %v, want namespace, name, a dimension, and options with a statistic", p.Title, line)
				continue
			}
			name, _ := line[1].(string)
			shown[name] = true
		}
	}
	for _, name := range names(template, "AWS::CloudWatch::Alarm") {
		if m := template["Resources."+name+".Properties.MetricName"]; !shown[m] {
			t.Errorf("the dashboard does not show %s, which %s watches", m, name)
		}
	}
}

// Each function has a log of its own, which forgets.
func TestTemplate_Logs(t *testing.T) {
	t.Parallel()
	template := readTemplate(t)
	logs := names(template, "AWS::Logs::LogGroup")
	functions := names(template, "AWS::Serverless::Function")
	for _, function := range functions {
		log, ok := strings.CutPrefix(template["Resources."+function+".Properties.LoggingConfig.LogGroup"], "!Ref ")
		if !ok || !slices.Contains(logs, log) {
			t.Errorf("%s logs to %q, want one of %q", function, log, logs)
		}
		equal(t, log, below(template, "Resources."+log+".Properties."), map[string]string{
			"LogGroupName": "!Sub /aws/lambda/${AWS::StackName}-" + function, "RetentionInDays": "!Ref LogRetention",
		})
	}
	if len(logs) != len(functions) {
		t.Errorf("%d logs for %d functions", len(logs), len(functions))
	}
}

// Each parameter has a default, so that the template can be deployed as it is, and says what it takes.
func TestTemplate_Parameters(t *testing.T) {
	t.Parallel()
	parameters := map[string]map[string]string{}
	for path, value := range below(readTemplate(t), "Parameters.") {
		name, property, _ := strings.Cut(path, ".")
		if parameters[name] == nil {
			parameters[name] = map[string]string{}
		}
		parameters[name][property] = value
	}
	for name, p := range parameters {
		value, ok := p["Default"]
		if name == "ShopCard" { // one that is made up would be declined, and every commission with it
			value, ok = "card_shop", !ok
		}
		if !ok || p["Description"] == "" {
			t.Errorf("the parameter %s has no default, or no description", name)
		}
		if pattern := p["AllowedPattern"]; pattern != "" { // of the whole value
			if r := regexp.MustCompile("^(?:" + pattern + ")$"); !r.MatchString(value) || r.MatchString("not one!") || p["ConstraintDescription"] == "" {
				t.Errorf("%s: pattern %s, want one that takes the default and not everything, with a description", name, pattern)
			}
		} else if !slices.Contains(slices.Collect(maps.Values(below(p, "AllowedValues"))), value) {
			t.Errorf("%s: want a pattern, or values with the default %q among them", name, value)
		}
	}
	for name, values := range map[string][]string{
		"TableKey":         {"arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab", "arn:aws-us-gov:kms:us-gov-west-1:123456789012:key/mrk-1234"},
		"AlarmTopic":       {"arn:aws:sns:eu-central-1:123456789012:on-call"},
		"CardProcessorUrl": {"https://cards.example.com/v1"},
		"ShopCard":         {"tok_1.a-B"},
	} {
		for _, value := range values {
			if !regexp.MustCompile("^(?:" + parameters[name]["AllowedPattern"] + ")$").MatchString(value) {
				t.Errorf("%s does not take %s", name, value)
			}
		}
	}
}
