package idempotency

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/localtest"
)

var (
	ledgerSeed      = flag.Uint64("ledger.seed", 0, "run this one schedule of the ledger")
	ledgerSchedules = flag.Int("ledger.schedules", ledgerLengths.usual, "how many schedules of the ledger to run")
)

var ledgerLengths = simLengths{usual: 1500, fewest: 200}

// TestLedger lets up to four workers move money between a few accounts, in virtual time, for clients that ask again and again:
// by claimed and single-shot transactions, with and without an external charge in a step, among lost, late and doubled
// calls, conflicts, crashes, freezes, another writer, a time to live that sweeps and a reconciler that resolves. After
// every write the books are checked (I10, and what it stands on); see ledgerSim.check. A schedule is made by its seed
// alone:
//
//	go test ./idempotency -run 'TestLedger$' -ledger.seed=N -v
func TestLedger(t *testing.T) {
	t.Parallel()
	simulate(t, *ledgerSeed, *ledgerSchedules, ledgerLengths, ledgerSituations, func(t *testing.T, seed uint64) map[string]int {
		t.Helper()
		s := newLedgerSim(seed)
		s.run(t)
		return s.counts
	})
}

// ledgerSituations says how often each has to happen in 10,000 schedules, or they prove nothing.
var ledgerSituations = map[string]int{
	"crash before commit": 100, "crash after commit": 50, "crash after charge": 20, "lost reply of commit": 500, "late commit": 500,
	"conflict": 500, "throttled": 500, "business condition failed": 500, "record's reason not listed": 100, "looked": 500,
	"replayed": 5000, "taken_over": 300, "taken over unasked": 300, "waited": 50, "in_progress": 500, "lease_lost": 30,
	"not_recorded": 50, "completed": 2000, "failed": 500, "released": 500, "unknown": 500, "charge": 1000, "window ended": 100, "swept": 500,
	"kept beside": 300, "sealed": 200, "without its body": 20, "cached": 50, "stale read": 100, "read first": 100, "four processes": 1000,
	"resolved COMPLETED": 20, "resolved FAILED": 20, "resolved RELEASED": 20,
}

// ledgerSim is one schedule.
type ledgerSim struct {
	simSettings
	simStory
	inner   *dynamodb.Client
	records string // tables
	books   string
	plain   *Runner // by which the model reads outcomes

	short     bool // windows end
	forgetful bool // the table does not remember a transaction's ClientRequestToken, as after ten minutes
	payments  []*ledgerPayment

	balances []int64           // of the accounts, as they must be
	total    int64             // their sum
	rows     map[string]string // the payment rows that are there, by run, and in which window
	owners   map[string]*ledgerOwner
	sent     map[string]*dynamodb.TransactWriteItemsInput // by ClientRequestToken
	past     simPast
}

func newLedgerSim(seed uint64) *ledgerSim {
	return &ledgerSim{
		simStory: newSimStory(seed), rows: map[string]string{}, owners: map[string]*ledgerOwner{},
		sent: map[string]*dynamodb.TransactWriteItemsInput{}, past: simPast{},
	}
}

func (s *ledgerSim) run(t *testing.T) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s.t = t
		rng := rand.New(rand.NewPCG(s.seed, 0))
		db := localtest.Start(t)
		s.inner = db.Client(func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
		s.records = db.CreateTable(t, Table("records", Schema{}))
		s.books = db.CreateTable(t, Table("books", Schema{}))
		s.simSettings = newSimSettings(rng)
		s.plain = s.runner(t, s.inner, Config{Table: s.records}, func() bool { return false })
		s.short = rng.IntN(3) == 0
		s.forgetful = !s.short && rng.IntN(3) == 0
		for i := range 2 + rng.IntN(2) {
			s.balances = append(s.balances, 100)
			s.total += 100
			s.put(ledgerAccount{ID: accountID(i), Balance: 100})
		}
		for i := range 1 + rng.IntN(3) {
			s.payments = append(s.payments, newLedgerPayment(i, len(s.balances), rng))
		}
		processes := 2 + rng.IntN(3)
		s.counts["four processes"] += processes / 4
		for i := range processes {
			w := s.newWorker(i, rng.Uint64())
			s.background.Go(w.work)
		}
		others := rand.New(rand.NewPCG(rng.Uint64(), 1))
		s.background.Go(func() { s.move(others) })
		sweeps := rand.New(rand.NewPCG(rng.Uint64(), 1))
		s.background.Go(func() { s.sweep(sweeps) })
		reconciler := s.newWorker(simPerson, rng.Uint64())
		s.background.Go(reconciler.reconcile)
		s.background.Wait()
		s.close()
		if t.Failed() || *ledgerSeed != 0 { // here: synctest.Test does not return to its caller from a bubble that has failed
			s.tell(t, "TestLedger", "ledger", fmt.Sprintf("%s, windows that end %t, forgotten tokens %t", s.simSettings, s.short, s.forgetful))
		}
	})
}

// retention of outcomes; that of unknowns is the library's least.
func (s *ledgerSim) retention() time.Duration {
	if s.short {
		return 12 * time.Second
	}
	return DefaultRetention
}

// ledgerPayment is one key, and what the model knows of it.
type ledgerPayment struct {
	key, id  string
	from, to int // accounts
	amount   int64
	reads    bool         // its requests say ReadFirst
	modes    []ledgerMode // of its requests: mostly one
	looks    bool         // the handler looks at the balance itself (C46)
	guarded  bool         // the payment row has a condition too
	poor     Class        // what a balance that is too low means; 0: the condition has no Else

	now     *record // what the table holds
	windows map[string]*ledgerWindow
	last    *ledgerWindow
	charges map[string]int // runs of the charge by attempt
	card    string         // the downstream key
}

// ledgerWindow is what happened in one window of a key.
type ledgerWindow struct {
	name     string
	begun    time.Time
	outcome  string // as recorded; "" for none yet
	expires  int64
	status   status
	resolved status // what the reconciler said
	rows     int
	charges  int
	asked    int // those that no second one may follow under Refuse
}

// ledgerMode is a way to move money.
type ledgerMode struct {
	name string
	tx   TxMode
	card string // "": no charge, "step", or "bare": the charge is not in a step
}

var ledgerModes = []ledgerMode{
	{"claimed", Claimed, ""},
	{"claimed", Claimed, ""},
	{"single-shot", SingleShot, ""},
	{"single-shot", SingleShot, ""},
	{"claimed with a step", Claimed, "step"},
	{"do with a step", 0, "step"},
	{"do", 0, "bare"},
}

func newLedgerPayment(i, accounts int, rng *rand.Rand) *ledgerPayment {
	p := &ledgerPayment{
		key: fmt.Sprintf("p%d", i), from: rng.IntN(accounts), amount: 20 + rng.Int64N(60), looks: rng.IntN(2) == 0,
		reads: rng.IntN(3) == 0, guarded: rng.IntN(2) == 0, poor: []Class{0, Released, Recorded, Recorded}[rng.IntN(4)],
		windows: map[string]*ledgerWindow{}, charges: map[string]int{},
	}
	p.id = recordID(nil, "pay", "scope", p.key)
	p.to = (p.from + 1 + rng.IntN(accounts-1)) % accounts
	p.modes = []ledgerMode{ledgerModes[rng.IntN(len(ledgerModes))]}
	if other := ledgerModes[rng.IntN(len(ledgerModes))]; rng.IntN(5) == 0 && (other.card == "" || other.card == p.modes[0].card) {
		p.modes = append(p.modes, other) // a deploy has changed it
	}
	return p
}
