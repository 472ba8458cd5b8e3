package idempotency_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// wantOneRecord says that of the key's records, one under each secret, at most one has an outcome, and that the payment is
// made if and only if there is one that says so.
func (l ledger) wantOneRecord(tb testing.TB, req idempotency.Request) {
	tb.Helper()
	paid, outcomes := int64(0), 0
	for _, secret := range [][]byte{oldSecret, newSecret} {
		it := l.at(tb, under(secret, req))
		if it.number("expiration") < time.Now().Unix() {
			continue
		}
		switch it.text("status") {
		case "COMPLETED":
			paid, outcomes = paid+1, outcomes+1
		case "FAILED":
			outcomes++
		}
	}
	if outcomes > 1 {
		tb.Errorf("the key has %d outcomes", outcomes)
	}
	l.wantPaid(tb, paid)
}

// C55, rule 27: an outcome of either secret is found under both, in 2 reads and one transaction, which checks that the key
// has no other record; for that the IAM action ConditionCheckItem is needed.
func TestTxRotation_OneAfterAnother(t *testing.T) {
	t.Parallel()
	for first, second := range map[string]string{"prepared": "switched", "switched": "prepared"} {
		t.Run(first+", "+second, func(t *testing.T) {
			t.Parallel()
			atEachMode(t, func(t *testing.T, l ledger, req idempotency.Request) {
				l.quiet()
				res, err := l.worker(t, deployments[first]).doTx(soon(t), req, l.pays)
				wantAnswer(t, res, err, "paid", false)
				l.wantCalls(t, ofTx(req, []string{"GetItem", "GetItem", "PutItem", "GetItem", "TransactWriteItems"}, []string{"GetItem", "GetItem", "TransactWriteItems"})...)
				last := l.workerCalls()[len(l.workerCalls())-1]
				if slices.Contains(last.Actions, "dynamodb:ConditionCheckItem") != (req.Tx == idempotency.SingleShot) {
					t.Errorf("the transaction needs %v", last.Actions)
				}
				for name := range deployments {
					res, err = l.worker(t, deployments[name]).doTx(soon(t), req, l.pays)
					wantAnswer(t, res, err, "paid", true)
					_, err = l.worker(t, deployments[name]).doTx(soon(t), other(req), l.pays)
					wantErr(t, err, idempotency.ErrMismatch)
				}
				l.wantOneRecord(t, req)
				pass(48 * time.Hour)
				res, err = l.worker(t, deployments[second]).doTx(soon(t), req, func(context.Context, *idempotency.Tx) (string, error) { return "again", nil })
				wantAnswer(t, res, err, "again", false)
			})
		})
	}
}

// I2, I10, rule 27: a worker of one deployment at any moment of the other's request. One commits, and both have its answer.
func TestTxRotation_AtEveryCall(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*testing.T, ledger, idempotency.Request){
		"nothing there": fresh,
		"released": func(t *testing.T, l ledger, req idempotency.Request) {
			t.Helper()
			req.Tx = idempotency.Claimed
			_, err := l.worker(t, deployments["prepared"]).doTx(soon(t), req, failsTx(errPlain))
			wantErr(t, err, errPlain)
		},
		"crashed": func(t *testing.T, l ledger, req idempotency.Request) {
			t.Helper()
			req.Tx = idempotency.Claimed
			l.worker(t, deployments["prepared"]).crashTx(soon(t), req, l.pays)
			pass(10 * time.Second)
		},
		"over": func(t *testing.T, l ledger, req idempotency.Request) {
			t.Helper()
			_, err := l.worker(t, deployments["prepared"]).doTx(soon(t), req, failsTx(idempotency.Terminal(errPlain)))
			wantErr(t, err, errPlain)
			pass(48 * time.Hour)
		},
	} {
		for at := 1; at <= 6; at++ {
			for first, second := range map[string]string{"prepared": "switched", "switched": "prepared"} {
				t.Run(fmt.Sprintf("%s/%s at call %d of %s", name, second, at, first), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						l, req := newLedger(t), request("k")
						req.Tx = idempotency.SingleShot
						leave(t, l, req)
						w, calls := l.worker(t, deployments[first]), 0
						w.before = func(string) error {
							if calls++; calls == at {
								res, err := l.worker(t, deployments[second]).doTx(soon(t), req, l.pays)
								wantAnswer(t, res, err, "paid", false)
							}
							return nil
						}
						res, err := w.doTx(soon(t), req, l.pays)
						wantAnswer(t, res, err, "paid", calls >= at)
						l.wantOneRecord(t, req)
					})
				})
			}
		}
	}
}

