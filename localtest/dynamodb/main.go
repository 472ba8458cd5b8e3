// Command dynamodb serves an empty in-memory DynamoDB on loopback until it is interrupted:
//
//	go run ./localtest/dynamodb -addr 127.0.0.1:8000
//
// Point a client at it as the endpoint, with any region and credentials. Nothing is kept when it ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/oncekey/oncekey/localtest"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8000", "address to listen on; port 0 takes a free one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *addr); err != nil {
		fmt.Fprintln(os.Stderr, "dynamodb:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, addr string) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("address %s is taken by another process: choose another one with -addr", addr)
	}
	if err != nil {
		return fmt.Errorf("listen on %s: %w", addr, err)
	}
	db := localtest.Start(program{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		db.ResetCalls() // nobody reads the log of this database
		db.Handler().ServeHTTP(w, r)
	})
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	fmt.Println("DynamoDB in memory at http://" + l.Addr().String())
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// program stands in for a test.
type program struct{}

func (program) Helper()               {}
func (program) Cleanup(func())        {}
func (program) Errorf(string, ...any) {}
func (program) Logf(string, ...any)   {}
func (program) Name() string          { return "dynamodb" }
func (program) Fatalf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "dynamodb: "+format+"\n", args...)
	os.Exit(1)
}
