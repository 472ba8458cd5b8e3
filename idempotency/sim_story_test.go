package idempotency

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// simEpoch is where the virtual clock starts.
var simEpoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// simStory is what has happened in a schedule of either simulation.
type simStory struct {
	t    *testing.T
	seed uint64

	background sync.WaitGroup // everything that acts

	mu     sync.Mutex // a step: one write and its check, one start of a handler or one answer and its check
	counts map[string]int
	log    []string
}

func newSimStory(seed uint64) simStory { return simStory{seed: seed, counts: map[string]int{}} }

func (s *simStory) fail(format string, args ...any) {
	s.log = append(s.log, "  VIOLATION "+fmt.Sprintf(format, args...))
	s.t.Errorf("schedule %d: "+format, append([]any{s.seed}, args...)...)
}

// say is for holders of s.mu.
func (s *simStory) say(who, format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf("%14s %s: ", time.Since(simEpoch), who)+fmt.Sprintf(format, args...))
}

func (s *simStory) count(kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[kind]++
}

func (rec *record) brief() string {
	if rec == nil {
		return "none"
	}
	return fmt.Sprintf("%s/%s#%d", rec.status, rec.token[:4], rec.number)
}

func short(err error) string {
	if err == nil {
		return "ok"
	}
	return fmt.Sprintf("%.90s", err.Error())
}
