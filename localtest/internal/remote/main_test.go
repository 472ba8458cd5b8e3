package remote_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/oncekey/oncekey/localtest/internal/dynamo"
	"github.com/oncekey/oncekey/localtest/internal/remote"
)

// The test binary stands in for Java and Docker, and is a process that uses them and dies.
func TestMain(m *testing.M) {
	switch os.Getenv("STAND_IN_FOR") {
	case "server":
		standIn()
	case "user":
		use()
	default:
		os.Exit(m.Run())
	}
}

// standIn is a DynamoDB Local: it serves on the port that its arguments name, until it is ended. It tells the test of
// its arguments, and of its end by that of the connection.
func standIn() {
	conn, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", os.Getenv("STAND_IN_TELLS"))
	if err != nil {
		fail(err)
	}
	if os.Getenv("STAND_IN_DEAF") != "" {
		signal.Ignore(syscall.SIGTERM)
	}
	if _, err := fmt.Fprintf(conn, "%q\n", os.Args[1:]); err != nil {
		fail(err)
	}
	server := &http.Server{Addr: "127.0.0.1:" + os.Args[slices.Index(os.Args, "-port")+1], Handler: dynamo.New(time.Now), ReadHeaderTimeout: time.Minute}
	fail(server.ListenAndServe())
}

// use opens what the environment asks for and stays.
func use() {
	r := remote.New(os.Getenv)
	if err := r.Open(); err != nil {
		fail(err)
	}
	if _, err := fmt.Fprintln(os.Stdout, "open"); err != nil {
		fail(err)
	}
	select {}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
