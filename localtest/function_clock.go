package localtest

import (
	"fmt"
	"os"
	"time"

	"github.com/oncekey/oncekey/localtest/internal/runtimeapi"
)

// Now is the time by the process's clock: in a process that [StartFunction] started, time.Now and the offset that its
// [Bootstrap] sets; elsewhere time.Now. It is for a test binary that is its own bootstrap: idempotency.Config{Now:
// localtest.Now}.
//
// A program that must not import this package can take its offset as a flag, and the test sets it by Args:
//
//	offset := flag.Duration("clock-offset", 0, "how far the clock is off")
//	flag.Parse()
//	now := func() time.Time { return time.Now().Add(*offset) }
//
//	localtest.StartFunction(t, localtest.Bootstrap{Path: program, Args: []string{"-clock-offset=-3s"}})
func Now() time.Time {
	text := os.Getenv(runtimeapi.ClockVariable)
	if text == "" {
		return time.Now()
	}
	offset, err := time.ParseDuration(text)
	if err != nil {
		panic(fmt.Sprintf("localtest: environment variable %s is %q, must be a duration", runtimeapi.ClockVariable, text))
	}
	return time.Now().Add(offset)
}
