package main

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// deaths are the moments between charge and booking in which the process is gone.
var deaths = map[string]func(*shop){
	"before the step is recorded": func(s *shop) { s.whenCharged(func() { s.cut.Store(true) }) },
	"before the commit": func(s *shop) {
		s.db.Inject(localtest.Fault{Operation: "UpdateItem", Table: s.records, After: func() { s.cut.Store(true) }})
	},
}

func atEachDeath(t *testing.T, play func(s *shop, pay func() string)) {
	t.Helper()
	for when, dies := range deaths {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			inShop(t, func(s *shop, pay func() string) {
				dies(s)
				s.dies(pay)
				play(s, pay)
			})
		})
	}
}

// The reconciler books a charge even if the client never comes back; if it does it gets the receipt (C09).
func TestReconcile_ChargedAndNotBooked(t *testing.T) {
	t.Parallel()
	atEachDeath(t, func(s *shop, pay func() string) {
		s.reconciles(counts{}) // its lease is alive
		passes(2 * timeout)
		s.reconciles(counts{Completed: 1})
		s.books(1)
		s.receives(pay)
		s.books(1)
		s.reconciles(counts{})
	})
}

// A retry under Rerun books by itself what an earlier attempt has charged.
func TestPay_RerunBooksTheChargeOfAnEarlierAttempt(t *testing.T) {
	t.Parallel()
	atEachDeath(t, func(s *shop, pay func() string) {
		passes(2 * timeout)
		if s.policy == idempotency.Refuse {
			s.refuses(pay)
			return
		}
		s.receives(pay)
		s.books(1)
		s.reconciles(counts{})
	})
}

// The reply to the commit is lost, and its copy finds it done (C02).
func TestPay_CommitReplyLost(t *testing.T) {
	t.Parallel()
	inShop(t, func(s *shop, pay func() string) {
		s.db.Inject(localtest.Fault{Operation: "TransactWriteItems", Kind: localtest.ReplyLost})
		for range 2 {
			s.receives(pay)
		}
		s.books(1)
	})
}

// The ledger's table refuses when the card is charged: nobody charges again, and somebody books.
func TestPay_BookingRefused(t *testing.T) {
	t.Parallel()
	for _, kind := range []localtest.FaultKind{localtest.AccessDenied, localtest.Throttled, localtest.RequestLost} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			inShop(t, func(s *shop, pay func() string) {
				over := s.outage("TransactWriteItems", kind, 0)
				if got := pay(); got == "ch_1" {
					s.t.Error("a receipt without a row")
				}
				over()
				passes(2 * timeout)
				if s.policy == idempotency.Refuse {
					s.refuses(pay)
					s.reconciles(counts{Completed: 1})
				}
				s.receives(pay)
				s.books(1)
			})
		})
	}
}

// Nothing was charged: a retry runs, once a request on its way cannot charge any more.
func TestReconcile_NotCharged(t *testing.T) {
	t.Parallel()
	inShop(t, func(s *shop, pay func() string) {
		s.lost.Store(true)
		s.dies(pay)
		passes(2 * timeout)
		s.lost.Store(false)
		s.reconciles(counts{Left: 1}) // within the grace
		passes(grace)
		s.lost.Store(true)
		s.reconciles(counts{Left: 1}) // the processor cannot be asked
		s.lost.Store(false)
		s.reconciles(counts{NotDone: 1})
		s.books(0)
		s.receives(pay)
		s.books(1)
	})
}

// An attempt is late and comes back after the reconciler: its charge is made, or yet to be made.
func TestReconcile_LateHolder(t *testing.T) {
	t.Parallel()
	inShop(t, func(s *shop, pay func() string) {
		goOn, came := make(chan struct{}), make(chan string)
		s.whenCharged(func() { <-goOn }) // frozen, with whatever it waits for
		go func() { came <- pay() }()
		synctest.Wait()
		passes(2 * timeout)
		s.reconciles(counts{Completed: 1})
		close(goOn)
		if got := <-came; got != "ch_1" {
			s.t.Errorf("the late one got %s, want ch_1", got)
		}
		s.receives(pay)
		s.books(1)
	})
	inShop(t, func(s *shop, pay func() string) {
		goOn, came := make(chan struct{}), make(chan string)
		s.whenSent(func() { <-goOn })
		go func() { came <- pay() }()
		synctest.Wait()
		passes(grace + 2*timeout)
		s.whenSent(nil)
		s.reconciles(counts{NotDone: 1})
		close(goOn)
		if got := <-came; got == "ch_1" {
			s.t.Error("the late one got a receipt without a row")
		}
		s.receives(pay)
		s.books(1)
	})
}

// The commit is late, and arrives after the reconciler has booked: it writes nothing.
func TestReconcile_LateCommit(t *testing.T) {
	t.Parallel()
	inShop(t, func(s *shop, pay func() string) {
		s.db.Inject(localtest.Fault{Operation: "TransactWriteItems", Before: func() {
			passes(2 * timeout)
			s.reconciles(counts{Completed: 1})
		}})
		pay()
		s.receives(pay)
		s.books(1)
	})
}

