package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/oncekey/oncekey/localtest"
)

// process is the command in a process of its own.
type process struct {
	*exec.Cmd

	out, err bytes.Buffer
}

// start runs the command with no more of an environment than it is given.
func start(t *testing.T, stdin io.Reader, env []string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.CommandContext(t.Context(), os.Args[0], args...)}
	p.Env = append([]string{asProcess + "=1", "AWS_EC2_METADATA_DISABLED=true", "HOME=" + t.TempDir()}, env...)
	p.Stdin, p.Stdout, p.Stderr = stdin, &p.out, &p.err
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

var credentials = []string{"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test"}

// end waits for the process; a killed one has the code -1.
func (p *process) end(t *testing.T) result {
	t.Helper()
	if err := p.Wait(); err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			t.Fatal(err)
		}
	}
	return result{p.ProcessState.ExitCode(), p.out.String(), p.err.String()}
}

// A kill leaves the record as it was, or resolved; running the command again says which.
func TestProcess_KilledInResolve(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fault  func(kill func()) localtest.Fault
		status string
		again  string
	}{
		"after the look": {func(kill func()) localtest.Fault {
			return localtest.Fault{Operation: "GetItem", After: kill}
		}, "UNKNOWN", "idemctl: resolved as completed\n"},
		"before the write": {func(kill func()) localtest.Fault {
			return localtest.Fault{Operation: "UpdateItem", Kind: localtest.RequestLost, Before: kill}
		}, "UNKNOWN", "idemctl: resolved as completed\n"},
		"after the write": {func(kill func()) localtest.Fault {
			return localtest.Fault{Operation: "UpdateItem", After: kill}
		}, statusCompleted, "the record says so already"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			id := f.unknown(t, "1")
			var p *process
			started := make(chan struct{})
			f.db.Inject(tc.fault(func() {
				<-started
				_ = p.Process.Kill()
			}))
			args := append([]string{"resolve", id, "-as", "completed", "-value", `"ch_1"`, "-yes"}, f.flags()...)
			p = start(t, nil, credentials, args...)
			close(started)
			if err := p.Wait(); err == nil || p.out.String() != "" {
				t.Fatalf("the process has ended with %v, and said %q", err, p.out.String())
			}
			if rec := f.record(t, id); rec.Status != tc.status {
				t.Errorf("the record is %s, want %s", rec.Status, tc.status)
			}
			start(t, nil, credentials, args...).end(t).want(t, exitOK, tc.again)
			if value, ran, err := f.retry(t, "1"); value != "ch_1" || ran || err != nil {
				t.Errorf("retry = %q, ran %v, %v", value, ran, err)
			}
		})
	}
}

// An interrupt ends what waits for the table, and what waits for an answer.
func TestProcess_Interrupted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	arrived := make(chan struct{})
	f.db.Inject(localtest.Fault{Operation: "GetItem", Kind: localtest.Hang, Before: func() { close(arrived) }})
	p := start(t, nil, credentials, append([]string{"get", "pay#1"}, f.flags()...)...)
	<-arrived
	interrupt(t, p).want(t, exitUnasked, "idemctl: interrupted\n")

	id := f.unknown(t, "1")
	asked, stdin, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = asked.Close(), stdin.Close() }()
	looked := make(chan struct{})
	f.db.Inject(localtest.Fault{Operation: "GetItem", After: func() { close(looked) }})
	p = start(t, asked, credentials, append([]string{"resolve", id, "-as", "not-done"}, f.flags()...)...)
	<-looked
	interrupt(t, p)
	if rec := f.record(t, id); rec.Status != "UNKNOWN" {
		t.Errorf("the record is %s", rec.Status)
	}
}

func interrupt(t *testing.T, p *process) result {
	t.Helper()
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	res := p.end(t)
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it took %s to end", took)
	}
	return res
}

func TestProcess_Environment(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.unknown(t, "1")
	whole := []string{"IDEMPOTENCY_TABLE=" + f.table, "AWS_REGION=eu-west-1", "AWS_ENDPOINT_URL_DYNAMODB=" + f.url}
	start(t, nil, append(whole, credentials...), "get", id).end(t).want(t, exitOK, "UNKNOWN")

	for name, tc := range map[string]struct {
		env  []string
		args []string
		code int
		says string
	}{
		"no credentials": {whole, nil, exitUnasked, "idemctl: there are no credentials: give -profile, log in, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"},
		"no region":      {append(whole[:1:1], credentials...), nil, exitUsage, "idemctl: which region? Give -region, or set AWS_REGION"},
		"no table":       {append(whole[1:3:3], credentials...), nil, exitUsage, "idemctl: which table? Give -table, or set IDEMPOTENCY_TABLE"},
		"no profile":     {whole, []string{"-profile", "nobody"}, exitUsage, "idemctl: the AWS configuration has no such profile: check -profile and AWS_PROFILE"},
		"another table":  {append(whole, credentials...), []string{"-table", "nothing"}, exitUnasked, "idemctl: there is no table nothing in eu-west-1, or these credentials belong to another account: check its name, -region and -profile"},
		"nobody listens": {append(whole, credentials...), []string{"-endpoint-url", "http://127.0.0.1:1"}, exitUnasked, "idemctl: the table " + f.table + " in eu-west-1 did not answer: check the network and -endpoint-url"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res := start(t, nil, tc.env, append([]string{"get", id}, tc.args...)...).end(t)
			res.want(t, tc.code)
			if res.firstLine() != tc.says || res.out != "" {
				t.Errorf("first line %q, stdout %q, want %q", res.firstLine(), res.out, tc.says)
			}
		})
	}
}

func TestProcess_NoArguments(t *testing.T) {
	t.Parallel()
	res := start(t, nil, nil).end(t)
	res.want(t, exitUsage, "create-table")
	if res.out != "" || !strings.HasPrefix(res.err, "idemctl shows") {
		t.Errorf("stdout %q", res.out)
	}
}
