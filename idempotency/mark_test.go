package idempotency

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestMarks_OfNilAreNil(t *testing.T) {
	t.Parallel()
	for name, mark := range map[string]func(error) error{"Terminal": Terminal, "Unknown": Unknown, "Safe": Safe} {
		if err := mark(nil); err != nil {
			t.Errorf("%s(nil) is %v", name, err)
		}
	}
}

// A mark hides nothing, and the first caller gets the error back as it was (C54 for all of them).
func TestMarks_AreStripped(t *testing.T) {
	t.Parallel()
	declined := declinedError{"51"}
	for name, mark := range map[string]func(error) error{"Terminal": Terminal, "Unknown": Unknown, "Safe": Safe} {
		err := mark(declined)
		if err.Error() != declined.Error() || !errors.Is(err, declined) {
			t.Errorf("%s shows %q", name, err)
		}
		if _, ok := errors.AsType[declinedError](err); !ok {
			t.Errorf("%s hides the type", name)
		}
		if got := unmarked(err); got != error(declined) { //nolint:errorlint // the very value is meant
			t.Errorf("%s: unmarked is %#v", name, got)
		}
		if got := unmarked(mark(Unknown(mark(declined)))); got != error(declined) { //nolint:errorlint // the very value is meant
			t.Errorf("%s, three marks: unmarked is %#v", name, got)
		}
	}
	wrapped := fmt.Errorf("pay: %w", Terminal(declined))
	if got := unmarked(wrapped); got != wrapped { //nolint:errorlint // the very value is meant
		t.Errorf("the user's own wrapping is gone: %#v", got)
	}
	if unmarked(nil) != nil || unmarked(io.EOF) != io.EOF { //nolint:errorlint // the very value is meant
		t.Error("an error without a mark was changed")
	}
}

func TestClassify_MarkThenUserThenTable(t *testing.T) {
	t.Parallel()
	override := func(err error) Class {
		switch {
		case errors.Is(err, io.ErrNoProgress):
			return Recorded
		case errors.Is(err, io.EOF):
			return Released
		case errors.Is(err, io.ErrShortWrite):
			return Ambiguous
		case errors.Is(err, io.ErrShortBuffer):
			return Class(17)
		case errors.Is(err, context.Canceled):
			return Class(-1)
		}
		return 0
	}
	plain := errors.New("plain")
	for _, row := range []struct {
		name           string
		err            error
		table, classed Class
	}{
		{"Terminal", Terminal(plain), Recorded, Recorded},
		{"Unknown", Unknown(plain), Ambiguous, Ambiguous},
		{"Safe of a time-out", Safe(context.DeadlineExceeded), Released, Released},
		{"a mark in a wrap", fmt.Errorf("pay: %w", Unknown(plain)), Ambiguous, Ambiguous},
		{"a mark in a join", errors.Join(plain, Terminal(plain)), Recorded, Recorded},
		{"the outer of two marks", Safe(Unknown(plain)), Released, Released},
		{"the outer of two marks", Unknown(fmt.Errorf("pay: %w", Safe(plain))), Ambiguous, Ambiguous},
		{"a mark before Classify", Unknown(io.EOF), Ambiguous, Ambiguous},
		{"no mark", plain, Released, Released},
		{"Classify records", io.ErrNoProgress, Released, Recorded},
		{"Classify releases", fmt.Errorf("read: %w", io.EOF), Ambiguous, Released},
		{"Classify does not know", io.ErrShortWrite, Released, Ambiguous},
		{"Classify leaves it", io.ErrUnexpectedEOF, Ambiguous, Ambiguous},
		{"Classify says what is no class", io.ErrShortBuffer, Released, Released},
		{"Classify says what is no class", context.Canceled, Ambiguous, Ambiguous},
	} {
		if got := (&Config{}).classify(row.err); got != row.table {
			t.Errorf("%s (%v), no Classify: %d, want %d", row.name, row.err, got, row.table)
		}
		if got := (&Config{Classify: override}).classify(row.err); got != row.classed {
			t.Errorf("%s (%v): %d, want %d", row.name, row.err, got, row.classed)
		}
	}
}

// H15, I5: what is joined is one error each, and a mark speaks for its own only: if any branch may have had an
// effect, so may the whole, in whatever order they stand.
func TestClassify_AnyAmbiguousBranchDecides(t *testing.T) {
	t.Parallel()
	plain := errors.New("plain")
	for name, err := range map[string]error{
		"Safe and Unknown":            errors.Join(Safe(plain), Unknown(plain)),
		"Unknown and Safe":            errors.Join(Unknown(plain), Safe(plain)),
		"Terminal and Unknown":        errors.Join(Terminal(plain), Unknown(plain)),
		"Safe and a lost reply":       errors.Join(Safe(plain), io.EOF),
		"a lost reply and Safe":       errors.Join(io.EOF, Safe(plain)),
		"two %w, Safe and Unknown":    fmt.Errorf("%w, then %w", Safe(plain), Unknown(plain)),
		"Safe and a wrapped Unknown":  errors.Join(Safe(plain), fmt.Errorf("x: %w", Unknown(plain))),
		"Safe and a nested lost join": errors.Join(Safe(plain), errors.Join(plain, io.ErrUnexpectedEOF)),
	} {
		if got := (&Config{}).classify(err); got != Ambiguous {
			t.Errorf("%s: class %d, want %d", name, got, Ambiguous)
		}
	}
	if got := (&Config{}).classify(errors.Join(Safe(io.EOF), plain)); got != Released {
		t.Errorf("a Safe lost reply and a plain error: class %d, want %d", got, Released)
	}
}
