package idempotency_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// I1, I2, I3, rule 27: workers of both deployments, at random moments of each other, with two requests that share
// a key. One fingerprint, one downstream key and one outcome per key, and one handler at a time.
func TestRotation_AtRandom(t *testing.T) {
	t.Parallel()
	seeds := 200
	if testing.Short() {
		seeds = 40
	}
	var collided atomic.Int32
	t.Run("seeds", func(t *testing.T) {
		for seed := range seeds {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := rotationSchedule{fixture: newFixture(t), seed: uint64(seed), answers: map[string]bool{}}
					s.run(t)
					if s.refused.Load() > 0 {
						collided.Add(1)
					}
				})
			})
		}
	})
	if int(collided.Load()) < seeds/4 {
		t.Errorf("workers met in %d of %d schedules only", collided.Load(), seeds)
	}
}

type rotationSchedule struct {
	*fixture
	seed    uint64
	refused atomic.Int32 // requests that met another one

	mu      sync.Mutex
	running int
	ran     []string        // the fingerprints and downstream keys of the runs
	answers map[string]bool // what callers got
}

func (s *rotationSchedule) run(t *testing.T) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range 4 {
		rng := rand.New(rand.NewPCG(s.seed, uint64(i)))
		order := slices.Sorted(maps.Keys(deployments))[i%2]
		w := s.worker(t, deployments[order])
		pause := func() { pass(time.Duration(rng.IntN(20)) * time.Millisecond) }
		w.before = func(string) error { pause(); return nil }
		w.after = func(string) { pause() }
		wg.Go(func() {
			for range 3 {
				pause()
				s.ask(t, w, rng)
			}
		})
	}
	wg.Wait()
	if bindings := slices.Compact(slices.Sorted(slices.Values(s.ran))); len(bindings) > 1 {
		t.Errorf("runs under one key: %v", bindings)
	}
	if len(s.answers) > 1 {
		t.Errorf("answers to one key: %v", slices.Sorted(maps.Keys(s.answers)))
	}
}

func (s *rotationSchedule) ask(t *testing.T, w *worker, rng *rand.Rand) {
	t.Helper()
	req, name := request("k"), "first"
	if rng.IntN(2) == 0 {
		req, name = other(req), "second"
	}
	if rng.IntN(3) == 0 {
		req.Wait = 100 * time.Millisecond
	}
	fail := rng.IntN(3) > 0
	res, err := w.do(localtest.Invocation(t, time.Minute), req, func(ctx context.Context) (string, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.running++; s.running > 1 {
			t.Error("two handlers at once")
		}
		a := idempotency.AttemptFrom(ctx)
		s.ran = append(s.ran, name+" "+a.DownstreamKey("card"))
		s.mu.Unlock()
		pass(time.Duration(rng.IntN(30)) * time.Millisecond)
		s.mu.Lock()
		s.running--
		if fail {
			return "", errPlain
		}
		return a.Token, nil
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.answers[res.Value] = true
	case errors.Is(err, idempotency.ErrInProgress), errors.Is(err, idempotency.ErrMismatch):
		s.refused.Add(1)
	case !errors.Is(err, errPlain):
		t.Errorf("got %v", err)
	}
}
