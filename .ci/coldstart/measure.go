package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"time"
)

// patience is for a process that does not ask.
const patience = 10 * time.Second

// measure starts each bootstrap so often, in turns, so that whatever else the machine does meets all of them. A first start
// brings the file into memory and does not count.
func measure(ctx context.Context, all []*bootstrap, runs int) error {
	api, err := listen(ctx)
	if err != nil {
		return err
	}
	defer api.close()
	for round := range 1 + runs {
		for i := range all {
			b := all[(i+round)%len(all)] // no bootstrap always follows the same one
			s, err := api.start(ctx, exec.CommandContext(ctx, b.path))
			if err != nil {
				return fmt.Errorf("start %s: %w", b.name, err)
			}
			if round > 0 {
				b.starts = append(b.starts, s)
			}
		}
	}
	return nil
}

// runtimeAPI is the part of Lambda's Runtime API that a process meets before its first event, which never comes.
type runtimeAPI struct {
	server *http.Server
	addr   string
	asked  chan time.Time
}

func listen(ctx context.Context) (*runtimeAPI, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	api := &runtimeAPI{addr: l.Addr().String(), asked: make(chan time.Time, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case api.asked <- time.Now():
		default: // somebody asks twice
		}
		<-r.Context().Done() // the process is killed
	})
	api.server = &http.Server{Handler: mux, ReadHeaderTimeout: patience}
	go func() { _ = api.server.Serve(l) }()
	return api, nil
}

func (api *runtimeAPI) close() { _ = api.server.Close() }

// start starts a process and ends it once it has asked for an event.
func (api *runtimeAPI) start(ctx context.Context, cmd *exec.Cmd) (s start, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var said bytes.Buffer
	cmd.Env = append(cmd.Env, "AWS_LAMBDA_RUNTIME_API="+api.addr) // and nothing of this process's own
	cmd.Stdout, cmd.Stderr = &said, &said
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return s, err
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = cmd.Wait() }()
	select {
	case at := <-api.asked:
		s.wall = at.Sub(began)
	case <-ended:
		return s, fmt.Errorf("it has ended without asking for an event: %v\n%s", cmd.ProcessState, &said)
	case <-ctx.Done():
		err = fmt.Errorf("it has asked for no event: %w", ctx.Err())
	}
	_ = cmd.Process.Kill()
	<-ended
	s.processor = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return s, err
}
