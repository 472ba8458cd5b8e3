package main

import (
	"log"
	"runtime"
	"slices"
	"sync"

	"github.com/oncekey/oncekey/localtest"
)

// stage is what localtest takes for a test, in a program that is none.
type stage struct {
	log *log.Logger

	mu       sync.Mutex
	failed   bool
	cleanups []func()
}

var _ localtest.TB = (*stage)(nil)

// run calls f, which Fatalf ends, and then whatever was registered to be cleaned up.
func (s *stage) run(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
	s.mu.Lock()
	cleanups := s.cleanups
	s.mu.Unlock()
	for _, cleanup := range slices.Backward(cleanups) {
		cleanup()
	}
}

// Helper has nothing to do: no line numbers are printed.
func (s *stage) Helper() {}

// Name returns the program's name.
func (s *stage) Name() string { return "demo" }

// Cleanup registers f for the end of run.
func (s *stage) Cleanup(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cleanups = append(s.cleanups, f)
}

// Failed says whether Errorf or Fatalf was called.
func (s *stage) Failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// Logf prints a line.
func (s *stage) Logf(format string, args ...any) { s.log.Printf(format, args...) }

// Errorf prints a line and fails the run.
func (s *stage) Errorf(format string, args ...any) {
	s.Logf(format, args...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = true
}

// Fatalf prints a line, fails the run and ends it.
func (s *stage) Fatalf(format string, args ...any) {
	s.Errorf(format, args...)
	runtime.Goexit()
}
