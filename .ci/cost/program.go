package main

import (
	"log"
	"slices"
	"sync"

	"github.com/oncekey/oncekey/localtest"
)

// program stands where a test would.
type program struct {
	mu       sync.Mutex
	cleanups []func()
}

var _ localtest.TB = (*program)(nil)

// Helper does nothing.
func (p *program) Helper() {}

// Name is the program's.
func (p *program) Name() string { return "cost" }

// Cleanup calls f at the end.
func (p *program) Cleanup(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cleanups = append(p.cleanups, f)
}

// Errorf ends the program: figures of which something is wrong are none.
func (p *program) Errorf(format string, args ...any) { log.Fatalf(format, args...) }

// Fatalf ends the program.
func (p *program) Fatalf(format string, args ...any) { log.Fatalf(format, args...) }

// Logf prints a line.
func (p *program) Logf(format string, args ...any) { log.Printf(format, args...) }

func (p *program) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range slices.Backward(p.cleanups) {
		f()
	}
}
