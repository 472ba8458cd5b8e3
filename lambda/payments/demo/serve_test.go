package main

import (
	"context"
	"os/exec"
	"regexp"
	"strings"
	"testing"
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
	ctx, stop := context.WithCancel(t.Context())
	said, ended := make(chan string, 9), make(chan struct{})
	go func() {
		defer close(ended)
		serve(ctx, t, "127.0.0.1:0", func(text string) { said <- text })
	}()
	defer func() { stop(); <-ended }()
	text := ""
	for !strings.Contains(text, "curl ") {
		select {
		case more := <-said:
			text += more
		case <-ended:
			t.Fatal("serve has ended")
		}
	}
	var got []string
	for _, line := range regexp.MustCompile(`(?m)^curl .*$`).FindAllString(text, -1) {
		out, err := exec.CommandContext(ctx, "sh", "-c", strings.ReplaceAll(line, "curl -i", "curl -s -i")).Output() //nolint:gosec // our own lines
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		status := strings.Join(regexp.MustCompile(`HTTP/1.1 (\d+)`).FindAllString(string(out), -1), " ")
		if strings.Contains(string(out), "Idempotent-Replayed: true") {
			status += " replayed"
		}
		got = append(got, strings.ReplaceAll(status, "HTTP/1.1 ", ""))
	}
	want := []string{"201", "201 replayed", "422", "", "400", "402", "201 replayed"}
	for i := range want {
		if i >= len(got) || want[i] != "" && got[i] != want[i] {
			t.Fatalf("answers %q, want %q", got, want)
		}
	}
	// Two at once: one is paid, the other hears of it or is told to come back.
	if two := got[3]; two != "201 201 replayed" && two != "201 409" && two != "409 201" {
		t.Errorf("two at once: %q", two)
	}
}
