// Dashboard draws the dashboard of a CloudFormation template as an SVG, from lines in CloudWatch's embedded metric format:
//
//	go run ./.ci/dashboard template.yaml LINES > dashboard.svg
//
// Metrics are aggregated by the minute, as CloudWatch does it. Two things are drawn otherwise than there: a minute without a
// value is 0 for a sum, since what has not happened is not sent, and each line's total, or its peak, stands beside its name.
// The same lines make the same picture.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("dashboard: ")
	if len(os.Args) != 3 {
		log.Fatal("usage: dashboard TEMPLATE LINES")
	}
	template, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	lines, err := os.ReadFile(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	text, err := render(string(template), lines)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(text)
}

func render(template string, lines []byte) (string, error) {
	widgets, err := dashboardOf(template)
	if err != nil {
		return "", err
	}
	data, err := aggregate(lines)
	if err != nil {
		return "", err
	}
	return draw(widgets, data)
}

// widget is what the template says of a part of the dashboard; the whole is 24 wide.
type widget struct {
	X, Y, Width, Height int
	Properties          struct {
		Title   string
		Metrics [][]any
	}
}

// dashboardOf finds the widgets in a template. Indentation is nothing to JSON, and what !Sub would replace stays as it is: the
// lines name things by the same references.
func dashboardOf(template string) ([]widget, error) {
	_, text, ok := strings.Cut(template, "DashboardBody: !Sub |\n")
	if !ok {
		return nil, errors.New("the template has no DashboardBody: !Sub |")
	}
	var body struct{ Widgets []widget }
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&body); err != nil {
		return nil, fmt.Errorf("DashboardBody: %w", err)
	}
	return body.Widgets, nil
}

// line is one line of a widget: namespace, name, dimension and its value, and how it is aggregated.
type line struct {
	metric      [4]string
	stat, label string
}

// lineOf reads a line such as ["oncekey", "Acquired", "Service", "shop", {"stat": "Sum"}].
func lineOf(of []any) (l line, err error) {
	if len(of) != 5 {
		return l, fmt.Errorf("%v: must have a namespace, a name, one dimension and options", of)
	}
	for i := range l.metric {
		l.metric[i], _ = of[i].(string)
	}
	options, _ := of[4].(map[string]any)
	l.stat, _ = options["stat"].(string)
	if l.label, _ = options["label"].(string); l.label == "" {
		l.label = l.metric[1]
	}
	return l, nil
}
