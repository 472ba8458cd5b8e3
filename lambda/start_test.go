package lambda_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	awslambda "github.com/aws/aws-lambda-go/lambda"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
	"github.com/oncekey/oncekey/localtest"
)

// startFunction is the main of a function whose table lives in its own process.
func startFunction() {
	db := localtest.Start(process{})
	r, err := idempotency.New(db.Client(), idempotency.Config{
		Table: db.CreateTable(process{}, idempotency.Table("idempotency", idempotency.Schema{})),
	})
	if err != nil {
		process{}.Fatalf("%v", err)
	}
	runs := 0
	lambda.Start(lambda.Wrap(r, func(_ context.Context, o order) (idempotency.Request, error) {
		return idempotency.Request{Operation: "pay", Key: o.ID}, nil // the scope is the tenant's
	}, func(_ context.Context, o order) (string, error) {
		runs++
		if o.Amount > 100 {
			return "", idempotency.Terminal(&declinedError{fmt.Sprint("run ", runs)})
		}
		return fmt.Sprintf("<run %d>", runs), nil
	}),
		lambda.WithEnableSIGTERM(func() {
			process{}.Logf("shutting down")
			os.Exit(0)
		}),
		awslambda.WithSetEscapeHTML(true)) // an option that shows
}

// In a process of its own, under a Runtime API.
func TestStart_FirstRunAndReplay(t *testing.T) {
	t.Parallel()
	fn := localtest.StartFunction(t, localtest.Bootstrap{})
	const declined = `{"errorMessage":"card declined: run 3","errorType":"declinedError"}`
	for _, tt := range []struct{ tenant, payload, want, errorType string }{
		{"t1", `{"id":"o"}`, `"\u003crun 1\u003e"`, ""},
		{"t2", `{"id":"o"}`, `"\u003crun 2\u003e"`, ""},
		{"t1", `{"id":"o"}`, `"\u003crun 1\u003e"`, ""},
		{"t1", `{"id":"p","amount":101}`, declined, "declinedError"},
		{"t1", `{"id":"p","amount":101}`, declined, "declinedError"},
		{"t1", `{"id":"o","amount":1}`, "", "IdempotencyMismatch"},
		{"", `{"id":"o"}`, "", "IdempotencyInvalid"},
	} {
		got, err := fn.Invoke(t.Context(), localtest.Event{Payload: []byte(tt.payload), TenantID: tt.tenant})
		if err != nil {
			t.Fatal(err)
		}
		errorType := ""
		if got.Error != nil {
			errorType = got.Error.Type
		}
		if errorType != tt.errorType || tt.want != "" && string(got.Payload) != tt.want {
			t.Errorf("tenant %q, %s: %s, want %s %s", tt.tenant, tt.payload, got.Payload, tt.errorType, tt.want)
		}
	}
}

func TestStart_TellsOfTheShutdown(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("has no SIGTERM")
	}
	written := make(output, 100)
	fn := localtest.StartFunction(t, localtest.Bootstrap{Stderr: written})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	got, err := fn.Invoke(ctx, localtest.Event{Payload: []byte(`{"id":"o"}`), TenantID: "t1"})
	if err != nil {
		t.Fatal(err)
	}
	function, err := os.FindProcess(got.PID)
	if err != nil {
		t.Fatal(err)
	}
	if err := function.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for {
		select {
		case text := <-written:
			if strings.Contains(text, "shutting down") {
				return
			}
		case <-ctx.Done():
			t.Fatal("the callback was not called")
		}
	}
}

// output is what a process writes, piece by piece.
type output chan string

func (o output) Write(p []byte) (int, error) {
	o <- string(p)
	return len(p), nil
}

// process stands for a test in the function's process.
type process struct{}

func (process) Helper()        {}
func (process) Cleanup(func()) {}
func (process) Name() string   { return "function" }

func (process) Logf(format string, args ...any)     { fmt.Fprintf(os.Stderr, format+"\n", args...) }
func (p process) Errorf(format string, args ...any) { p.Fatalf(format, args...) }

func (p process) Fatalf(format string, args ...any) {
	p.Logf(format, args...)
	os.Exit(1)
}
