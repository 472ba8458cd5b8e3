package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestSpan(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0s", 900 * time.Millisecond: "0s", 59 * time.Second: "59s", time.Minute: "1m", 61 * time.Second: "1m1s",
		time.Hour + 59*time.Second: "1h", 24 * time.Hour: "1d", 26*time.Hour + time.Minute: "1d2h", -90 * time.Second: "-1m30s",
	} {
		if got := span(d); got != want {
			t.Errorf("%s is %q, want %q", d, got, want)
		}
	}
}

// A ref is somebody else's text: it neither breaks the table nor reaches the terminal as a command.
func TestTable_SomebodyElsesText(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	rows := newTable(&out)
	rows.row("a", "order\t17\n\x1b[2J", "b")
	rows.row("Größe", "plain", "c")
	rows.flush()
	if want := "a      \"order\\t17\\n\\x1b[2J\"  b\nGröße  plain                 c\n"; out.String() != want {
		t.Errorf("table %q, want %q", out.String(), want)
	}
}

// What a customer has put into an answer is shown as it is, but for what a terminal would obey or not show.
func TestVisible(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{\n\t\"name\": \"Größe\"\n}": "{\n\t\"name\": \"Größe\"\n}",
		"\x1b]0;owned\a":              `\u001b]0;owned\u0007`,
		"\u009b31m\u202e\x7f":         `\u009b31m\u202e\u007f`,
	} {
		if got := visible(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

func TestWithoutNewline(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"a": "a", "a\n": "a", "a\r\n": "a", "a\r": "a\r", "a\n\n": "a\n", "": ""} {
		if got := withoutNewline(text); got != want {
			t.Errorf("%q without newline is %q, want %q", text, got, want)
		}
	}
}

// A disk that is full: the exit code says so.
func TestRun_OutputThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	code := run(t.Context(), []string{"cost", "-rate", "1"}, func(string) string { return "" }, nil, full{}, &stderr)
	if code != exitUnasked || !strings.Contains(stderr.String(), "no space") {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space is left") }

func TestNumbers(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		dollars(0): "$0", dollars(0.0079): "$0.0079", dollars(0.994): "$0.99", dollars(0.996): "$1.00", dollars(1234.5): "$1,234.50", dollars(27848.606): "$27,848.61",
		grouped(0.5): "0.5", grouped(9.3): "9.3", grouped(999.6): "1,000", grouped(86.4e6): "86,400,000", short(172.8): "173", short(3): "3", short(0.51840): "0.518",
		bytesOf(9999): "9999 bytes", bytesOf(12345): "12.3 KB",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
