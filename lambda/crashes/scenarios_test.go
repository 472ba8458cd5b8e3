package main

import (
	"fmt"
	"slices"
	"strings"
)

// scenario is a case that APIs for payments name.
type scenario struct {
	name     string
	call     int // of the HTTP API's row
	troubles []string
	says     string
}

var scenarios = []scenario{
	{"Lost before admission", 0, []string{"killed before the request", "request lost"}, "Nothing is known of the request."},
	{"Lost after admission", 0, []string{"killed before the reply", "killed after the reply", "reply lost"}, "The key is claimed. Nobody can tell whether the handler has begun, so a dead process leaves an unknown."},
	{"Crash after the effect", 1, []string{"killed before the request"}, "The payment is made, and nothing says so: to be resolved, or run again under the same downstream key."},
	{"Crash after commit", 1, []string{"killed before the reply", "killed after the reply", "reply lost"}, "The outcome is recorded. Where the payment is a staged write, it is committed with it: rows \"DoTx\"."},
	{"Concurrent duplicate", 1, []string{"delayed"}, "The duplicate comes while the first request is at work."},
	{"Duplicate overtakes", 0, []string{"delayed"}, "The duplicate comes while the first request's claim is under way."},
	{"Changed payload", -1, nil, "At the end of every cell, whatever has happened: `422 idempotency_key_reused`, no effect."},
	{"Table unavailable, before", 0, []string{"throttled"}, "Fail closed: nothing runs."},
	{"Table unavailable, after", 1, []string{"throttled"}, "The payment is made, the outcome cannot be recorded, and the client is told that it may have happened."},
}

func scenarioTable() string {
	http := paths[slices.IndexFunc(paths, func(p path) bool { return p.name == "http" })]
	var b strings.Builder
	b.WriteString(head("case", "cells", "first request", "retry at once", "retry after the lease", ""))
	for _, s := range scenarios {
		if s.call < 0 {
			b.WriteString(row(s.name, "all", "", "", "", s.says))
			continue
		}
		name := s.name
		for _, tr := range troubles {
			if !slices.Contains(s.troubles, tr.name) {
				continue
			}
			c := cell{path: http, at: s.call, trouble: tr}
			w, again := c.story().refuse, c.story().rerun
			b.WriteString(row(name, fmt.Sprintf("%s, %s: **%s**", http.calls[s.call].what, tr.name, c.story().word),
				told(w.atOnce.first, w.atOnce.first), told(w.atOnce.retry, again.atOnce.retry), told(w.after.retry, again.after.retry), s.says))
			name, s.says = "", ""
		}
	}
	return b.String()
}

// told is what the client of the HTTP API sees.
func told(refuse, rerun class) string {
	if refuse != rerun {
		return told(refuse, refuse) + "; Rerun: " + told(rerun, rerun)
	}
	i := slices.IndexFunc(looks, func(s seen) bool { return s.class == refuse })
	text := "`" + looks[i].http + "`"
	if refuse == replayed {
		text += ", replayed"
	}
	return text
}
