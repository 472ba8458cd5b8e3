package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
)

const (
	asCompleted = "completed"
	asFailed    = "failed"
	asNotDone   = "not-done"
)

// verdict is what the command line says has happened.
type verdict struct {
	as                      choice
	value, valueFile        string
	errorType, errorMessage string
	httpStatus              int
	httpHeaders             list
	httpBody                string

	fs         *flag.FlagSet
	resolution idempotency.Resolution
	recorded   []byte // of completed: the value as it is recorded
}

func (v *verdict) define(fs *flag.FlagSet) {
	v.fs, v.as = fs, choice{"", []string{asCompleted, asFailed, asNotDone}}
	fs.Var(&v.as, "as", "`what` has happened: completed, failed or not-done; required")
	fs.StringVar(&v.value, "value", "", "of completed: what the handler would have returned, as `JSON`")
	fs.StringVar(&v.valueFile, "value-file", "", "the same, in a `file`")
	fs.IntVar(&v.httpStatus, "http-status", 0, "of completed behind HTTP: the `status` of the answer")
	fs.Var(&v.httpHeaders, "http-header", "a `header` of the answer, as 'Content-Type: application/json'; once for each")
	fs.StringVar(&v.httpBody, "http-body", "", "the `body` of the answer")
	fs.StringVar(&v.errorType, "error-type", "", "of failed: the error's `type`, as Lambda reports it in errorType")
	fs.StringVar(&v.errorMessage, "error-message", "", "of failed: the error's `message`")
}

// shownValue is how much of a value the question shows, in bytes.
const shownValue = 200

// describe is for the question.
func (v *verdict) describe() string {
	switch v.as.value {
	case asFailed:
		return fmt.Sprintf("failed, with the error %s: %q", v.errorType, v.errorMessage)
	case asNotDone:
		return "not done, so that the next request runs"
	}
	shown := string(v.recorded)
	if len(shown) > shownValue {
		shown = strings.ToValidUTF8(shown[:shownValue], "") + "…"
	}
	return "completed, with the value " + printable(shown)
}

// read makes a resolution of the flags, and refuses those that do not go together.
func (v *verdict) read() error {
	if v.as.value == "" {
		return usage("what has happened? Give -as completed, failed or not-done")
	}
	flags, count := given(v.fs), 0
	for as, names := range map[string][]string{
		asCompleted: {"value", "value-file", "http-status", "http-header", "http-body"},
		asFailed:    {"error-type", "error-message"},
	} {
		for _, name := range names {
			if flags[name] && as != v.as.value {
				return usage("-%s goes with -as %s", name, as)
			}
		}
	}
	for _, name := range []string{"value", "value-file", "http-status"} {
		if flags[name] {
			count++
		}
	}
	switch {
	case v.as.value == asNotDone:
		v.resolution = idempotency.NotDone()
		return nil
	case v.as.value == asFailed:
		if v.errorType == "" || v.errorMessage == "" {
			return usage("which failure? -as failed goes with -error-type and -error-message")
		}
		v.resolution = idempotency.Failed(&statedError{v.errorType, v.errorMessage})
		return nil
	case count != 1:
		return usage("which answer? -as completed goes with one of -value, -value-file and -http-status; what returns nothing has the value null")
	case (flags["http-header"] || flags["http-body"]) && !flags["http-status"]:
		return usage("-http-header and -http-body go with -http-status")
	case flags["http-status"]:
		return v.readAnswer()
	}
	return v.readValue()
}

func (v *verdict) readValue() error {
	text, name := []byte(v.value), "-value"
	if v.valueFile != "" {
		name = "-value-file"
		var err error
		if text, err = os.ReadFile(v.valueFile); err != nil {
			return &exitError{exitUsage, fmt.Sprintf("-value-file %s cannot be read", v.valueFile), err}
		}
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return usage("%s is no JSON (%w): a text is given with its quotes, as '\"ch_1\"'", name, err)
	}
	v.recorded = compact.Bytes()
	v.resolution = idempotency.Completed(json.RawMessage(v.recorded))
	return nil
}

// readAnswer makes the value that the HTTP wrappers of package lambda record.
func (v *verdict) readAnswer() error {
	header := http.Header{}
	for _, h := range v.httpHeaders {
		name, value, ok := strings.Cut(h, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return usage("-http-header is %q, must be a name, a colon and a value", h)
		}
		header.Add(name, strings.TrimSpace(value))
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(lambda.HTTPAnswer(v.httpStatus, header, []byte(v.httpBody))); err != nil {
		return usage("-http-status is %d, must be 100 to 999", v.httpStatus)
	}
	v.recorded = bytes.TrimSpace(text.Bytes())
	v.resolution = idempotency.Completed(json.RawMessage(v.recorded))
	return nil
}

// recordedIn says that the record has this very outcome.
func (v *verdict) recordedIn(rec idempotency.Record) bool {
	switch v.as.value {
	case asCompleted:
		return rec.Status == statusCompleted && !encoded(rec, "reference") && bytes.Equal(rec.Outcome, v.recorded)
	case asFailed:
		var f struct{ Type, Message string }
		return rec.Status == statusFailed && json.Unmarshal(rec.Outcome, &f) == nil && f.Type == v.errorType && f.Message == v.errorMessage
	}
	return rec.Status == statusReleased
}

// statedError is the error of a handler, as somebody has told it.
type statedError struct{ kind, message string }

func (e *statedError) Error() string     { return e.message }
func (e *statedError) ErrorType() string { return e.kind }
