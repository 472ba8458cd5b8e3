package idempotency

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/localtest"
)

var (
	simSeed      = flag.Uint64("sim.seed", 0, "run this one schedule of the simulation")
	simSchedules = flag.Int("sim.schedules", 5000, "how many schedules of the simulation to run")
)

// TestSimulation lets three workers meet on one key, in virtual time: with clocks that differ, requests and
// replies that are lost, writes that land late, throttling, crashes at any call, freezes, handlers that overrun,
// windows that end and a TTL that sweeps. After every write to the table, and at every start of a handler, the
// invariants are checked against what was there before (I1–I9). A schedule is made by its seed alone:
//
//	go test ./idempotency -run TestSimulation -sim.seed=N -v
func TestSimulation(t *testing.T) {
	t.Parallel()
	if *simSeed != 0 {
		newSimulation(t, *simSeed).run()
		return
	}
	schedules := *simSchedules
	if raceDetector && schedules == 5000 {
		schedules = 500 // it is ten times slower then, and make test runs them all
	}
	const parts = 4
	total := &simStats{counts: map[string]int{}}
	t.Run("schedules", func(t *testing.T) {
		for part := range parts {
			t.Run(fmt.Sprint(part), func(t *testing.T) {
				t.Parallel()
				for seed := uint64(part + 1); seed <= uint64(schedules) && !t.Failed(); seed += parts {
					s := newSimulation(t, seed)
					s.run()
					total.add(s.counts)
				}
			})
		}
	})
	t.Logf("%d schedules: %v", schedules, total.counts)
	if schedules < 500 {
		return // too few for everything to happen
	}
	// A simulation in which these do not happen proves nothing.
	for _, kind := range []string{
		"acquired", "expired", "taken_over", "replayed", "waited", "in_progress", "mismatch", "completed", "failed",
		"released", "unknown", "lease_lost", "not_recorded", "store_failure", "crash", "late write", "swept", "run",
	} {
		if total.counts[kind] == 0 {
			t.Errorf("no %q in %d schedules", kind, schedules)
		}
	}
}

type simStats struct {
	mu     sync.Mutex
	counts map[string]int
}

func (s *simStats) add(counts map[string]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for kind, n := range counts {
		s.counts[kind] += n
	}
}

// simulation is one schedule.
type simulation struct {
	t      *testing.T
	seed   uint64
	policy OnUnknown
	inner  Client
	table  string
	id     string
	counts map[string]int

	background sync.WaitGroup // workers, the sweep, and writes that land late

	mu       sync.Mutex // a step: one write and its check, or one start of a handler and its check
	log      []string
	now      *record               // what the table holds
	owners   map[string]*simWorker // by token
	runs     []simRun
	outcomes map[string]string // recorded data → fingerprint of its window
	maxFence int64
}

// simRun is a handler that has started.
type simRun struct {
	token  string
	window time.Time
	left   bool // it left the record with nothing to remember: RELEASED was written under its token
}

func newSimulation(t *testing.T, seed uint64) *simulation {
	t.Helper()
	return &simulation{t: t, seed: seed, counts: map[string]int{}, owners: map[string]*simWorker{}, outcomes: map[string]string{}}
}

