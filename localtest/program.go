package localtest

import (
	"log"
	"runtime"
	"sync"
	"sync/atomic"
)

// Program is for a program that is no test, a demo or a load, say. It calls f with a TB of that name, whose lines logger
// prints, and reports whether nothing failed, which is for the exit status:
//
//	ok := localtest.Program("load", log.Default(), func(tb localtest.TB) {
//		db := localtest.Start(tb)
//		...
//	})
//	if !ok {
//		os.Exit(1) // not within f: nothing would be cleaned up
//	}
//
// As in a test, Fatalf ends f, which has a goroutine of its own, and what is registered by Cleanup is called at the end,
// last first, whether f and the cleanups return, end by Fatalf or panic. A panic crashes the program after that. Cleanups
// can register more of them, and can fail, as they do for a fault that never struck: trust what f has found only if ok.
func Program(name string, logger *log.Logger, f func(TB)) (ok bool) {
	p := &program{name: name, log: logger}
	alone(func() {
		defer alone(p.cleanUp)
		f(p)
	})
	return !p.failed.Load()
}

// alone calls f on a goroutine of its own and waits for its end: a Goexit ends nothing else there. In a deferred call on
// the goroutine that panics it would end the panic, too, and nobody would hear of that.
func alone(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// program is the TB of [Program].
type program struct {
	name   string
	log    *log.Logger
	failed atomic.Bool

	mu       sync.Mutex // guards cleanups; not held while one runs
	cleanups []func()
}

// cleanUp calls the last cleanup and then, however that ends, those that are left.
func (p *program) cleanUp() {
	if f := p.pop(); f != nil {
		defer alone(p.cleanUp)
		f()
	}
}

// pop takes the last cleanup, nil if there is none.
func (p *program) pop() (f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.cleanups) - 1; last >= 0 {
		f, p.cleanups = p.cleanups[last], p.cleanups[:last]
	}
	return f
}

func (p *program) Cleanup(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cleanups = append(p.cleanups, f)
}

func (p *program) Helper() {} // no line numbers are printed

func (p *program) Name() string { return p.name }

func (p *program) Logf(format string, args ...any) { p.log.Printf(format, args...) }

func (p *program) Errorf(format string, args ...any) {
	p.failed.Store(true)
	p.Logf(format, args...)
}

func (p *program) Fatalf(format string, args ...any) {
	p.Errorf(format, args...)
	runtime.Goexit()
}