// The reconciler dies at its nth call to DynamoDB, or does not hear of it: the next one goes on (C02).
func TestReconcile_Fails(t *testing.T) {
	t.Parallel()
	for _, kind := range []localtest.FaultKind{localtest.RequestLost, localtest.ReplyLost, localtest.AccessDenied} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			for n := range 8 { // four segments, a read, a booking, a resolution, and one more
				inShop(t, func(s *shop, pay func() string) {
					deaths["before the commit"](s)
					s.dies(pay)
					passes(2 * timeout)
					end := s.outage("", kind, n)
					_, _ = s.clock.reconcile(s.t.Context(), nil)
					end()
					_, _ = s.clock.reconcile(s.t.Context(), nil)
					s.books(1)
					s.reconciles(counts{})
					s.receives(pay)
					s.books(1)
				})
			}
		})
	}
}

func TestReconcile_TwoAtOnce(t *testing.T) {
	t.Parallel()
	atEachDeath(t, func(s *shop, pay func() string) {
		passes(2 * timeout)
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if _, err := s.clock.reconcile(s.t.Context(), nil); err != nil {
					s.t.Error(err)
				}
			})
		}
		both.Wait()
		s.books(1)
		s.receives(pay)
		s.reconciles(counts{})
	})
}

// A retry under Rerun and the reconciler meet: one of them books, and the client has its receipt then, or next time.
func TestReconcile_BesideARetry(t *testing.T) {
	t.Parallel()
	inShop(t, func(s *shop, pay func() string) {
		if s.policy == idempotency.Refuse {
			return
		}
		deaths["before the commit"](s)
		s.dies(pay)
		passes(2 * timeout)
		found, err := s.unknowns()
		s.db.Inject(localtest.Fault{Operation: "TransactWriteItems", Before: func() {
			if len(found) != 1 || err != nil {
				s.t.Fatalf("%d unknowns, %v, want one", len(found), err)
			}
			_, _ = s.clock.settle(s.t.Context(), found[0]) // as it was before the retry took it over
		}})
		if got := pay(); !strings.Contains(got, errBooked.Error()) {
			s.t.Errorf("the client got %s, want %v", got, errBooked)
		}
		s.receives(pay)
		s.books(1)
	})
}

// What is not a payment is somebody else's.
func TestReconcile_LeavesOtherOperations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, idempotency.Refuse)
		mail := idempotency.Request{Operation: "send-mail", Scope: "c1", Key: "k1", Input: idempotency.AnyInput}
		_, _ = idempotency.Do(t.Context(), s.runner, mail, func(context.Context) (string, error) {
			return "", idempotency.Unknown(errors.New("no answer"))
		})
		passes(2 * grace)
		s.reconciles(counts{})
		if _, err := idempotency.Lookup[string](t.Context(), s.runner, mail); !errors.Is(err, idempotency.ErrOutcomeUnknown) {
			t.Errorf("the mail: %v, want ErrOutcomeUnknown", err)
		}
	})
}

// A record that has the charge, and a processor that does not know it: nothing may run again.
func TestReconcile_ProcessorHasForgotten(t *testing.T) {
	t.Parallel()
	inShop(t, func(s *shop, pay func() string) {
		deaths["before the commit"](s)
		s.dies(pay)
		passes(2 * grace)
		s.cards.Forget()
		s.reconciles(counts{Left: 1})
		if s.policy == idempotency.Refuse {
			s.refuses(pay)
		}
	})
}

// After a day "no charge" is no answer: the processor may know neither the charge nor the key any more.
func TestReconcile_BelievesNoOldNo(t *testing.T) {
	t.Parallel()
	inShop(t, func(s *shop, pay func() string) {
		deaths["before the step is recorded"](s)
		s.dies(pay)
		s.cards.Forget()
		passes(keyMemory + time.Minute)
		if got := pay(); got == "ch_1" {
			s.t.Error("charged again")
		}
		s.reconciles(counts{Left: 1})
		passes(5 * 24 * time.Hour)
		s.reconciles(counts{Left: 1})
		s.books(0)
	})
}

func TestReconcile_TellsOfWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, idempotency.Refuse)
		s.db.Inject(localtest.Fault{Operation: "Scan", Kind: localtest.AccessDenied})
		if _, err := s.clock.reconcile(t.Context(), nil); !errors.Is(err, idempotency.ErrUnavailable) || !strings.Contains(err.Error(), s.records) {
			t.Errorf("error %v, want ErrUnavailable with the table's name", err)
		}
	})
}

// answering is a processor whose look-up says this.
type answering struct {
	processor
	found charge
}

func (a answering) find(context.Context, string) (charge, bool, error) { return a.found, true, nil }

// A charge of which the processor says the id alone is not booked for nobody and nothing: somebody has to look.
func TestReconcile_ChargeWithoutDetails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, idempotency.Refuse)
		s.customer = aPayment().Customer
		s.whenCharged(func() { s.cut.Store(true) })
		s.dies(s.payByEvent)
		passes(time.Hour)
		s.clock.cards = answering{s.function.cards, charge{ID: "ch_1"}}
		if n, err := s.clock.reconcile(t.Context(), nil); err != nil || n != (counts{Left: 1}) {
			t.Errorf("reconciled %+v, %v", n, err)
		}
	})
}

// A function with Lambda's default time-out of 3 s has time to reconcile, too.
func TestReconcile_ShortTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShop(t, idempotency.Refuse)
		s.customer = aPayment().Customer
		s.whenCharged(func() { s.cut.Store(true) })
		s.dies(s.payByEvent)
		passes(time.Hour)
		if n, err := s.clock.reconcile(localtest.Invocation(t, 3*time.Second), nil); err != nil || n != (counts{Completed: 1}) {
			t.Errorf("reconciled %+v, %v", n, err)
		}
	})
}
