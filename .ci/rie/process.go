package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// startLimit is how long a process may take until it listens.
	startLimit = 20 * time.Second
	// grace is how long it has to end after SIGTERM, before it is killed.
	grace = 5 * time.Second
)

// process is a server that this program has started, and ends.
type process struct {
	name   string
	cancel context.CancelFunc
	ended  chan struct{}
	output bytes.Buffer // what it wrote; to be read when it has ended
	killed bool         // it did not end by itself; set before ended is closed
}

// start runs a program until stop or the end of ctx, with no environment but env. It returns when the program listens
// at the address.
func start(ctx context.Context, address string, env []string, path string, args ...string) (*process, error) {
	life, cancel := context.WithCancel(ctx)
	p := &process{name: filepath.Base(path), cancel: cancel, ended: make(chan struct{})}
	cmd := exec.CommandContext(life, path, args...)
	cmd.Env = append([]string{}, env...) // nil would be this program's own
	cmd.Stdout, cmd.Stderr = &p.output, &p.output
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = grace
	if err := cmd.Start(); err != nil {
		cancel()
		return nil, err
	}
	go func() {
		err := cmd.Wait()
		status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
		p.killed = errors.Is(err, exec.ErrWaitDelay) || status.Signaled() && status.Signal() == syscall.SIGKILL
		close(p.ended)
	}()
	if err := p.listens(ctx, address); err != nil {
		_ = p.stop() // whether it had to be killed says less than err
		return nil, fmt.Errorf("start %s: %w; it wrote:\n%s", p.name, err, p.output.String())
	}
	return p, nil
}

// listens waits until there is somebody at the address.
func (p *process) listens(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("it does not listen at %s within %v", address, startLimit))
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		if conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address); err == nil {
			return conn.Close()
		}
		select {
		case <-again.C:
		case <-p.ended:
			return errors.New("it has ended")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// stop returns when the process has ended.
func (p *process) stop() error {
	p.cancel()
	<-p.ended
	if p.killed {
		return fmt.Errorf("%s did not end within %v of SIGTERM, and was killed", p.name, grace)
	}
	return nil
}
