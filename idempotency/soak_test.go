package idempotency_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

var (
	soakTime = flag.Duration("soak.time", time.Second, "how long the soak takes")
	soakRate = flag.Int("soak.rate", 1000, "its first requests a second")
)

const (
	soakRetention = 10 * time.Second // so short that what comes and what expires are the same after that
	soakInFlight  = 512
	soakHot       = 20 // keys that everybody asks for
)

// TestSoak is a load in real time: first requests at a rate, a twentieth of which come again, answers of 2 KB, keys that are asked
// for all the time, and a table that throttles, loses requests and replies and has errors. No key's handler runs beside
// itself or inside its window (I2, I3, I5), every replay is the first answer, and memory and goroutines stay what they are.
func TestSoak(t *testing.T) {
	t.Parallel()
	s := newSoak(t)
	idle := runtime.NumGoroutine()
	began := time.Now()
	s.load(t.Context(), began.Add(*soakTime))
	took := time.Since(began)

	report := fmt.Sprintf("%d first requests in %s, %.0f a second, %d keys; %d were not made, since %d were under way", s.asked, took.Round(time.Second), float64(s.asked)/took.Seconds(), s.keys.made, s.behind, soakInFlight)
	t.Log(report)
	t.Logf("answers: %v", s.counts)
	for _, sample := range s.samples {
		t.Log(sample)
	}
	for _, wrong := range s.keys.wrong {
		t.Error(wrong)
	}
	for _, said := range []string{"ran", "replayed"} {
		if s.counts[said] == 0 {
			t.Errorf("nothing %s", said)
		}
	}
	if *soakTime >= time.Minute { // before that there is no middle to compare with, and it is beside other tests
		if s.behind > s.asked/20 {
			t.Errorf("%d of %d requests were not made: the rate was not kept", s.behind, s.asked+s.behind)
		}
		s.wantFlat(t)
		runtime.GC()
		if left := runtime.NumGoroutine(); left > idle+5 {
			t.Errorf("%d goroutines are left, there were %d", left, idle)
		}
	}
}

type soak struct {
	db     *localtest.DB
	runner *idempotency.Runner
	keys   soakKeys
	answer string // 2 KB, of which compression leaves three quarters

	mu            sync.Mutex
	asked, behind int
	counts        map[string]int
	samples       []soakSample
}

func newSoak(t *testing.T) *soak {
	t.Helper()
	localtest.OnlyEmbedded(t, "faults at this rate")
	db := localtest.Start(t)
	table := db.CreateTable(t, idempotency.Table("soak", idempotency.Schema{}))
	db.EnableTTL(t, table, "expiration")
	runner, err := idempotency.New(db.Client(), idempotency.Config{
		Table: table, Retention: soakRetention, UnknownRetention: soakRetention, Wait: 100 * time.Millisecond, Inline: 4 << 10, // what is beside a record stays 25 hours longer
	})
	if err != nil {
		t.Fatal(err)
	}
	for kind, share := range map[localtest.FaultKind]float64{
		localtest.Throttled: 0.01, localtest.RequestLost: 0.003, localtest.ReplyLost: 0.003, localtest.ServerError: 0.003,
	} {
		db.Inject(localtest.Fault{Kind: kind, Times: forever, Match: func(localtest.Call) bool { return rand.Float64() < share }})
	}
	return &soak{db: db, runner: runner, keys: soakKeys{all: map[string]*soakKey{}}, answer: noise(2000), counts: map[string]int{}}
}

