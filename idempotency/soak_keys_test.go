package idempotency_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oncekey/oncekey/idempotency"
)

// soakKeys is what the soak knows of its keys by what their handlers did, and what is wrong with that.
type soakKeys struct {
	mu    sync.Mutex
	all   map[string]*soakKey
	made  int
	wrong []string
}

type soakKey struct {
	runs    int
	running bool
	closed  time.Time // no run begins before; zero: the key was given back
	answers []string  // of the last two runs that had one
	changed time.Time
}

// begin is the start of a run: of its number.
func (k *soakKeys) begin(key string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	s := k.all[key]
	if s == nil {
		s = &soakKey{}
		k.all[key] = s
		k.made++
	}
	if s.running {
		k.failf("%s: a run beside another", key)
	}
	if now.Before(s.closed) {
		k.failf("%s: run %d begins %s before its window ends", key, s.runs+1, s.closed.Sub(now))
	}
	s.runs++
	s.running, s.changed = true, now
	return s.runs
}

// end is a run's: from now on the key is closed for that long.
func (k *soakKeys) end(key, answer string, closed time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s, now := k.all[key], time.Now()
	s.running, s.changed, s.closed = false, now, time.Time{}
	if closed > 0 {
		s.closed = now.Add(closed)
	}
	if answer != "" {
		s.answers = append(s.answers[max(0, len(s.answers)-1):], answer)
	}
}

// judge looks at an answer: a replay is of the last run, or the one before, in whose window it began.
func (k *soakKeys) judge(key string, res idempotency.Result[string], err error) (said string) {
	said = soakSaid(res.Replayed, err)
	k.mu.Lock()
	defer k.mu.Unlock()
	if strings.HasPrefix(said, "wrong") {
		k.failf("%s: %s", key, said)
	}
	if s := k.all[key]; err == nil && (s == nil || !slices.Contains(s.answers, res.Value)) {
		k.failf("%s: %s an answer that no run has given: %.60q", key, said, res.Value)
	}
	return said
}

func (k *soakKeys) failf(format string, args ...any) {
	if len(k.wrong) < 20 {
		k.wrong = append(k.wrong, fmt.Sprintf(format, args...))
	}
}

// forget drops what no request asks for any more.
func (k *soakKeys) forget(now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for key, s := range k.all {
		if !s.running && now.Sub(s.changed) > 2*soakRetention {
			delete(k.all, key)
		}
	}
}

func (k *soakKeys) len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.all)
}
