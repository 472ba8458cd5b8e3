package main

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
)

// kind is what is measured together: two rows of it that differ in the library only can be compared.
type kind struct {
	replay bool
	lanes  int
}

// kinds are played in this order: a replay is of the first runs before it.
var kinds = []kind{{false, 1}, {true, 1}, {false, 16}, {true, 16}}

func (k kind) String() string {
	if k.replay {
		return "replay"
	}
	return "first run"
}

// columns are the figures of one kind and one library.
type columns [8]float64

// The columns; times are in seconds, of CPU and memory those of the client's process.
const (
	perSecond = iota
	p50
	p99
	cpu
	calls
	writes
	reads
	resident
)

// warmOperations are played, of each kind, before anything is measured.
const warmOperations = 200

func (w *worker) warmUp(ctx context.Context) error {
	for _, k := range kinds {
		if _, err := w.play(ctx, k, 0, warmOperations); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) measure(ctx context.Context, k kind, round, operations int) error {
	c, err := w.play(ctx, k, round, operations)
	w.measured[k] = append(w.measured[k], c)
	return err
}

func (w *worker) play(ctx context.Context, k kind, round, operations int) (c columns, err error) {
	runtime.GC() // what the last worker's calls have left here is not to be cleaned up in this one's time
	w.db.ResetCalls()
	var f figures
	p := phase{fmt.Sprintf("round-%d-lanes-%02d-", round, k.lanes), operations, k.lanes, k.replay}
	if err := w.ask(ctx, p, &f); err != nil {
		return c, err
	}
	if len(f.Milliseconds) != operations {
		return c, fmt.Errorf("%s: it has measured %d operations, want %d", w.command, len(f.Milliseconds), operations)
	}
	n := float64(operations)
	c[perSecond] = n / f.Seconds
	slices.Sort(f.Milliseconds)
	c[p50], c[p99] = percentile(f.Milliseconds, 50)/1e3, percentile(f.Milliseconds, 99)/1e3
	c[cpu] = f.CPUSeconds / n
	for _, call := range w.db.Calls("") {
		c[calls]++
		c[writes] += call.WriteUnits
		c[reads] += call.ReadUnits
	}
	for _, total := range []int{calls, writes, reads} {
		c[total] /= n
	}
	c[resident], err = w.resident(ctx)
	return c, err
}

// percentile is the smallest of the sorted values that at least p percent of them do not exceed.
func percentile(sorted []float64, p float64) float64 {
	return sorted[max(0, int(math.Ceil(p/100*float64(len(sorted))))-1)]
}

// median is that of each column.
func median(rounds []columns) (m columns) {
	for i := range m {
		var values []float64
		for _, c := range rounds {
			values = append(values, c[i])
		}
		slices.Sort(values)
		m[i] = (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	}
	return m
}