// load makes requests until then, and waits for their answers.
func (s *soak) load(ctx context.Context, until time.Time) {
	const tick = 10 * time.Millisecond
	var all sync.WaitGroup
	places := make(chan struct{}, soakInFlight)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	sampleEvery := max(*soakTime/20, 500*time.Millisecond)
	began := time.Now()
	nextSample, nextSweep := began.Add(sampleEvery), began.Add(time.Second)
	for n := 0; time.Now().Before(until); {
		<-ticker.C
		for due := int(float64(*soakRate) * time.Since(began).Seconds()); n < due; {
			key := fmt.Sprintf("key %d", n)
			if rand.IntN(100) == 0 {
				key = fmt.Sprintf("hot %d", rand.IntN(soakHot))
			}
			n++
			select {
			case places <- struct{}{}:
			default:
				s.behind++
				continue
			}
			s.asked++
			all.Go(func() {
				defer func() { <-places }()
				s.ask(ctx, key)
				if rand.IntN(20) == 0 {
					s.ask(ctx, key)
				}
			})
			if rand.IntN(100) == 0 { // a twin, at once
				all.Go(func() { s.ask(ctx, key) })
			}
		}
		if now := time.Now(); now.After(nextSweep) {
			s.db.ResetCalls()
			s.db.Sweep(0)
			s.keys.forget(now)
			nextSweep = now.Add(time.Second)
		}
		if now := time.Now(); now.After(nextSample) {
			s.samples = append(s.samples, s.sample())
			nextSample = now.Add(sampleEvery)
		}
	}
	all.Wait()
}

var (
	errSoakPlain    = errors.New("not now")
	errSoakTerminal = errors.New("declined")
)

// ask makes one request and judges its answer.
func (s *soak) ask(ctx context.Context, key string) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req := idempotency.Request{Operation: "soak", Scope: "alice", Key: key, Input: key}
	res, err := idempotency.Do(ctx, s.runner, req, func(context.Context) (string, error) {
		run := s.keys.begin(key)
		answer := fmt.Sprintf("%s, run %d of it: %s", key, run, s.answer)
		switch rand.IntN(200) {
		case 0:
			s.keys.end(key, "", 0)
			return "", errSoakPlain
		case 1:
			s.keys.end(key, "", soakRetention)
			return "", idempotency.Terminal(errSoakTerminal)
		case 2:
			s.keys.end(key, "", soakRetention)
			return "", idempotency.Unknown(errSoakPlain)
		}
		s.keys.end(key, answer, soakRetention)
		return answer, nil
	})
	said := s.keys.judge(key, res, err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[said]++
}

// soakSample is what the process has, after a garbage collection.
type soakSample struct {
	heap       uint64
	goroutines int
	keys       int
}

func (m soakSample) String() string {
	return fmt.Sprintf("heap %.1f MB with the table in it, %d goroutines, %d keys remembered", float64(m.heap)/1e6, m.goroutines, m.keys)
}

func (s *soak) sample() soakSample {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return soakSample{m.HeapAlloc, runtime.NumGoroutine(), s.keys.len()}
}

// wantFlat compares the heap in the last third with that in the middle one, and bounds the goroutines by the requests under way.
func (s *soak) wantFlat(t *testing.T) {
	t.Helper()
	third := len(s.samples) / 3
	most := func(samples []soakSample) (heap uint64, goroutines int) {
		for _, m := range samples {
			heap, goroutines = max(heap, m.heap), max(goroutines, m.goroutines)
		}
		return heap, goroutines
	}
	heap, _ := most(s.samples[third : 2*third])
	heapAfter, goroutines := most(s.samples[2*third:])
	if float64(heapAfter) > 1.25*float64(heap) {
		t.Errorf("the heap has grown from %d to %d bytes", heap, heapAfter)
	}
	if goroutines > 3*soakInFlight {
		t.Errorf("%d goroutines", goroutines)
	}
}

// soakSaid is an answer in a word.
func soakSaid(replayed bool, err error) string {
	for _, known := range []error{
		idempotency.ErrInProgress, idempotency.ErrOutcomeUnknown, idempotency.ErrUnavailable, idempotency.ErrNotRecorded, idempotency.ErrNoTime,
		idempotency.ErrNoBody, errSoakPlain, errSoakTerminal,
	} {
		if errors.Is(err, known) {
			return strings.TrimPrefix(known.Error(), "idempotency: ")
		}
	}
	_, failure := errors.AsType[*idempotency.Failure](err)
	switch {
	case failure:
		return "failure replayed"
	case err != nil:
		return "wrong: " + err.Error()
	case replayed:
		return "replayed"
	}
	return "ran"
}
