package localtest

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"
)

// serveLoopback serves h on a free port of 127.0.0.1 until the end of the test, and returns the URL. At the end every
// connection is closed, the context of every request is done, and no request is still being served afterwards. A panic
// in h fails the test.
func serveLoopback(tb TB, h http.Handler) (url string) {
	tb.Helper()
	life, end := context.WithCancel(context.Background())
	l, err := new(net.ListenConfig).Listen(life, "tcp", "127.0.0.1:0")
	if err != nil {
		end()
		tb.Fatalf("localtest: listen on loopback: %v", err)
	}
	requests := &gate{next: reportPanics(tb, h)}
	server := &http.Server{
		Handler:           requests,
		ReadHeaderTimeout: time.Minute,
		BaseContext:       func(net.Listener) context.Context { return life },
		ErrorLog:          log.New(io.Discard, "", 0), // a client that is gone is no news
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			tb.Errorf("localtest: serve on loopback: %v", err)
		}
	}()
	tb.Cleanup(func() {
		_ = server.Close() // what fails to close is closed with the process
		end()
		<-done
		requests.shut() // Close waits for no handler
	})
	return "http://" + l.Addr().String()
}

// reportPanics is for panics that net/http would log only.
func reportPanics(tb TB, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil {
				if !isAbort(p) {
					tb.Errorf("localtest: panic while a request was served: %v\n%s", p, debug.Stack())
				}
				panic(http.ErrAbortHandler) // cuts the connection
			}
		}()
		h.ServeHTTP(w, r)
	})
}

// isAbort tells the panic by which a handler cuts the connection.
func isAbort(p any) bool {
	err, ok := p.(error)
	return ok && errors.Is(err, http.ErrAbortHandler)
}

// gate lets requests pass until it is shut.
type gate struct {
	next http.Handler

	mu     sync.Mutex
	isShut bool
	inside sync.WaitGroup
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !g.enter() {
		panic(http.ErrAbortHandler) // its connection is closed
	}
	defer g.inside.Done()
	g.next.ServeHTTP(w, r)
}

func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.isShut {
		g.inside.Add(1)
	}
	return !g.isShut
}

// shut returns when no request is inside and none can come in any more.
func (g *gate) shut() {
	g.mu.Lock()
	g.isShut = true
	g.mu.Unlock()
	g.inside.Wait()
}
