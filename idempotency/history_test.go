package idempotency_test

import (
	"flag"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

var (
	historyTime = flag.Duration("history.time", 2*time.Second, "how long to make histories")
	historyShow = flag.Bool("history.show", false, "show an illegal history of each broken client")
	historySeed = flag.Uint64("history.seed", 0, "what the first history is made of; 0: the time")
)

// TestHistory lets real goroutines meet on one key and then asks whether there is an order in which what each of them was
// told is what one key, served one request at a time, would have answered (I1–I3, I5, I7, I9; I10 by the effects). The
// simulation looks into the table; this looks only at answers, and runs on any DynamoDB. Real concurrency is not made again
// by a seed: a history that fails is printed.
func TestHistory(t *testing.T) {
	t.Parallel()
	seed := *historySeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	const atATime = 6
	var total historyCounts
	for began := time.Now(); !t.Failed(); seed += atATime {
		// Until everything has happened that has to, which on a slow machine may take longer.
		if passed := time.Since(began); passed > *historyTime && (len(total.missing()) == 0 || passed > 20*(*historyTime)) {
			break
		}
		var batch sync.WaitGroup
		for n := range uint64(atATime) {
			h := newHistory(t, seed+n)
			batch.Go(func() {
				h.play()
				h.judge(t)
				total.add(h.operations())
			})
		}
		batch.Wait()
	}
	t.Logf("%d histories, %v", total.histories, total.seen)
	if missing := total.missing(); len(missing) > 0 && !t.Failed() {
		t.Errorf("never happened: %v", missing)
	}
}

// judge says what is wrong with the history.
func (h *history) judge(t *testing.T) {
	t.Helper()
	switch h.check() {
	case porcupine.Illegal:
		t.Errorf("no order of one key explains this history:\n%s", h)
	case porcupine.Unknown:
		t.Errorf("the search for an order of this history was not over in %s:\n%s", checkPatience, h)
	default:
	}
	for _, err := range h.strange {
		t.Errorf("a caller got %v (seed %d)", err, h.seed)
	}
	h.checkEffects(t)
}

// historyCounts is what operations were told.
type historyCounts struct {
	mu        sync.Mutex
	histories int
	seen      map[said]int
}

func (c *historyCounts) add(operations []porcupine.Operation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil {
		c.seen = map[said]int{}
	}
	c.histories++
	for _, op := range operations {
		c.seen[op.Output.(output).said]++
	}
}

// missing are the answers that were not seen. A test in which they do not happen proves little.
func (c *historyCounts) missing() (missing []said) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, what := range everySaid {
		if c.seen[what] == 0 {
			missing = append(missing, what)
		}
	}
	return missing
}

// history is what some workers were told about one key.
type history struct {
	*fixture
	t       *testing.T
	seed    uint64
	rng     *rand.Rand
	clock   *leapingClock
	effects string // a table, of what was staged
	policy  idempotency.OnUnknown
	workers []*historyWorker
	late    bool // writes can come after their caller was answered

	mu      sync.Mutex
	ops     []porcupine.Operation
	writes  []string // for a reader of a history that fails
	strange []error  // answers that no request may get: with a broken client a record can become one that is not understood
}

// leapingClock is the one that all workers go by. It makes minutes of moments, so that leases and windows end without a wait.
type leapingClock struct {
	mu      sync.Mutex
	ahead   time.Duration
	started time.Time
}

func (c *leapingClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *leapingClock) leap(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// historyFaults are some that leave the caller in doubt, and some that do not.
var historyFaults = []localtest.FaultKind{
	localtest.RequestLost, localtest.ReplyLost, localtest.Throttled, localtest.ServerError, localtest.ServerErrorApplied,
}

const historyLease = 3 * time.Second // of which 2 are for clocks that differ

func newHistory(t *testing.T, seed uint64, breaks ...breaks) *history {
	t.Helper()
	f := newFixture(t)
	h := &history{
		fixture: f, t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 0)), clock: &leapingClock{started: time.Now()},
		effects: f.db.CreateTable(t, idempotency.Table("effects", idempotency.Schema{})),
	}
	h.policy = []idempotency.OnUnknown{idempotency.Refuse, idempotency.Rerun}[h.rng.IntN(2)]
	if len(breaks) == 0 {
		h.fault(h.rng)
	}
	for i := range 4 {
		h.workers = append(h.workers, h.newWorker(i, h.rng.Uint64(), breaks...))
	}
	return h
}

// fault makes some calls go wrong from now on, in each way. The library sends again what had no answer, so that it takes many to
// leave it in doubt. Few of them where writes come late, since an order is searched for with and without each.
func (h *history) fault(rng *rand.Rand) {
	kinds, percent := historyFaults, []int{0, 2, 12}[rng.IntN(3)]
	if h.late = rng.IntN(4) == 0; h.late {
		kinds, percent = append(slices.Clone(kinds), localtest.AppliedLate), 1
	}
	var mu sync.Mutex
	own := rand.New(rand.NewPCG(rng.Uint64(), 0))
	for _, kind := range kinds {
		h.db.Inject(localtest.Fault{Kind: kind, Times: forever, Delay: lateBy(kind) / 25, Match: func(localtest.Call) bool {
			mu.Lock()
			defer mu.Unlock()
			return own.IntN(100) < percent
		}})
	}
}

// play lets the workers go, and waits until each has asked a few times.
func (h *history) play() {
	var wg sync.WaitGroup
	for _, w := range h.workers {
		wg.Go(w.work)
	}
	wg.Wait()
	h.db.ClearFaults()
	h.db.Flush()
}

func (h *history) odd(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.strange = append(h.strange, err)
}

func (h *history) operations() []porcupine.Operation {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ops
}

// checkPatience is how long the search for an order may take; the histories are short enough for a moment.
const checkPatience = 30 * time.Second

func (h *history) check() porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(keyModel(h.policy), h.operations(), checkPatience)
}

// checkEffects: what was staged is there if and only if it was committed with an outcome (I10).
func (h *history) checkEffects(t *testing.T) {
	t.Helper()
	there := map[string]bool{}
	for _, it := range h.scan(t, h.effects) {
		there[it.text("id")] = true
	}
	for _, op := range h.operations() {
		in, out := op.Input.(input), op.Output.(output)
		if in.tx == 0 || out.value == "" || !out.own {
			continue
		}
		if committed := out.said == saidCompleted; committed != there[out.value] && out.said != saidNotKnown {
			t.Errorf("I10: %s of %q, and its effect is there: %t", out.said, out.value, there[out.value])
		}
	}
}

func (h *history) scan(t *testing.T, table string) (items []item) {
	t.Helper()
	out, err := h.plain.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table})
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range out.Items {
		items = append(items, it)
	}
	return items
}
