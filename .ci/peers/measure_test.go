package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestPercentile(t *testing.T) {
	t.Parallel()
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(i + 1)
	}
	for _, c := range []struct {
		of      []float64
		p, want float64
	}{
		{hundred, 50, 50}, {hundred, 99, 99}, {hundred[:10], 99, 10}, {hundred[:3], 50, 2}, {hundred[:1], 1, 1},
	} {
		if got := percentile(c.of, c.p); got != c.want {
			t.Errorf("percentile %v of %d: got %v, want %v", c.p, len(c.of), got, c.want)
		}
	}
}

func TestMedian_OfEachColumn(t *testing.T) {
	t.Parallel()
	if got, want := median([]columns{{1, 9}, {3, 7}, {2, 8}}), (columns{2, 8}); got != want {
		t.Errorf("of three rounds: got %v, want %v", got, want)
	}
	if got, want := median([]columns{{1}, {2}}), (columns{1.5}); got != want {
		t.Errorf("of two rounds: got %v, want %v", got, want)
	}
}

// The notes name the sizes.
func TestWorkload_Sizes(t *testing.T) {
	t.Parallel()
	var w workload
	if err := json.Unmarshal(workloadText, &w); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		text json.RawMessage
		want int
	}{{"event", w.Event, 1024}, {"answer", w.Answer, 512}} {
		var compact bytes.Buffer
		if err := json.Compact(&compact, c.text); err != nil {
			t.Fatal(err)
		}
		if compact.Len() != c.want {
			t.Errorf("the %s has %d bytes, want %d", c.name, compact.Len(), c.want)
		}
	}
	var event struct{ ID string }
	if err := json.Unmarshal(w.Event, &event); err != nil {
		t.Fatal(err)
	}
	if key := fmt.Sprintf("round-%d-lanes-%02d-%06d", 1, 16, 1); len(event.ID) != len(key) {
		t.Errorf("the event's id is %q, must be as long as the keys, %q", event.ID, key)
	}
}

func TestMeasure_Ours(t *testing.T) {
	t.Parallel()
	ours := filepath.Join(t.TempDir(), "ours")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", ours, "./ours").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	workers, err := measure(t.Context(), t, []string{ours}, plan{rounds: 1, operations: 20})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds {
		got := median(workers[0].measured[k])
		want := 2.0
		if k.replay {
			want = 1
		}
		if got[calls] != want || got[writes] != want || got[reads] != 0 {
			t.Errorf("%v, %d in flight: %v calls, %v write and %v read units, want %v, %[5]v and 0",
				k, k.lanes, got[calls], got[writes], got[reads], want)
		}
		for c, v := range got {
			if v <= 0 && c != reads {
				t.Errorf("%v, %d in flight: %s is %v", k, k.lanes, heads[c].title, v)
			}
		}
	}
}

func TestMeasure_WorkerFails(t *testing.T) {
	t.Parallel()
	_, err := measure(t.Context(), t, []string{"false"}, plan{rounds: 1, operations: 1})
	if err == nil || !strings.Contains(err.Error(), "false: exit status 1") {
		t.Errorf("got %v, want an error with the worker's exit status", err)
	}
}
