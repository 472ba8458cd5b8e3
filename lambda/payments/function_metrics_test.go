package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// lineWriter sends each line on.
type lineWriter struct {
	lines chan string
	rest  []byte
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		line, rest, complete := bytes.Cut(w.rest, []byte("\n"))
		if !complete {
			return len(p), nil
		}
		w.lines <- string(line)
		w.rest = rest
	}
}

// waitFor returns the first line with all of this in it.
func (w *lineWriter) waitFor(t *testing.T, parts ...string) string {
	t.Helper()
	for {
		select {
		case line := <-w.lines:
			has := true
			for _, part := range parts {
				has = has && strings.Contains(line, part)
			}
			if has {
				return line
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("no line with %q", parts)
		}
	}
}

// A payment ends without telling, and the reconciler cannot ask: metrics on stdout, as the alarms want them, and the log on stderr.
func TestFunction_WritesMetricsAndLog(t *testing.T) {
	t.Parallel()
	db := localtest.Start(t)
	env := []string{
		"IDEMPOTENCY_TABLE=" + db.CreateTable(t, idempotency.Table("idempotency", idempotency.Schema{})),
		"LEDGER_TABLE=" + db.CreateTable(t, idempotency.Table("ledger", idempotency.Schema{})),
		"AWS_ENDPOINT_URL_DYNAMODB=" + db.Listen(t),
		"CARD_PROCESSOR_URL=http://127.0.0.1:1",
	}
	for _, run := range []struct {
		env, event, service, metric string
		log                         []string
	}{
		{"METRICS_SERVICE=", event, "payments", "Unknown", []string{`"kind":"unknown"`, `"ref":"order 17"`}},
		{"METRICS_SERVICE=shop", event, "shop", "Unknown", []string{`"kind":"unknown"`}},
		{"FRONT_DOOR=schedule", "{}", "payments", "Left", []string{`"did":"left"`, `"ref":"order 17"`}},
	} {
		stdout, stderr := &lineWriter{lines: make(chan string, 100)}, &lineWriter{lines: make(chan string, 100)}
		fn := localtest.StartFunction(t, localtest.Bootstrap{Timeout: 30 * time.Second, Env: append(env, run.env), Stdout: stdout, Stderr: stderr})
		if _, err := fn.Invoke(t.Context(), localtest.Event{Payload: []byte(run.event)}); err != nil {
			t.Fatal(err)
		}
		written := map[metric]bool{}
		for _, m := range metricsOf(t, []byte(stdout.waitFor(t, `"`+run.metric+`":1`))) {
			written[m] = true
		}
		if want := (metric{"oncekey", run.metric, "Service", run.service}); !written[want] {
			t.Errorf("%s: metrics %v, want %v", run.env, written, want)
		}
		if line := stderr.waitFor(t, run.log...); strings.Contains(line, "_aws") {
			t.Errorf("%s: a metric among the log: %s", run.env, line)
		}
	}
}
