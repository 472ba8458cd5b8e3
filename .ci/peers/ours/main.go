// Command ours is this library as a worker of the comparison with its peers: what it is told and what it answers is in
// worker.go of the folder above.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/config" //nolint:depguard // a main loads configuration
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
)

// mostLanes is how many calls are in flight at most.
const mostLanes = 16

// timeout is what a function would have left.
const timeout = 30 * time.Second

type setup struct {
	Table  string `json:"table"`
	Event  event  `json:"event"`
	Answer answer `json:"answer"`
}

// phase is what is to be done and measured.
type phase struct {
	Keys       string `json:"keys"`
	Operations int    `json:"operations"`
	Lanes      int    `json:"lanes"`
	Replay     bool   `json:"replay"`
}

func (p phase) key(i int) string { return fmt.Sprintf("%s%06d", p.Keys, i) }

type worker struct {
	setup
	runner *idempotency.Runner

	mu      sync.Mutex
	charges map[string]string // by the event's id
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("ours: ")
	if err := serve(context.Background(), os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context, in io.Reader, out io.Writer) error {
	told, answers := json.NewDecoder(in), json.NewEncoder(out)
	told.DisallowUnknownFields() // or the event would be smaller here than elsewhere
	w := &worker{charges: map[string]string{}}
	if err := told.Decode(&w.setup); err != nil {
		return fmt.Errorf("read the setup: %w", err)
	}
	if err := w.prepare(ctx); err != nil {
		return err
	}
	if err := answers.Encode(map[string]string{"library": "oncekey", "versions": versions()}); err != nil {
		return err
	}
	for {
		var p phase
		switch err := told.Decode(&p); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read a phase: %w", err)
		}
		figures, err := w.play(ctx, p)
		if err != nil {
			return err
		}
		if err := answers.Encode(figures); err != nil {
			return err
		}
	}
}

func (w *worker) prepare(ctx context.Context) error {
	cfg, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(lambda.AWSHTTPClient(mostLanes)))
	if err != nil {
		return err
	}
	w.runner, err = idempotency.New(dynamodb.NewFromConfig(cfg), idempotency.Config{Table: w.Table})
	if err != nil {
		return err
	}
	if _, err := w.pay(ctx, w.Event); err != nil {
		return err
	}
	changed := w.Event
	changed.Order.Amount++
	if _, err := w.pay(ctx, changed); !errors.Is(err, idempotency.ErrMismatch) {
		return fmt.Errorf("another request with the same key: %w, must be refused", err)
	}
	return nil
}

func (w *worker) pay(ctx context.Context, e event) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req := idempotency.Request{Operation: "pay", Scope: idempotency.GlobalScope, Key: e.ID, Input: e.Order}
	res, err := idempotency.Do(ctx, w.runner, req, func(context.Context) (answer, error) { return w.run(e) })
	return res.Value, err
}

// run is the handler.
func (w *worker) run(e event) (answer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.charges[e.ID] != "" {
		return answer{}, fmt.Errorf("%s has run before", e.ID)
	}
	a := w.Answer
	a.Charge = fmt.Sprintf("ch_%012d", len(w.charges)+1)
	w.charges[e.ID] = a.Charge
	return a, nil
}

// figures are of one phase.
type figures struct {
	Seconds      float64   `json:"seconds"`
	CPUSeconds   float64   `json:"cpuSeconds"`
	Milliseconds []float64 `json:"milliseconds"` // of each operation
}

func (w *worker) play(ctx context.Context, p phase) (figures, error) {
	answers, failures := make([]answer, p.Operations), make([]error, p.Operations)
	f := figures{Milliseconds: make([]float64, p.Operations)}
	before := len(w.charges)

	var lanes sync.WaitGroup
	cpu, began := cpuTime(), time.Now()
	for first := range p.Lanes {
		lanes.Go(func() {
			for i := first; i < p.Operations; i += p.Lanes {
				e := w.Event
				e.ID = p.key(i)
				began := time.Now()
				answers[i], failures[i] = w.pay(ctx, e)
				f.Milliseconds[i] = time.Since(began).Seconds() * 1e3
			}
		})
	}
	lanes.Wait()
	f.Seconds, f.CPUSeconds = time.Since(began).Seconds(), (cpuTime() - cpu).Seconds()

	want := p.Operations
	if p.Replay {
		want = 0
	}
	if err := errors.Join(failures...); err != nil {
		return f, err
	}
	if ran := len(w.charges) - before; ran != want {
		return f, fmt.Errorf("%s: the handler has run %d times, want %d", p.Keys, ran, want)
	}
	for i, got := range answers {
		want := w.Answer
		want.Charge = w.charges[p.key(i)]
		if got != want {
			return f, fmt.Errorf("%s was answered %+v, want %+v", p.key(i), got, want)
		}
	}
	return f, nil
}

// cpuTime is what this process has used, user and system.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // only for bad arguments
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func versions() string {
	commit, changed, sdk := "of an unknown commit", "", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = "at " + s.Value[:min(len(s.Value), 7)]
			case s.Key == "vcs.modified" && s.Value == "true":
				changed = " with changes"
			}
		}
		for _, dep := range info.Deps {
			if dep.Path == "github.com/aws/aws-sdk-go-v2/service/dynamodb" {
				sdk = ", AWS SDK's dynamodb " + strings.TrimPrefix(dep.Version, "v")
			}
		}
	}
	return commit + changed + ", Go " + strings.TrimPrefix(runtime.Version(), "go") + sdk
}
