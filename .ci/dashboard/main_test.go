package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const template = `
Resources:
  Dashboard:
    Properties:
      DashboardBody: !Sub |
        {"widgets": [{"x": 0, "y": 0, "width": 8, "height": 6, "properties": {"title": "A & B", "metrics": [
          ["shop", "Runs", "Service", "${Name}", {"stat": "Sum"}],
          ["shop", "Latency", "Service", "${Name}", {"stat": "p50", "label": "half"}],
          ["shop", "Latency", "Service", "${Name}", {"stat": "p99"}],
          ["shop", "Latency", "Service", "${Name}", {"stat": "Maximum"}]]}}]}

Outputs:
`

func written(minute int, metrics string) string {
	return fmt.Sprintf(`{"Service":"${Name}","Operation":"pay",%s,"_aws":{"Timestamp":%d,"CloudWatchMetrics":[{"Namespace":"shop",`+
		`"Dimensions":[["Service"],["Service","Operation"]],"Metrics":[{"Name":"Runs"},{"Name":"Latency"}]}]}}`+"\n", metrics, minute*60_000+17)
}

var lines = []string{
	written(100, `"Runs":2,"Latency":[30,10,20,40]`),
	written(100, `"Runs":1,"Latency":50`),
	written(102, `"Runs":4,"Latency":7`),
}

// By the minute: sums are 0 where there is nothing, anything else has a gap; percentiles are of all values of a minute.
func TestRender(t *testing.T) {
	t.Parallel()
	svg, err := render(template, []byte(strings.Join(lines, "")))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		">A &amp; B<", ">Runs 7<", ">half 30<", ">Latency 50<", ">60<", "of 3 minutes", "prefers-color-scheme: dark",
		`d="M44.0 138.5L127.3 144.0L210.7 136.7"`, // a sum; its second minute is 0
		`d="M44.0 89.0h0M210.7 131.2h0"`,          // two values with a gap between: dots
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %q in\n%s", want, svg)
		}
	}
	backwards := slices.Clone(lines)
	slices.Reverse(backwards)
	if again, err := render(template, []byte(strings.Join(backwards, ""))); err != nil || again != svg {
		t.Errorf("another picture of the same lines in another order, %v", err)
	}
}

func TestRender_SaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	all := strings.Join(lines, "")
	for what, tt := range map[string]struct{ template, lines, want string }{
		"no dashboard":   {"Resources:\n", all, "DashboardBody"},
		"no JSON":        {strings.Replace(template, `"metrics"`, "metrics", 1), all, "DashboardBody"},
		"no such metric": {strings.Replace(template, `"Runs"`, `"Walks"`, 1), all, "A & B: nothing has written"},
		"no statistic":   {strings.Replace(template, `"Sum"`, `"Some"`, 1), all, `"Some"`},
		"no options":     {strings.Replace(template, `, {"stat": "Sum"}`, "", 1), all, "options"},
		"no line":        {template, "{\n", "JSON"},
		"no number":      {template, strings.Replace(all, `"Runs":2`, `"Runs":"2"`, 1), "Runs is no number"},
	} {
		if _, err := render(tt.template, []byte(tt.lines)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", what, err, tt.want)
		}
	}
}
