package idempotency

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// ledgerWorker is a process, and its Runner's client: its way to the table loses, delays and doubles what goes along.
type ledgerWorker struct {
	Client // nil: what the library does not call would panic
	*ledgerSim
	simProcess
	asking *ledgerRequest // nil: the reconciler is at work
}

func (s *ledgerSim) newWorker(number int, seed uint64) *ledgerWorker {
	w := &ledgerWorker{ledgerSim: s, simProcess: newSimProcess(number, seed)}
	w.begin()
	return w
}

func (w *ledgerWorker) mayCrash(when string) {
	if w.crashes() {
		w.count("crash " + when)
		w.remark(w.asking, "crash %s", when)
		runtime.Goexit()
	}
}

// ledgerWrite is one write on its way.
type ledgerWrite struct {
	name     string
	payment  *ledgerPayment
	beside   bool // of an item of the answer, and not of the record
	asking   *ledgerRequest
	transact *dynamodb.TransactWriteItemsInput
	send     func() error
}

func (w *ledgerWorker) send(ctx context.Context, what ledgerWrite) error {
	what.asking = w.asking
	return w.call(ctx, func() error { return w.try(ctx, what) })
}

func (w *ledgerWorker) try(ctx context.Context, what ledgerWrite) error {
	w.mayCrash("before " + what.name)
	delay := w.upTo(20 * time.Millisecond)
	if w.chance(3) {
		delay = w.upTo(30 * time.Second)
	}
	if !sleep(ctx, delay) {
		return ctx.Err()
	}
	fault := w.rng.IntN(100)
	later := func() { // a copy of the request takes another way
		w.count("late " + what.name)
		delay := w.upTo(6 * time.Second)
		squeezed := int64(0)
		if p := what.payment; what.transact != nil && w.chance(30) { // the money is elsewhere until then
			squeezed = w.transfer(p.from, p.to, math.MaxInt64)
		}
		w.background.Go(func() {
			pause(delay)
			w.transfer(what.payment.to, what.payment.from, squeezed)
			late := what
			late.name = "late " + what.name
			_ = w.reach(w, late)
		})
	}
	switch {
	case fault < 5:
		w.remark(what.asking, "%s: lost", what.name)
		return errReset
	case fault < 9 && what.payment != nil:
		w.remark(what.asking, "%s: delayed", what.name)
		later()
		return errReset
	case fault < 12:
		w.count("throttled")
		return throttled(what)
	case fault < 16 && what.payment != nil:
		w.count("conflict")
		return conflict(what, w.rng)
	case fault < 19 && what.payment != nil:
		later() // and this one
	}
	err := w.reach(w, what)
	if err == nil {
		w.mayCrash("after " + what.name)
	}
	switch {
	case fault < 30:
		w.count("lost reply of " + what.name)
		w.remark(what.asking, "%s: reply lost", what.name)
		return errReset
	case fault < 33:
		sleep(ctx, w.upTo(10*time.Second)) // the reply is late
	default:
		sleep(ctx, w.upTo(20*time.Millisecond))
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return w.listed(what, err)
}

func throttled(what ledgerWrite) error {
	if what.transact == nil {
		return &types.ThrottlingException{Message: aws.String("slow down")}
	}
	return cancelled(what, 0, "ThrottlingError")
}

func conflict(what ledgerWrite, rng *rand.Rand) error {
	if what.transact == nil {
		return &types.TransactionConflictException{Message: aws.String("another transaction has the item")}
	}
	return cancelled(what, rng.IntN(len(what.transact.TransactItems)), "TransactionConflict")
}

func cancelled(what ledgerWrite, at int, code string) error {
	reasons := make([]types.CancellationReason, len(what.transact.TransactItems))
	for i := range reasons {
		reasons[i].Code = aws.String("None")
	}
	reasons[at].Code = &code
	return &types.TransactionCanceledException{Message: aws.String("cancelled"), CancellationReasons: reasons}
}

// listed is a cancelled transaction's answer: of several conditions that fail, it need not list all (H4, rule 16).
func (w *ledgerWorker) listed(what ledgerWrite, err error) error {
	reply, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok {
		return err
	}
	reasons := slices.Clone(reply.CancellationReasons)
	if own := failedCondition(reasons[0]); !slices.ContainsFunc(reasons[1:], failedCondition) {
		return err
	} else if w.count("business condition failed"); own && w.chance(40) {
		w.count("record's reason not listed")
		w.remark(what.asking, "%s: its record's reason is not listed", what.name)
		reasons[0] = types.CancellationReason{Code: aws.String("None")}
	}
	return &types.TransactionCanceledException{Message: reply.Message, CancellationReasons: reasons}
}

func (w *ledgerWorker) GetItem(ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (out *dynamodb.GetItemOutput, err error) {
	err = w.send(ctx, ledgerWrite{name: "get", send: func() error {
		out, err = w.inner.GetItem(context.Background(), in)
		return err
	}})
	if err != nil {
		return nil, err
	}
	if !aws.ToBool(in.ConsistentRead) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.counts["read first"]++
		if it, old := w.past.before(idOf(in.Key), w.rng); old {
			w.counts["stale read"]++
			return &dynamodb.GetItemOutput{Item: it}, nil
		}
	}
	return out, nil
}

func (w *ledgerWorker) PutItem(ctx context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	what := ledgerWrite{name: "put"}
	if what.payment, what.beside = w.paymentOf(in.Item); what.beside {
		what.name = "put beside"
	}
	return ledgerSend(ctx, w, what, func() (*dynamodb.PutItemOutput, error) { return w.inner.PutItem(context.Background(), in) })
}

func (w *ledgerWorker) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	what := ledgerWrite{name: "update"}
	what.payment, _ = w.paymentOf(in.Key)
	return ledgerSend(ctx, w, what, func() (*dynamodb.UpdateItemOutput, error) { return w.inner.UpdateItem(context.Background(), in) })
}

