package idempotency

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/localtest"
)

const simRetention = 5 * time.Second

// simulation is one schedule.
type simulation struct {
	simSettings
	simStory
	inner   *dynamodb.Client
	table   string
	plain   *Runner // by which the model reads outcomes
	secrets [][]byte
	keys    []*simKey

	records map[string]*simRecord  // by id
	owners  map[string]*simRequest // by token
	past    simPast                // of every item
}

func newSimulation(seed uint64) *simulation {
	return &simulation{
		simStory: newSimStory(seed), records: map[string]*simRecord{}, owners: map[string]*simRequest{}, past: simPast{},
	}
}

func (s *simulation) run(t *testing.T) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s.t = t
		rng := rand.New(rand.NewPCG(s.seed, 0))
		db := localtest.Start(t)
		s.inner = db.Client(func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
		s.table = db.CreateTable(t, Table("simulation", Schema{}))
		s.simSettings = newSimSettings(rng)
		s.plain = s.runner(t, s.inner, Config{Table: s.table}, func() bool { return false })
		s.plan(rng)
		processes := 2 + rng.IntN(3)
		s.counts["four processes"] += processes / 4
		for i := range processes {
			w := s.newWorker(i, rng.Uint64())
			s.background.Go(w.work)
		}
		sweeps := rand.New(rand.NewPCG(rng.Uint64(), 1))
		s.background.Go(func() { s.sweep(sweeps) })
		person := s.newWorker(simPerson, rng.Uint64())
		s.background.Go(person.resolveSome)
		s.background.Wait()
		if t.Failed() || *simSeed != 0 { // here: synctest.Test does not return to its caller from a bubble that has failed
			s.tell(t, "TestSimulation", "sim", fmt.Sprintf("%s, %d secrets", s.simSettings, len(s.secrets)))
		}
	})
}

// plan makes the keys. While secrets rotate each has a record under both, and all its requests are the same one: two
// different ones are promised less then.
func (s *simulation) plan(rng *rand.Rand) {
	if rng.IntN(2) == 0 {
		s.secrets = [][]byte{bytes.Repeat([]byte{1}, minSecret)}
	}
	if rng.IntN(7) == 0 {
		s.secrets = [][]byte{bytes.Repeat([]byte{1}, minSecret), bytes.Repeat([]byte{2}, minSecret)}
		s.counts["two secrets"]++
	}
	// Each pair differs in one part of its identity (I11).
	names := []simKey{{operation: "op", scope: "raw-scope"}, {operation: "op", scope: "raw-other"}, {operation: "po", scope: "raw-scope"}}
	keys := 1 + rng.IntN(3)
	s.counts["several keys"] += min(keys-1, 1)
	for i := range keys {
		k := names[i]
		k.name, k.key = fmt.Sprint("k", i), "raw-key"
		k.charges = map[string]bool{}
		k.steps = rng.IntN(3) == 0
		k.looked = rng.IntN(3) == 0
		switch n := rng.IntN(100); {
		case n < 1:
			k.size = chunkSize * 3 / 2 // more than one item, also when it is compressed
		case n < 10:
			k.size = 3 << 10
		}
		secrets := s.secrets
		if secrets == nil {
			secrets = [][]byte{nil}
		}
		for _, secret := range secrets {
			rec := &simRecord{key: &k, id: recordID(secret, k.operation, k.scope, k.key)}
			k.records = append(k.records, rec)
			s.records[rec.id] = rec
		}
		s.keys = append(s.keys, &k)
	}
}

// simKey is one key, and what the model knows of it.
type simKey struct {
	name                  string // all its answers have it
	operation, scope, key string
	steps                 bool // the handler has one
	looked                bool // its requests say ReadFirst
	size                  int  // bytes that its answers have at least
	records               []*simRecord

	runs    []simRun        // in the present windows of its records
	done    []string        // what its handlers have returned, and what was resolved
	charges map[string]bool // results of its step that were recorded
}

// simRecord is what the table holds under one id, and has held.
type simRecord struct {
	key     *simKey
	id      string
	now     *record
	windows []*simWindow // the last one is the present one
	fence   int64        // the highest that a handler was given
	late    bool         // its window began longer ago than its retention is
}

// simWindow is what happened in one window of a record.
type simWindow struct {
	input   string
	status  status
	outcome string // as it is read back; "" for none, or without a body
	expires int64
	before  []simExpiry
}

// simExpiry is what a window's end has been, and until when it was that.
type simExpiry struct {
	expires int64
	until   time.Time
}

func (w *simWindow) setExpiry(expires int64) {
	if w.expires != expires {
		w.before = append(w.before, simExpiry{w.expires, time.Now()})
	}
	w.expires = expires
}

// latest is the latest end that it has had since then.
func (w *simWindow) latest(since time.Time) int64 {
	latest := w.expires
	for _, b := range w.before {
		if !b.until.Before(since) {
			latest = max(latest, b.expires)
		}
	}
	return latest
}

// simRun is a handler that has started.
type simRun struct {
	token  string
	record *simRecord
	left   bool // it left the record with nothing to remember: RELEASED was written under its token
}

// sweep deletes what the table's time to live would, at its own times.
func (s *simulation) sweep(rng *rand.Rand) {
	for range 4 {
		pause(time.Duration(rng.Int64N(int64(40 * time.Second))))
		for _, k := range s.keys {
			for _, rec := range k.records {
				s.sweepOne(rec)
			}
		}
	}
}

func (s *simulation) sweepOne(rec *simRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if rec.now == nil || rec.now.expires >= time.Now().Unix() {
		return
	}
	s.counts["swept"]++
	s.note(nil, "%s swept: %s", rec.key.name, rec.now.brief())
	if rec.now.live(time.Now().Add(-clockMargin)) {
		s.fail("I6: the sweep took a live lease")
	}
	if _, err := s.inner.DeleteItem(s.t.Context(), &dynamodb.DeleteItemInput{TableName: &s.table, Key: item{"id": textValue(rec.id)}}); err != nil {
		s.t.Error(err)
	}
	rec.now = nil
	s.past.add(rec.id, nil)
}

// resolveSome looks for unknowns now and then, and resolves them one way or another.
func (w *simWorker) resolveSome() {
	for range w.rng.IntN(3) {
		pause(w.upTo(60 * time.Second))
		found, err := w.unknowns(w.t.Context())
		if err != nil {
			w.t.Errorf("schedule %d: Unknowns: %v", w.seed, err)
			return
		}
		for n, rec := range found {
			pause(w.upTo(5 * time.Second))
			w.resolve(rec, n)
		}
	}
}

// note is for holders of s.mu.
func (s *simulation) note(q *simRequest, format string, args ...any) {
	who := "-"
	if q != nil {
		who = q.name
	}
	s.say(who, format, args...)
}
