package main

import (
	"strings"
	"testing"
	"time"
)

func TestReport_RatiosToTheFirst(t *testing.T) {
	t.Parallel()
	figures := func(perSecond, cpu float64) map[kind][]columns {
		m := map[kind][]columns{}
		for _, k := range kinds {
			m[k] = []columns{{perSecond, 0.001, 0.002, cpu, 2, 2, 0.5, 30e6}}
		}
		return m
	}
	workers := []*worker{
		{hello: hello{"a", "1"}, measured: figures(1000, 0.0005)},
		{hello: hello{"b", "2"}, measured: figures(250, 0.001)},
	}
	got := report(workers, plan{1, 10}, time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), "a machine")
	for _, want := range []string{
		"Measured on 1 December 2026 on a machine: a 1; b 2.\n",
		"| first run | 1 | a | 1000 | 1.00 | 2.00 | 500 | 2 | 2 | 0.5 | 30 |\n",
		"| replay | 16 | b | 250 (0.25) | 1.00 (1.00) | 2.00 (1.00) | 1000 (2.00) | 2 | 2 | 0.5 | 30 (1.00) |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("report lacks %q:\n%s", want, got)
		}
	}
}