func (w *ledgerWorker) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	what := ledgerWrite{name: "commit", transact: in}
	if own := in.TransactItems[0]; own.Put != nil {
		what.payment, _ = w.paymentOf(own.Put.Item)
	} else {
		what.payment, _ = w.paymentOf(own.Update.Key)
	}
	w.remember(in)
	return ledgerSend(ctx, w, what, func() (*dynamodb.TransactWriteItemsOutput, error) {
		if w.forgetful {
			again := *in
			again.ClientRequestToken = nil // the SDK makes a new one
			return w.inner.TransactWriteItems(context.Background(), &again)
		}
		return w.inner.TransactWriteItems(context.Background(), in)
	})
}

// Scan goes through as it is: four goroutines of the library make it, in any order.
func (w *ledgerWorker) Scan(ctx context.Context, in *dynamodb.ScanInput, _ ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	return w.inner.Scan(ctx, in)
}

// remember checks that a ClientRequestToken stands for one transaction (rule 18).
func (w *ledgerWorker) remember(in *dynamodb.TransactWriteItemsInput) {
	w.mu.Lock()
	defer w.mu.Unlock()
	token := aws.ToString(in.ClientRequestToken)
	if before := w.sent[token]; before != nil && !reflect.DeepEqual(before.TransactItems, in.TransactItems) {
		w.fail("rule 18: a ClientRequestToken was used for two transactions")
	}
	w.sent[token] = in
}

func ledgerSend[Out any](ctx context.Context, w *ledgerWorker, what ledgerWrite, send func() (*Out, error)) (*Out, error) {
	return lastReply(send, func(try func() error) error {
		what.send = try
		return w.send(ctx, what)
	})
}

// paymentOf is whose record, or whose item beside it, that is.
func (s *ledgerSim) paymentOf(key item) (p *ledgerPayment, beside bool) {
	id := idOf(key)
	for _, p := range s.payments {
		if p.id == id || strings.HasPrefix(id, p.id+"#") {
			return p, p.id != id
		}
	}
	s.t.Errorf("schedule %d: a write to %q", s.seed, id)
	return nil, false
}