func (s *simulation) run() {
	synctest.Test(s.t, func(t *testing.T) {
		s.t = t
		rng := rand.New(rand.NewPCG(s.seed, 0))
		db := localtest.Start(t)
		s.inner = db.Client(func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
		s.table = db.CreateTable(t, Table("simulation", Schema{}))
		s.policy = []OnUnknown{Refuse, Rerun}[rng.IntN(2)]
		s.id = recordID(nil, "op", "scope", "key")
		wg := &s.background
		for i := range 3 {
			w := s.newWorker(i, rng.Uint64())
			wg.Go(w.work)
		}
		wg.Go(func() { s.sweep(rand.New(rand.NewPCG(rng.Uint64(), 1))) })
		wg.Wait()
		if t.Failed() {
			t.Logf("schedule %d, policy %d:\n%s", s.seed, s.policy, strings.Join(s.log, "\n"))
		}
	})
}

// sweep deletes what the table's time to live would, at its own times.
func (s *simulation) sweep(rng *rand.Rand) {
	for range 4 {
		pause(time.Duration(rng.Int64N(int64(40 * time.Second))))
		err := s.step(nil, "sweep", func() error {
			if s.now == nil || s.now.expires >= time.Now().Unix() {
				return nil
			}
			s.counts["swept"]++
			_, err := s.inner.(*dynamodb.Client).DeleteItem(s.t.Context(), &dynamodb.DeleteItemInput{
				TableName: &s.table, Key: item{"id": textValue(s.id)},
			})
			return err
		})
		if err != nil {
			s.t.Error(err)
		}
	}
}

// step makes one change of the table and checks it.
func (s *simulation) step(w *simWorker, what string, change func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.now
	err := change()
	if err != nil {
		s.note(w, "%s: %s (%v)", what, before.brief(), short(err))
		return err // a call that fails here has failed at the table: nothing changed
	}
	out, getErr := s.inner.GetItem(context.Background(), &dynamodb.GetItemInput{
		TableName: &s.table, Key: item{"id": textValue(s.id)}, ConsistentRead: aws.Bool(true),
	})
	if getErr != nil {
		s.t.Fatal(getErr)
	}
	s.now = nil
	if len(out.Item) > 0 {
		if s.now, getErr = readRecord(out.Item, Schema{}.withDefaults()); getErr != nil {
			s.fail("the record cannot be read: %v", getErr)
			return err
		}
	}
	s.note(w, "%s: %s -> %s (%v)", what, before.brief(), s.now.brief(), short(err))
	s.check(w, before, s.now)
	return err
}

func (s *simulation) check(w *simWorker, before, after *record) {
	switch {
	case before == nil && after == nil:
	case after == nil:
		if before.live(time.Now().Add(-clockMargin)) {
			s.fail("I6: the sweep took a live lease")
		}
	case before != nil && after.window.Equal(before.window) && after.token == before.token:
		s.checkSameOwner(w, before, after)
	case before != nil && after.window.Equal(before.window):
		s.checkNewOwner(w, before, after)
	default:
		s.checkNewWindow(w, before, after)
	}
	if after != nil && after.finished() {
		s.outcomes[string(after.body.data)] = after.fingerprint
	}
}

func (s *simulation) checkSameOwner(w *simWorker, before, after *record) {
	if after.status == before.status && string(after.body.data) == string(before.body.data) {
		return // the write did not apply
	}
	if before.status != inProgress {
		s.fail("I3: %s was changed under the same token", before.status)
	}
	if s.owners[after.token] != w {
		s.fail("I4: worker %d ended an attempt of another", w.number)
	}
	if after.fingerprint != before.fingerprint {
		s.fail("I1: the fingerprint changed")
	}
	if before.prior != nil && !after.finished() && (after.prior == nil || after.status == released) {
		s.fail("rule 1: an ending erased the prior unknown")
	}
	for i := range s.runs {
		if s.runs[i].token == after.token {
			s.runs[i].left = after.status == released
		}
	}
}

// checkNewOwner: a re-acquire or a take-over inside the window.
func (s *simulation) checkNewOwner(w *simWorker, before, after *record) {
	switch {
	case before.finished():
		s.fail("I3: an outcome was replaced")
	case before.status == inProgress && s.stillOwns(before):
		s.fail("I6: a live lease was taken")
	case after.status != inProgress:
		s.fail("I2: a new owner with status %s", after.status)
	}
	if after.fingerprint != before.fingerprint {
		s.fail("I1: the fingerprint changed with the owner")
	}
	if after.number != before.number+1 {
		s.fail("I4: attempt %d after %d", after.number, before.number)
	}
	if (before.status != released || before.prior != nil) && after.prior == nil {
		s.fail("rule 1: an unknown was taken over and is not remembered")
	}
	s.newToken(w, after)
}

func (s *simulation) checkNewWindow(w *simWorker, before, after *record) {
	if before != nil && before.expires >= time.Now().Unix() {
		s.fail("the record was replaced before its window ended")
	}
	if before != nil && before.status == inProgress && s.stillOwns(before) {
		s.fail("I6: the window's end took a live lease")
	}
	if after.number != 1 || after.status != inProgress {
		s.fail("a window begins with attempt %d, %s", after.number, after.status)
	}
	s.newToken(w, after)
}

// stillOwns: by its own clock, the owner has time left in which it may act.
func (s *simulation) stillOwns(rec *record) bool {
	return s.owners[rec.token].clock().Before(rec.leaseEnd.Add(-clockMargin))
}

func (s *simulation) newToken(w *simWorker, rec *record) {
	if s.owners[rec.token] != nil {
		s.fail("rule 21: a token was used twice")
	}
	s.owners[rec.token] = w
	f := fence(rec.window.UnixMilli(), rec.number)
	// A claim that was under way for longer than the retention can come late; no real retention is that short.
	if late := w.clock().Sub(rec.started) > simRetention-2*time.Second; f <= s.maxFence && !late {
		s.fail("I4: the fence went from %d to %d", s.maxFence, f)
	}
	s.maxFence = max(f, s.maxFence)
}

// started checks that a handler may start: its attempt owns the record, and nothing was left untold before it.
func (s *simulation) started(w *simWorker, a *Attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts["run"]++
	s.note(w, "run attempt %d, prior %v", a.Number, a.Prior != nil)
	if s.now == nil || s.now.token != a.Token || s.now.status != inProgress {
		s.fail("I2: a handler started whose attempt does not own the record")
		return
	}
	for _, run := range s.runs {
		if !run.window.Equal(s.now.window) || run.left {
			continue
		}
		if s.policy == Refuse {
			s.fail("I5: a handler started after a run that did not tell its outcome, under Refuse")
		} else if a.Prior == nil {
			s.fail("I5: a handler started without being told of an earlier run")
		}
	}
	s.runs = append(s.runs, simRun{token: a.Token, window: s.now.window})
}

// answered checks what a caller got.
func (s *simulation) answered(w *simWorker, fp string, value string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(w, "answer %q, %v", value, short(err))
	var data string
	if failure, ok := errors.AsType[*Failure](err); ok {
		data = failure.Message
	} else if value != "" {
		data = value
	} else {
		return
	}
	if !strings.HasPrefix(data, fp) {
		s.fail("I1, H6: a caller with input %s got the answer %q", fp, data)
	}
	if !slices.ContainsFunc(slices.Collect(mapsKeys(s.outcomes)), func(recorded string) bool { return strings.Contains(recorded, `"`+data+`"`) }) {
		s.fail("I9: a caller got %q, which was never recorded", data)
	}
}

func (s *simulation) fail(format string, args ...any) {
	s.log = append(s.log, "  VIOLATION "+fmt.Sprintf(format, args...))
	s.t.Errorf("schedule %d: "+format, append([]any{s.seed}, args...)...)
}

func (s *simulation) note(w *simWorker, format string, args ...any) {
	who := "table"
	if w != nil {
		who = fmt.Sprintf("worker %d", w.number)
	}
	s.log = append(s.log, fmt.Sprintf("%12s %s: ", time.Since(simEpoch), who)+fmt.Sprintf(format, args...))
}

const simRetention = 5 * time.Second

// simEpoch is where the virtual clock starts.
var simEpoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func mapsKeys(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
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

func pause(d time.Duration) { sleep(context.Background(), d) }

// simWorker is a process with a clock of its own. It is also the DynamoDB client of its Runner.
type simWorker struct {
	Client // nil: what the library does not call yet would panic
	*simulation
	number int
	rng    *rand.Rand
	skew   time.Duration
	dead   bool
}

func (s *simulation) newWorker(number int, seed uint64) *simWorker {
	w := &simWorker{simulation: s, number: number, rng: rand.New(rand.NewPCG(seed, uint64(number)))}
	w.skew = time.Duration(w.rng.Int64N(1800)-900) * time.Millisecond
	return w
}

func (w *simWorker) clock() time.Time { return time.Now().Add(w.skew) }

func (w *simWorker) chance(percent int) bool { return w.rng.IntN(100) < percent }

func (w *simWorker) upTo(d time.Duration) time.Duration { return time.Duration(w.rng.Int64N(int64(d))) }

// work sends a few requests with one key, most of them the same request.
func (w *simWorker) work() {
	r, err := New(w, Config{
		Table: w.table, Retention: simRetention, UnknownRetention: 20 * time.Second, OnUnknown: w.policy,
		Now: w.clock, Observe: func(_ context.Context, e Event) { w.count(string(e.Kind)) },
	})
	if err != nil {
		w.t.Error(err)
		return
	}
	r.table.jitter = w.upTo
	for n := range 1 + w.rng.IntN(4) {
		pause(w.upTo([]time.Duration{50 * time.Millisecond, 5 * time.Second, 40 * time.Second}[w.rng.IntN(3)]))
		w.request(r, n)
	}
}

func (w *simWorker) request(r *Runner, n int) {
	fp := "A"
	if w.chance(15) {
		fp = "B"
	}
	req := Request{Operation: "op", Scope: "scope", Key: "key", Input: fp}
	if w.chance(40) {
		req.Wait = w.upTo(20 * time.Second)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if w.chance(80) {
		ctx, cancel = context.WithTimeout(ctx, 500*time.Millisecond+w.upTo(10*time.Second))
	}
	defer cancel()
	defer func() { _ = recover() }() // a handler's panic, as Lambda's runtime would end the process
	name := fmt.Sprintf("%s/%d/%d", fp, w.number, n)
	res, err := Do(ctx, r, req, func(ctx context.Context) (string, error) { return w.handle(ctx, name) })
	w.answered(w, fp, res.Value, err)
}

func (w *simWorker) handle(ctx context.Context, name string) (string, error) {
	w.started(w, AttemptFrom(ctx))
	if w.chance(10) {
		pause(w.upTo(80 * time.Second)) // frozen, or it does not look at its context
	} else {
		sleep(ctx, w.upTo(8*time.Second))
	}
	switch w.rng.IntN(10) {
	case 0:
		return "", Terminal(errors.New(name))
	case 1:
		return "", Unknown(errors.New("may have happened"))
	case 2, 3, 4:
		return "", errors.New("nothing happened")
	case 5:
		panic("handler")
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	return name, nil
}

var errReset = errors.New("connection reset")

// call is one call of the client: one try, and one repetition as the SDK makes it.
func (w *simWorker) call(ctx context.Context, what string, write bool, send func() error) error {
	err := w.try(ctx, what, write, send)
	if errors.Is(err, errReset) {
		if !sleep(ctx, w.upTo(50*time.Millisecond)) {
			return ctx.Err()
		}
		err = w.try(ctx, what, write, send)
	}
	return err
}

func (w *simWorker) try(ctx context.Context, what string, write bool, send func() error) error {
	w.mayCrash()
	delay := w.upTo(20 * time.Millisecond)
	if w.chance(3) {
		delay = w.upTo(30 * time.Second)
	}
	if !sleep(ctx, delay) {
		return ctx.Err()
	}
	fault := w.rng.IntN(100)
	switch {
	case fault < 4:
		return errReset
	case fault < 7 && write:
		w.count("late write")
		later := w.upTo(4 * time.Second) // less than the retention, as in any network
		w.background.Go(func() {
			pause(later)
			_ = w.step(w, "late "+what, send)
		})
		return errReset
	case fault < 10:
		return &types.ThrottlingException{Message: aws.String("slow down")}
	}
	err := w.reach(what, write, send)
	w.mayCrash()
	if fault < 15 {
		return errReset // the reply is lost
	}
	if !sleep(ctx, w.upTo(20*time.Millisecond)) {
		return ctx.Err()
	}
	return err
}

// reach is the moment at which the table gets the call.
func (w *simWorker) reach(what string, write bool, send func() error) error {
	if write {
		return w.step(w, what, send)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return send()
}

// mayCrash ends the process: its goroutine, and every call that a deferred function still makes.
func (w *simWorker) mayCrash() {
	if w.dead {
		runtime.Goexit()
	}
	if w.chance(2) {
		w.dead = true
		w.count("crash")
		runtime.Goexit()
	}
}

func (w *simWorker) count(kind string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[kind]++
}

func (w *simWorker) GetItem(ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (out *dynamodb.GetItemOutput, err error) {
	err = w.call(ctx, "get", false, func() error {
		out, err = w.inner.GetItem(context.Background(), in)
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (w *simWorker) PutItem(ctx context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return simSend(ctx, w, "put", func() (*dynamodb.PutItemOutput, error) { return w.inner.PutItem(context.Background(), in) })
}

func (w *simWorker) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return simSend(ctx, w, "update", func() (*dynamodb.UpdateItemOutput, error) { return w.inner.UpdateItem(context.Background(), in) })
}

func simSend[Out any](ctx context.Context, w *simWorker, what string, send func() (*Out, error)) (*Out, error) {
	replies := make(chan *Out, 3) // the last one is taken: a late copy's comes after nobody listens
	err := w.call(ctx, what, true, func() error {
		out, err := send()
		if err == nil {
			replies <- out
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return <-replies, nil
}
