package main

import (
	"strings"
	"testing"
	"time"
)

// What cannot be right is refused before anybody is asked: the fixture has no table.
func TestUsage_Refused(t *testing.T) {
	t.Parallel()
	at := "-table records -region us-east-1 -endpoint-url http://127.0.0.1:1 "
	for args, want := range map[string]string{
		"nothing":                             `there is no command "nothing"`,
		"help nothing":                        `there is no command "nothing"`,
		"get":                                 "which record?",
		"get a b":                             "which record?",
		"get a -key k":                        "but not both",
		"get -key k":                          "which record? -operation, -scope and -key go together",
		"get -operation o -key k":             `a scope that all callers share is "*"`,
		"get -scope s":                        "which record? -operation, -scope and -key go together",
		"get a -nothing":                      "-nothing; see idemctl help get",
		"get a -timeout 5":                    "invalid value \"5\" for flag -timeout",
		"get a -timeout -5s":                  "-timeout is -5s, must not be negative",
		"get a":                               "which table?",
		"get a -table records":                "which region?",
		"get a -table x -region r":            `Config.Table is "x"`,
		at + "list":                           `there is no command "-table"`,
		"list a":                              `unknown argument "a"`,
		"list -status released":               "must be unknown, in-progress, open",
		"list -older -1m":                     "-older is -1m0s, must not be negative",
		"resolve":                             "which record?",
		"resolve a":                           "what has happened?",
		"resolve a -as done":                  "must be completed, failed, not-done",
		"resolve a -as completed":             "which answer?",
		"resolve a -as completed -value":      "flag needs an argument: -value",
		"resolve a -as completed -value=":     "-value is no JSON",
		"resolve a -as completed -value ch_1": `-value is no JSON (invalid character 'c' looking for beginning of value): a text is given with its quotes`,
		"resolve a -as completed -value {}{}": "-value is no JSON",
		"resolve a -as completed -value 1 -value-file f":               "one of -value, -value-file and -http-status",
		"resolve a -as completed -value-file nothing.json":             "-value-file nothing.json cannot be read",
		"resolve a -as completed -value 1 -http-status 200":            "one of -value, -value-file and -http-status",
		"resolve a -as completed -value 1 -http-body b":                "-http-header and -http-body go with -http-status",
		"resolve a -as completed -http-status 99":                      "-http-status is 99, must be 100 to 999",
		"resolve a -as completed -http-status 200 -http-header a":      `-http-header is "a"`,
		"resolve a -as completed -http-status 200 -http-header :a":     `-http-header is ":a"`,
		"resolve a -as completed -value 1 -error-type E":               "-error-type goes with -as failed",
		"resolve a -as failed -error-type E":                           "which failure?",
		"resolve a -as failed -error-message m":                        "which failure?",
		"resolve a -as failed -error-type E -error-message m -value 1": "-value goes with -as completed",
		"resolve a -as not-done -value 1":                              "-value goes with -as completed",
		"resolve a -as not-done -http-status 200":                      "-http-status goes with -as completed",
		"resolve a b -as not-done":                                     "which record?",
		"check a":                                                      `unknown argument "a"`,
		"check -retention 1ms " + at:                                   "Config.Retention is 1ms",
		"check -sk-value v " + at:                                      "Config.Schema.SortKeyValue",
		"create-table records":                                         "the table's name is given as -table",
		"create-table -pk status " + at:                                "Config.Schema.PartitionKey",
		"cost":                                                         "-rate is 0, must be more than 0",
		"cost -rate -1":                                                "-rate is -1, must be more than 0",
		"cost -rate NaN":                                               "-rate is NaN, must be more than 0",
		"cost -rate +Inf":                                              "-rate is +Inf, must be more than 0",
		"cost -rate 1 -retries -5%":                                    "must be a share",
		"cost -rate 1 -retries many":                                   "must be a share",
		"cost -rate 1 -size 0":                                         "must be a size",
		"cost -rate 1 -size 7.6MiB":                                    "must be a size from 1 byte to 7.5 MiB, the most that is stored of an answer",
		"cost -rate 1 -size 8MB":                                       "must be a size",
		"cost -rate 1 -size 2GB":                                       "must be a size",
		"cost -rate 1 -size 2MK":                                       "must be a size",
		"cost -rate 1 -size NaN":                                       "must be a size",
		"cost -rate 1 -retention 24":                                   "invalid value",
		"cost -rate 1 -retention 1ms":                                  "is the unit missing?",
		"cost -rate 1 -unknown-scan -1s":                               "-unknown-scan is -1s",
		"cost 1000":                                                    `unknown argument "1000"`,
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			f := &fixture{now: time.Now}
			res := f.bare(t.Context(), strings.Fields(args)...)
			res.want(t, exitUsage)
			if !strings.Contains(res.firstLine(), want) || !strings.HasPrefix(res.err, "idemctl: ") || res.out != "" {
				t.Errorf("stdout %q, stderr %q, want a first line with %q", res.out, res.err, want)
			}
		})
	}
}

func TestParse_FlagsAndArguments(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"a -operation o b":    "o: a b",
		"-operation o a b":    "o: a b",
		"a b --operation=o":   "o: a b",
		"-operation o -- a":   "o: a",
		"-operation o -- -a":  "o: -a",
		"a -- -operation b":   ": a -operation b",
		"-- a -operation b":   ": a -operation b",
		"a -outcome b":        ": a b",
		"a -outcome=false -b": "error",
	} {
		fs, _, _ := getCommand().flags()
		args, err := parse(fs, strings.Fields(line))
		got := fs.Lookup("operation").Value.String() + ": " + strings.Join(args, " ")
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// Scripts rely on the numbers.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	if got, want := [...]int{exitOK, exitRefused, exitUsage, exitMissing, exitUnasked}, [...]int{0, 1, 2, 3, 4}; got != want {
		t.Errorf("exit codes %v, want %v", got, want)
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	f := &fixture{now: time.Now}
	overview := f.bare(t.Context(), "help")
	golden(t, "help", overview.out)
	for _, arg := range []string{"-h", "-help", "--help"} {
		if res := f.bare(t.Context(), arg); res != overview {
			t.Errorf("%s: %+v", arg, res)
		}
	}
	for _, c := range commands() {
		res := f.bare(t.Context(), "help", c.name)
		res.want(t, exitOK, "idemctl "+c.name, c.summary+".", "-json", "-timeout", c.more)
		if res.err != "" || !strings.Contains(overview.out, c.summary) {
			t.Errorf("%s: stderr %q", c.name, res.err)
		}
		for _, args := range [][]string{{c.name, "-h"}, {c.name, "a", "--help"}} {
			if again := f.bare(t.Context(), args...); again != res {
				t.Errorf("%q: %+v", args, again)
			}
		}
	}
	golden(t, "help-resolve", f.bare(t.Context(), "help", "resolve").out)
}