// I1: another request has bound the key under the other secret before the single shot commits, and has left no outcome.
func TestTxRotation_BoundAtTheLastMoment(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]error{"released": errPlain, "unknown": idempotency.Unknown(errPlain), "failed": idempotency.Terminal(errPlain)} {
		for first, second := range map[string]string{"prepared": "switched", "switched": "prepared"} {
			t.Run(name+"/"+second, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					l, req := newLedger(t), request("k")
					w := l.worker(t, deployments[first])
					late := nth("TransactWriteItems", 1, func() {
						_, err := l.worker(t, deployments[second]).do(soon(t), other(request("k")), fails(end))
						wantErr(t, err, errPlain)
					})
					w.before = func(operation string) error { late(operation); return nil }
					req.Tx = idempotency.SingleShot
					_, err := w.doTx(soon(t), req, l.pays)
					wantErr(t, err, idempotency.ErrMismatch)
					l.wantPaid(t, 0)
				})
			})
		}
	}
}

// The transaction gets no answer, and there is a claim by then, which keeps the request out. But while secrets rotate a claim can be
// given back as if it had never been, and then the transaction's late copy commits: nobody may have been told that nothing has.
func TestTxRotation_CopyAfterAClaimThatGivesWay(t *testing.T) {
	t.Parallel()
	for name, bound := range map[string]idempotency.Request{"of the same request": request("k"), "of another one": other(request("k"))} {
		for _, secret := range [][]byte{oldSecret, newSecret} {
			t.Run(fmt.Sprintf("%s/%t", name, bytes.Equal(secret, oldSecret)), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					l, req := newLedger(t), request("k")
					w := l.worker(t, deployments["prepared"], withoutRetries)
					l.inject("TransactWriteItems", localtest.AppliedLate, 1)
					claims := item{}
					w.after = nth("TransactWriteItems", 1, func() {
						l.worker(t, secrets(secret)).hold(localtest.Invocation(t, time.Minute), t, bound)
						claims = l.at(t, under(secret, req))
					})
					req.Tx = idempotency.SingleShot
					_, err := w.doTx(soon(t), req, l.pays)

					claims["status"], claims["expiration"] = text("RELEASED"), number(time.Now().Add(-idempotency.DefaultRetention).Unix())
					l.fixture.put(t, claims)
					l.db.Flush()
					l.wantPaid(t, 1)
					wantErr(t, err, idempotency.ErrNotRecorded)
					if st, ok := errors.AsType[*idempotency.StateError](err); !ok || st.RetryAfter == 0 {
						t.Errorf("%v has no time to come again", err)
					}
				})
			})
		}
	}
}

// The same at random: single shots and claimed transactions of both deployments, with two requests that share a key, some
// of which fail. One request, one outcome, one payment.
func TestTxRotation_AtRandom(t *testing.T) {
	t.Parallel()
	txSchedules(t, 100, false)
}

// And with requests and replies that are lost, and writes that come late. Who was told that nothing is written has written
// nothing. All requests are one: two are promised less while secrets rotate.
func TestTxRotation_AtRandomWithFaults(t *testing.T) {
	t.Parallel()
	txSchedules(t, 200, true)
}

func txSchedules(t *testing.T, seeds int, faults bool) {
	t.Helper()
	if testing.Short() {
		seeds /= 4
	}
	var collided, doubts atomic.Int32
	t.Run("seeds", func(t *testing.T) {
		for seed := range seeds {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := txSchedule{ledger: newLedger(t), seed: uint64(seed), faults: faults, answers: map[string]bool{}, nothing: map[string]error{}}
					s.run(t)
					if s.met {
						collided.Add(1)
					}
					doubts.Add(int32(s.doubts))
				})
			})
		}
	})
	if int(collided.Load()) < seeds/4 || faults && int(doubts.Load()) < seeds/10 {
		t.Errorf("workers met in %d of %d schedules only, and %d callers were left in doubt", collided.Load(), seeds, doubts.Load())
	}
}

