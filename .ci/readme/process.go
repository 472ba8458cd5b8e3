package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// world is where the command lines are run: the repository, a user's new module, and a table whose records wait for an operator.
type world struct {
	repository, module, bin string
	operator                []string // the environment that an operator has
	records                 []string // the ids of the records whose outcome is unknown
	database                string   // host:port of the DynamoDB that the documents start
}

// shell is a command line in a shell of its own, in a process group of its own, so that what it starts ends with it.
func (w *world) shell(ctx context.Context, h held) *exec.Cmd {
	line := h.command
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail")
	cmd.Dir, cmd.Env = w.repository, os.Environ()
	switch h.where {
	case repository:
	case newModule:
		cmd.Dir, cmd.Env = w.module, w.environment()
		line = strings.ReplaceAll(line, printedAddr, w.database)
	case operator:
		cmd.Dir, cmd.Env = w.module, append(w.environment(), w.operator...)
		if h.record < len(w.records) {
			cmd.Env = append(cmd.Env, "ID="+w.records[h.record])
		}
	}
	cmd.Args = append(cmd.Args, "-c", line)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// environment is that of a user, but that nothing is fetched: the repository's modules are on this machine, with their sums checked.
func (w *world) environment() []string {
	return append(os.Environ(), "PATH="+w.bin+":"+os.Getenv("PATH"), "GOWORK=off", "GOFLAGS=", "GOPROXY=off", "GOSUMDB=off")
}

// run runs a command line to its end, and returns what is wrong with it, or "".
func (w *world) run(ctx context.Context, h held) string {
	limit := h.limit
	if limit == 0 {
		limit = time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := w.shell(ctx, h)
	if h.where == operator {
		cmd.Stdin = strings.NewReader("y\n") // resolve asks
	}
	output, err := cmd.CombinedOutput()
	switch exit, isExit := errors.AsType[*exec.ExitError](err); {
	case ctx.Err() != nil:
		return fmt.Sprintf("has not ended after %v:\n%s", limit, output)
	case err != nil && !isExit:
		return err.Error()
	case isExit && exit.ExitCode() != h.code, err == nil && h.code != 0:
		return fmt.Sprintf("%v, want exit code %d:\n%s", err, h.code, output)
	case !strings.Contains(string(output), h.says):
		return fmt.Sprintf("does not say %q:\n%s", h.says, output)
	}
	return ""
}

// server is a command line that serves until it is ended.
type server struct {
	cmd   *exec.Cmd
	said  *output
	ended chan struct{}
}

// output is what a process has printed so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start starts a server on a port that is free, and waits until it has printed its address.
func (w *world) start(ctx context.Context, h held) (s *server, address string, err error) {
	h.command = strings.ReplaceAll(h.command, printedAddr, "127.0.0.1:0")
	s = &server{cmd: w.shell(context.WithoutCancel(ctx), h), said: &output{}, ended: make(chan struct{})}
	s.cmd.Env = append(s.cmd.Env, "ADDR=127.0.0.1:0") // which the Makefile asks for
	s.cmd.Stdout, s.cmd.Stderr = s.said, s.said
	if err := s.cmd.Start(); err != nil {
		return nil, "", err
	}
	go func() { defer close(s.ended); _ = s.cmd.Wait() }()

	tick, late := time.NewTicker(50*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for {
		if m := served.FindStringSubmatch(s.said.String()); m != nil {
			return s, m[1], nil
		}
		select {
		case <-tick.C:
		case <-s.ended:
			return nil, "", fmt.Errorf("has ended:\n%s", s.said)
		case <-late:
			return nil, "", errors.Join(fmt.Errorf("has printed no address after a minute:\n%s", s.said), s.end())
		case <-ctx.Done():
			return nil, "", errors.Join(ctx.Err(), s.end())
		}
	}
}

// end interrupts the server and what it has started, as Ctrl-C does.
func (s *server) end() error {
	select {
	case <-s.ended:
		return fmt.Errorf("has ended by itself:\n%s", s.said)
	default:
	}
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGINT)
	select {
	case <-s.ended:
		return nil
	case <-time.After(10 * time.Second):
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		<-s.ended
		return errors.New("does not end by an interrupt")
	}
}
