package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// A worker reads lines of JSON and answers each with one. The first line is setup, and its answer hello; by then
// the worker has seen that another request with the key of the first one is refused. Every other line is a phase, and its
// answer figures. A worker ends with its input. It fails if a handler has not run as often as it should, or an answer
// is not the one that was recorded.
type (
	setup struct {
		Table string `json:"table"`
		workload
	}
	workload struct {
		Event  json.RawMessage `json:"event"`  // each operation's has another id
		Answer json.RawMessage `json:"answer"` // each run's has another charge
	}
	hello struct {
		Library  string `json:"library"`
		Versions string `json:"versions"`
	}
	// phase is a number of operations in so many lanes, whose ids are Keys and a number of six digits, from 0 on.
	phase struct {
		Keys       string `json:"keys"`
		Operations int    `json:"operations"`
		Lanes      int    `json:"lanes"`
		Replay     bool   `json:"replay"`
	}
	figures struct {
		Seconds      float64   `json:"seconds"`      // the phase took
		CPUSeconds   float64   `json:"cpuSeconds"`   // of the worker's process, user and system
		Milliseconds []float64 `json:"milliseconds"` // each operation took
	}
)

//go:embed workload.json
var workloadText []byte

// worker is a library's process, with a database of its own.
type worker struct {
	hello
	command string
	db      *localtest.DB
	process *exec.Cmd
	input   io.Closer
	told    *json.Encoder
	answers *json.Decoder

	measured map[kind][]columns
}

// start returns when the worker is ready.
func start(ctx context.Context, tb localtest.TB, command string) (*worker, error) {
	tb.Helper()
	w := &worker{command: command, db: localtest.Start(tb), measured: map[kind][]columns{}}
	in := idempotency.Table("peers", idempotency.Schema{})
	table, endpoint := w.db.CreateTable(tb, in), w.db.Listen(tb) //nolint:contextcheck // they last until the end of tb
	s := setup{Table: table}
	if err := json.Unmarshal(workloadText, &s.workload); err != nil {
		return nil, fmt.Errorf("workload.json: %w", err)
	}
	words := strings.Fields(command)
	w.process = exec.CommandContext(ctx, words[0], words[1:]...)
	w.process.Env = environment(endpoint)
	w.process.Stderr = os.Stderr
	stdin, err := w.process.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := w.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.input, w.told, w.answers = stdin, json.NewEncoder(stdin), json.NewDecoder(stdout)
	if err := w.process.Start(); err != nil {
		return nil, err
	}
	return w, w.ask(ctx, s, &w.hello)
}

// environment is all that a worker is told: nothing of this machine's settings, proxies and credentials.
func environment(endpoint string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), // node may be a link that looks for itself
		"HOME=/nonexistent",
		"LANG=C.UTF-8",
		"AWS_ENDPOINT_URL_DYNAMODB=" + endpoint,
		"AWS_REGION=us-east-1",
		"AWS_DEFAULT_REGION=us-east-1", // boto3's name of it
		"AWS_ACCESS_KEY_ID=local",
		"AWS_SECRET_ACCESS_KEY=local",
		"AWS_EC2_METADATA_DISABLED=true",
		"AWS_LAMBDA_FUNCTION_NAME=peers", // Powertools begins its ids with it
	}
}

// ask sends a line and waits for its answer.
func (w *worker) ask(ctx context.Context, question, answer any) error {
	err := w.told.Encode(question)
	if err == nil {
		err = w.answers.Decode(answer)
	}
	if err == nil {
		return nil
	}
	ended := w.end()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case ended != nil: // it has said why
		return ended
	}
	return fmt.Errorf("%s: %w", w.command, err)
}

// end ends the process, and says if it fails.
func (w *worker) end() error {
	_ = w.input.Close() // it may be gone
	if err := w.process.Wait(); err != nil {
		return fmt.Errorf("%s: %w", w.command, err)
	}
	return nil
}

// resident is how much memory the process has now, in bytes.
func (w *worker) resident(ctx context.Context) (float64, error) {
	out, err := exec.CommandContext(ctx, "ps", "-o", "rss=", "-p", strconv.Itoa(w.process.Process.Pid)).Output()
	if err != nil {
		return 0, fmt.Errorf("ask ps for the memory of %s: %w", w.command, err)
	}
	kib, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	return kib * 1024, err
}
