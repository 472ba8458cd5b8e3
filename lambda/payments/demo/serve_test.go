package main

import (
	"context"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/oncekey/oncekey/lambda/payments/demo/frontdoor"
)

// Each curl line that serve prints is asked, by curl, and answered as the line above it says.
func TestServe_CurlLines(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds the function")
	}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl")
	}
	for _, door := range frontdoor.Names() {
		t.Run(door, func(t *testing.T) {
			t.Parallel()
			text := served(t, door)
			says := regexp.MustCompile(`(?m)^(.*)\n(curl .*)$`).FindAllStringSubmatch(text, -1)
			want := []string{"201", "201 replayed", "422", "409 201", "400", "402", "201 replayed", "404"}
			if len(says) != len(want) {
				t.Fatalf("%d curl lines, want %d:\n%s", len(says), len(want), text)
			}
			for i, pair := range says {
				if got := asked(t, pair[2]); got != want[i] {
					t.Errorf("%s\n%s\nanswered %q, want %q", pair[1], pair[2], got, want[i])
				}
				for _, n := range regexp.MustCompile(`\d+`).FindAllString(want[i], -1) {
					if !strings.Contains(pair[1], n) && !strings.Contains(want[i], "replayed") {
						t.Errorf("%q does not say %s", pair[1], n)
					}
				}
			}
		})
	}
}

// served starts serve, for as long as the test takes, and returns what it says.
func served(t *testing.T, door string) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	said, ended := make(chan string, 9), make(chan struct{})
	go func() {
		defer close(ended)
		serve(ctx, t, ":0", door, func(text string) { said <- text })
	}()
	t.Cleanup(func() { stop(); <-ended })
	text := ""
	for !strings.Contains(text, "curl ") {
		select {
		case more := <-said:
			text += more
		case <-ended:
			t.Fatal("serve has ended")
		}
	}
	if !strings.Contains(text, "http://127.0.0.1:") { // without a host, too
		t.Errorf("it listens elsewhere than on this machine alone:\n%s", text)
	}
	return text
}

// asked runs a line, and returns the statuses in the order in which they came.
func asked(t *testing.T, line string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(line, "curl -i", "curl -s -i")).Output() //nolint:gosec // our own lines
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	var got []string
	for _, status := range regexp.MustCompile(`HTTP/1.1 (\d+)`).FindAllStringSubmatch(string(out), -1) {
		got = append(got, status[1])
	}
	if strings.Contains(string(out), "Idempotent-Replayed: true") {
		got = append(got, "replayed")
	}
	return strings.Join(got, " ")
}
