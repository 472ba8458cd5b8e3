package conformance

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// contenders is how many ask at once.
const contenders = 64

// together runs f in n goroutines that start at the same time.
func together(n int, f func(i int)) {
	var done sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		done.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	done.Wait()
}

// surprises counts errors by their codes: one line tells of hundreds.
type surprises struct {
	mu    sync.Mutex
	count map[string]int
}

func (s *surprises) add(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count == nil {
		s.count = map[string]int{}
	}
	s.count[code(err)]++
}

func (s *surprises) report(t *testing.T) {
	t.Helper()
	if len(s.count) > 0 {
		t.Errorf("errors: %.500v", s.count)
	}
}

// race lets all contenders try the same and checks that one of them wins, that every other is told who, and that the
// winner's item is what is stored.
func (f fixture) race(id string, e expressions) {
	f.Helper()
	key := item{"id": id}
	var winners atomic.Int32
	var odd surprises
	told := make([]string, contenders)
	together(contenders, func(i int) {
		err := f.putIf(with(key, item{"status": "INPROGRESS", "expiration": now + 9, "lease": (now + 1) * 1000, "owner": i}), e)
		failed, lost := errors.AsType[*types.ConditionalCheckFailedException](err)
		switch {
		case err == nil:
			winners.Add(1)
		case lost:
			told[i] = show(failed.Item)
		default:
			odd.add(err)
		}
	})
	odd.report(f.T)
	if n := winners.Load(); n != 1 {
		f.Errorf("%s: %d winners", id, n)
	}
	stored := show(f.get(key))
	for i, s := range told {
		if s != "" && s != stored {
			f.Errorf("%s: contender %d was told %s, stored is %s", id, i, s, stored)
		}
	}
}

func TestRace_Create(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for round := range 2 {
		f.race(fmt.Sprint(round), expressions{condition: "attribute_not_exists(id)"})
	}
}

// Of those who find a record whose window is over, one takes it over.
func TestRace_TakeOver(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for round := range 2 {
		id := fmt.Sprint(round)
		f.put(item{"id": id, "status": "INPROGRESS", "expiration": now - 1, "lease": now*1000 - 1})
		f.race(id, acquire())
	}
}

// No increment is lost, whether it is written as ADD or as SET.
func TestRace_Increments(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const each = 50
	updates := []expressions{
		{update: "ADD n :one", values: item{":one": 1}},
		{update: "SET n = if_not_exists(n, :zero) + :one", values: item{":zero": 0, ":one": 1}},
	}
	var odd surprises
	together(contenders, func(i int) {
		for range each {
			if _, err := f.updateIf(item{"id": "k"}, updates[i%2]); err != nil {
				odd.add(err)
			}
		}
	})
	odd.report(t)
	f.wantStored(item{"id": "k"}, item{"id": "k", "n": contenders * each})
}

// insist repeats a transaction for as long as others are in its way, which is no verdict on its conditions.
func insist(transact func() error) error {
	for {
		err := transact()
		failed, ok := errors.AsType[*types.TransactionCanceledException](err)
		conflict := false
		if ok {
			for _, r := range failed.CancellationReasons {
				conflict = conflict || r.Code != nil && *r.Code == "TransactionConflict"
			}
		}
		if !conflict {
			return err
		}
	}
}

// A transaction of two creations has one winner, who creates both.
func TestRace_Transactions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	create := func(id string, owner int) types.TransactWriteItem {
		return f.putAction(item{"id": id, "owner": owner}, expressions{condition: "attribute_not_exists(id)"})
	}
	for round := range 2 {
		a, b := fmt.Sprintf("a%d", round), fmt.Sprintf("b%d", round)
		var winners atomic.Int32
		var odd surprises
		together(contenders, func(i int) {
			err := insist(func() error {
				if i%2 == 0 {
					return f.transact(create(a, i), create(b, i))
				}
				return f.transact(create(b, i), create(a, i))
			})
			switch code(err) {
			case "":
				winners.Add(1)
			case cancelled:
			default:
				odd.add(err)
			}
		})
		odd.report(t)
		first, second := f.get(item{"id": a}), f.get(item{"id": b})
		if n := winners.Load(); n != 1 || showValue(first["owner"]) != showValue(second["owner"]) {
			f.Errorf("round %d: %d winners, stored %s and %s", round, n, show(first), show(second))
		}
	}
}

// Who reads two items in one transaction never sees one of them changed and the other not yet.
func TestRace_TornReads(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.put(item{"id": "a", "n": 0}, item{"id": "b", "n": 0})
	gets := []types.TransactGetItem{
		{Get: &types.Get{TableName: &f.table, Key: attributesOf(item{"id": "a"})}},
		{Get: &types.Get{TableName: &f.table, Key: attributesOf(item{"id": "b"})}},
	}
	const writers, readers, each = 8, 8, 20
	var odd surprises
	var torn atomic.Int32
	together(writers+readers, func(i int) {
		for range each {
			var out *dynamodb.TransactGetItemsOutput
			err := insist(func() (err error) {
				if i < writers {
					return f.transact(f.addAction("a"), f.addAction("b"))
				}
				out, err = f.client.TransactGetItems(f.Context(), &dynamodb.TransactGetItemsInput{TransactItems: gets})
				return err
			})
			if err != nil {
				odd.add(err)
			} else if out != nil && showValue(out.Responses[0].Item["n"]) != showValue(out.Responses[1].Item["n"]) {
				torn.Add(1)
			}
		}
	})
	odd.report(t)
	if n := torn.Load(); n != 0 {
		t.Errorf("%d torn reads of %d", n, readers*each)
	}
	f.wantStored(item{"id": "a"}, item{"id": "a", "n": writers * each})
	f.wantStored(item{"id": "b"}, item{"id": "b", "n": writers * each})
}

// A transaction that is cancelled takes nobody else's write with it.
func TestRace_AcknowledgedWrites(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const writers, each = 16, 10
	var odd surprises
	id := func(i, n int) string { return fmt.Sprintf("k%d-%d", i, n) }
	together(2*writers, func(i int) {
		for n := range each {
			if i < writers {
				if err := f.putIf(item{"id": id(i, n)}, expressions{}); err != nil {
					odd.add(err)
				}
				continue
			}
			err := f.transact(
				f.putAction(item{"id": "never-" + id(i, n)}, expressions{}),
				f.checkAction(item{"id": "absent"}, expressions{condition: "attribute_exists(id)"}),
			)
			if code(err) != cancelled {
				odd.add(err)
			}
		}
	})
	odd.report(t)
	ids := map[string]int{}
	f.scanAll(ids, dynamodb.ScanInput{})
	wantOnceEach(t, ids, writers*each)
}
