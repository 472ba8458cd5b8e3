// Command dynamodb serves an empty in-memory DynamoDB on loopback until it is interrupted:
//
//	go run ./localtest/dynamodb -addr 127.0.0.1:8000
//
// Point a client at it as the endpoint, with any region and credentials. Nothing is kept when it ends.
package main

import (
	"cmp"
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

	"github.com/oncekey/oncekey/localtest/internal/dynamo"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8000", "host and port to listen on; port 0 takes a free one")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "dynamodb: unknown argument %q: the address is given as -addr %[1]s\n", flag.Arg(0))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *addr); err != nil {
		fmt.Fprintln(os.Stderr, "dynamodb:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, addr string) error {
	if host, port, err := net.SplitHostPort(addr); err != nil || host == "" {
		// Without a host it would be every interface.
		return fmt.Errorf("-addr is %q, must be a host and a port, as in 127.0.0.1:%s", addr, cmp.Or(port, "8000"))
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("address %s is taken by another process: choose another one with -addr", addr)
	}
	if err != nil {
		return fmt.Errorf("listen on %s: %w", addr, err)
	}
	server := &http.Server{Handler: dynamo.New(time.Now), ReadHeaderTimeout: time.Minute}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	fmt.Println("DynamoDB in memory at http://" + l.Addr().String())
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
