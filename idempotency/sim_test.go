package idempotency

import (
	"flag"
	"fmt"
	"sync"
	"testing"
)

var (
	simSeed      = flag.Uint64("sim.seed", 0, "run this one schedule of the simulation")
	simFrom      = flag.Uint64("sim.from", 1, "the first schedule to run, of either simulation")
	simSchedules = flag.Int("sim.schedules", simulationLengths.usual, "how many schedules of the simulation to run")
)

var simulationLengths = simLengths{usual: 3000, fewest: 300}

// TestSimulation lets up to four processes meet on up to three keys, in virtual time: with clocks that differ, requests and
// replies that are lost, writes that land late, throttling, outages, crashes and freezes at any call, handlers that overrun,
// windows that end and a TTL that sweeps; with steps, answers in items of their own, a codec, caches, stale reads, secrets
// that rotate and a person who resolves. After every write to the table, at every start of a handler and at every answer
// the invariants are checked against what was there before (I1–I9, I11; the ledger's simulation has I10). A schedule is made
// by its seed alone:
//
//	go test ./idempotency -run 'TestSimulation$' -sim.seed=N -v
func TestSimulation(t *testing.T) {
	t.Parallel()
	simulate(t, *simSeed, *simSchedules, simulationLengths, simSituations, func(t *testing.T, seed uint64) map[string]int {
		t.Helper()
		s := newSimulation(seed)
		s.run(t)
		return s.counts
	})
}

// simSituations says how often each has to happen in 10,000 schedules, or they prove nothing.
var simSituations = map[string]int{
	// what requests meet
	"acquired": 8000, "expired": 1000, "taken_over": 1000, "replayed": 5000, "cached": 100, "waited": 500, "in_progress": 3000,
	"mismatch": 2000, "no_time": 100, "completed": 4000, "failed": 1000, "released": 2000, "unknown": 4000, "lease_lost": 200,
	"not_recorded": 30, "store_failure": 200, "run": 10000, "looked up": 150, "read first": 300,
	// what goes wrong
	"crash": 3000, "another process": 1000, "frozen": 500, "frozen reply": 300, "outage": 300, "late write": 1000, "throttled": 1000,
	"lost reply": 3000, "stale read": 100, "swept": 2000, "handler overruns": 1000, "not sealed": 50, "unprocessed": 5,
	// what the schedules are made of
	"several keys": 3000, "four processes": 2000, "two secrets": 500, "made way for the other secret": 10,
	"sealed": 1000, "kept beside": 500, "in several items": 15, "without its body": 30, "compressed": 100,
	"step": 1000, "step kept": 100, "prior": 500,
	"resolved COMPLETED": 50, "resolved FAILED": 50, "resolved RELEASED": 50, "resolved too late": 10,
}

// simLengths are numbers of schedules: as many as run without a flag, and the fewest of which it is asked what has to happen in
// them; what is too rare for so few is asked of more only.
type simLengths struct{ usual, fewest int }

// simulate runs the one schedule of the seed, if there is one, and else so many, and says whether enough has happened in them.
func simulate(t *testing.T, seed uint64, schedules int, lengths simLengths, situations map[string]int, run func(t *testing.T, seed uint64) map[string]int) {
	t.Helper()
	if seed != 0 {
		run(t, seed)
		return
	}
	if raceDetector && schedules == lengths.usual {
		schedules = lengths.fewest // it is several times slower then, and make test runs them all
	}
	total := runSchedules(t, schedules, run)
	if schedules >= lengths.fewest && !t.Failed() {
		total.want(t, schedules, situations)
	}
}

const simAtATime = 4

// runSchedules runs those of so many seeds, a few at a time, and adds up what has happened in them.
func runSchedules(t *testing.T, schedules int, run func(t *testing.T, seed uint64) map[string]int) *simStats {
	t.Helper()
	total := &simStats{counts: map[string]int{}}
	t.Run("schedules", func(t *testing.T) {
		for part := range simAtATime {
			t.Run(fmt.Sprint(part), func(t *testing.T) {
				t.Parallel()
				for n := part; n < schedules && !t.Failed(); n += simAtATime {
					total.add(run(t, *simFrom+uint64(n)))
				}
			})
		}
	})
	t.Logf("%d schedules: %v", total.schedules, total.counts)
	return total
}

// simStats is what has happened, and how often.
type simStats struct {
	mu        sync.Mutex
	schedules int
	counts    map[string]int
}

func (s *simStats) add(counts map[string]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.schedules++
	for kind, n := range counts {
		s.counts[kind] += n
	}
}

// want says how often each has to happen in 10,000 schedules.
func (s *simStats) want(t *testing.T, schedules int, least map[string]int) {
	t.Helper()
	for kind, n := range least {
		if want := n * schedules / 10000; s.counts[kind] < want {
			t.Errorf("%d of %q in %d schedules, want %d", s.counts[kind], kind, schedules, want)
		}
	}
}
