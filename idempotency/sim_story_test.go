package idempotency

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/smithy-go"
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

// tell logs what happened, in order. flags is what the test's flags begin with.
func (s *simStory) tell(t *testing.T, test, flags, settings string) {
	t.Helper()
	t.Logf(`schedule %d: %s. To be run alone:
  go test ./idempotency -v -run '%s$' -%s.seed=%[1]d
k0|2.1 or p0/2.1: of key or payment 0, request 1 of process 2. INPROGRESS/4Q2R#1: a record's status, token and number of its attempt.
%[5]s`, s.seed, settings, test, flags, strings.Join(s.log, "\n"))
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

// short is what an error says, without what makes it long: the request's id, the record's.
func short(err error) string {
	if err == nil {
		return "ok"
	}
	if state, ok := errors.AsType[*StateError](err); ok {
		err = state.Err
	}
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		before, _, _ := strings.Cut(err.Error(), "operation error")
		return before + api.ErrorCode()
	}
	return fmt.Sprintf("%.160s", err.Error())
}