type txSchedule struct {
	ledger
	seed   uint64
	faults bool

	mu      sync.Mutex
	answers map[string]bool  // what callers got
	nothing map[string]error // and what they got whose run, of that answer, has written nothing
	met     bool
	doubts  int
}

func (s *txSchedule) run(t *testing.T) {
	t.Helper()
	var wg sync.WaitGroup
	var options []option
	if s.faults {
		s.disturb(rand.New(rand.NewPCG(s.seed, 0)))
		options = append(options, withoutRetries)
	}
	for i := range 4 {
		rng := rand.New(rand.NewPCG(s.seed, uint64(i)))
		w := s.worker(t, append(options, deployments[slices.Sorted(maps.Keys(deployments))[i%2]])...)
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
	s.db.ClearFaults()
	s.db.Flush()
	if len(s.answers) > 1 {
		t.Errorf("answers to one key: %v", slices.Sorted(maps.Keys(s.answers)))
	}
	s.wantOneRecord(t, request("k"))
	for _, secret := range [][]byte{oldSecret, newSecret} {
		answer, _ := strconv.Unquote(s.at(t, under(secret, request("k"))).text("data"))
		if err := s.nothing[answer]; err != nil {
			t.Errorf("a caller was told %v, and its payment is made", err)
		}
	}
}

// disturb makes some of the calls go wrong, some of these for a second or two.
func (s *txSchedule) disturb(rng *rand.Rand) {
	percent := []int{5, 20}[rng.IntN(2)] // of each of four kinds
	for _, kind := range []localtest.FaultKind{localtest.RequestLost, localtest.ReplyLost, localtest.AppliedLate, localtest.ServerErrorApplied} {
		for _, operation := range []string{"PutItem", "UpdateItem", "TransactWriteItems"} {
			own := rand.New(rand.NewPCG(rng.Uint64(), 0))
			s.db.Inject(localtest.Fault{Operation: operation, Kind: kind, Times: forever, Delay: lateBy(kind), Match: func(localtest.Call) bool {
				s.mu.Lock()
				defer s.mu.Unlock()
				return own.IntN(100) < percent
			}})
		}
	}
}

func (s *txSchedule) ask(t *testing.T, w *worker, rng *rand.Rand) {
	t.Helper()
	req, name := request("k"), "first"
	if !s.faults && rng.IntN(3) == 0 {
		req, name = other(req), "second"
	}
	req.Tx = idempotency.SingleShot
	if s.seed%2 == 0 && rng.IntN(2) == 0 {
		req.Tx = idempotency.Claimed
	}
	if rng.IntN(3) == 0 {
		req.Wait = 100 * time.Millisecond
	}
	fails := []error{nil, nil, errPlain, idempotency.Terminal(errPlain)}[rng.IntN(4)]
	pays := []txHandler{s.pays, s.paysIf(errPlain), s.paysIf(idempotency.Terminal(errPlain))}[rng.IntN(3)]
	// The number tells one run's answer from another's.
	value := fmt.Sprint(name, rng.Int64())
	limit := time.Minute
	if s.faults && rng.IntN(2) == 0 {
		limit = 300 * time.Millisecond
	}
	res, err := w.doTx(localtest.Invocation(t, limit), req, func(ctx context.Context, tx *idempotency.Tx) (string, error) {
		pass(time.Duration(rng.IntN(30)) * time.Millisecond)
		if fails != nil {
			return "", fails
		}
		_, err := pays(ctx, tx)
		return value, err
	})
	_, failed := errors.AsType[*idempotency.Failure](err)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.answers[res.Value] = true
		s.met = s.met || res.Replayed
	case errors.Is(err, idempotency.ErrInProgress), errors.Is(err, idempotency.ErrMismatch):
		s.met = true
		s.nothing[value] = err
	case errors.Is(err, idempotency.ErrNotRecorded):
		// Also of a single shot whose transaction a claim has kept out, since that may be given back.
		s.met = true
		s.doubts++
	case errors.Is(err, errPlain), failed:
		s.nothing[value] = err
	case s.faults && (errors.Is(err, idempotency.ErrUnavailable) || errors.Is(err, idempotency.ErrNoTime) || errors.Is(err, idempotency.ErrOutcomeUnknown) || errors.Is(err, idempotency.ErrLeaseLost)):
		s.nothing[value] = err
	default:
		t.Errorf("got %v", err)
	}
}
