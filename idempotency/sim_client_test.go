package idempotency

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func (w *simWorker) send(ctx context.Context, what simWrite) error {
	what.asking = w.asking
	return w.call(ctx, func() error { return w.try(ctx, what) })
}

func (w *simWorker) try(ctx context.Context, what simWrite) error {
	w.mayCrash()
	delay := w.upTo(20 * time.Millisecond)
	if w.chance(3) {
		delay = w.upTo(30 * time.Second)
	}
	if !sleep(ctx, delay) {
		return ctx.Err()
	}
	w.mayFreeze("frozen")
	fault := w.rng.IntN(100)
	switch {
	case fault < 4, time.Now().Before(w.outage):
		return errReset
	case fault < 7 && len(what.ids) > 0:
		w.count("late write")
		later := w.upTo(4 * time.Second) // less than the retention, as in any network
		late := what
		late.name = "late " + what.name
		w.background.Go(func() {
			pause(later)
			_ = w.reach(late)
		})
		return errReset
	case fault < 10:
		w.count("throttled")
		return &types.ThrottlingException{Message: aws.String("slow down")}
	}
	err := w.reach(what)
	w.mayCrash()
	if w.mayFreeze("frozen reply") {
		return err // it had arrived by then
	}
	if fault < 15 {
		w.count("lost reply")
		return errReset
	}
	if !sleep(ctx, w.upTo(20*time.Millisecond)) {
		return ctx.Err()
	}
	return err
}

func (w *simWorker) mayCrash() {
	if w.crashes() {
		w.count("crash")
		runtime.Goexit()
	}
}

// mayFreeze stops the process for a while, whatever its contexts say.
func (w *simWorker) mayFreeze(when string) bool {
	if w.number == simPerson || !w.chance(1) {
		return false
	}
	w.count(when)
	pause(w.upTo(60 * time.Second))
	return true
}

// simVersion is what an item has been since then.
type simVersion struct {
	at   time.Time
	item item
}

// simPast is what items have been, for reads that are not consistent.
type simPast map[string][]simVersion

func (p simPast) add(id string, it item) { p[id] = append(p[id], simVersion{time.Now(), it}) }

// before is what such a read may find: the item as it was a moment ago. old says that this is not what it is now.
func (p simPast) before(id string, rng *rand.Rand) (it item, old bool) {
	versions := p[id]
	if len(versions) == 0 || rng.IntN(2) == 0 {
		return nil, false
	}
	at := time.Now().Add(-time.Duration(rng.Int64N(int64(10 * time.Second))))
	for i, v := range slices.Backward(versions) {
		if !v.at.After(at) {
			return v.item, i < len(versions)-1
		}
	}
	return nil, true
}

func (w *simWorker) GetItem(ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (out *dynamodb.GetItemOutput, err error) {
	err = w.send(ctx, simWrite{name: "get", send: func() error {
		out, err = w.inner.GetItem(context.Background(), in)
		return err
	}})
	if err != nil {
		return nil, err
	}
	if !aws.ToBool(in.ConsistentRead) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.records[idOf(in.Key)] != nil {
			w.counts["read first"]++
		}
		if it, old := w.past.before(idOf(in.Key), w.rng); old {
			w.counts["stale read"]++
			return &dynamodb.GetItemOutput{Item: it}, nil
		}
	}
	return out, nil
}

func (w *simWorker) PutItem(ctx context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return simSend(ctx, w, simWrite{name: "put", ids: []string{idOf(in.Item)}}, func() (*dynamodb.PutItemOutput, error) {
		return w.inner.PutItem(context.Background(), in)
	})
}

func (w *simWorker) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return simSend(ctx, w, simWrite{name: "update", ids: []string{idOf(in.Key)}}, func() (*dynamodb.UpdateItemOutput, error) {
		return w.inner.UpdateItem(context.Background(), in)
	})
}

// BatchWriteItem carries out a part of what it is asked for now and then.
func (w *simWorker) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	some, left := in.RequestItems[w.table], []types.WriteRequest(nil)
	if len(some) > 1 && w.chance(30) {
		some, left = some[:len(some)/2], some[len(some)/2:]
	}
	var ids []string
	for _, put := range some {
		ids = append(ids, idOf(put.PutRequest.Item))
	}
	return simSend(ctx, w, simWrite{name: "batch", ids: ids}, func() (*dynamodb.BatchWriteItemOutput, error) {
		out, err := w.inner.BatchWriteItem(context.Background(), &dynamodb.BatchWriteItemInput{
			RequestItems: map[string][]types.WriteRequest{w.table: some}, ReturnConsumedCapacity: in.ReturnConsumedCapacity,
		})
		if err == nil && left != nil {
			w.counts["unprocessed"]++ // reach has the lock
			out.UnprocessedItems = map[string][]types.WriteRequest{w.table: left}
		}
		return out, err
	})
}

func (w *simWorker) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (out *dynamodb.BatchGetItemOutput, err error) {
	err = w.send(ctx, simWrite{name: "batch get", send: func() error {
		out, err = w.inner.BatchGetItem(context.Background(), in)
		return err
	}})
	if err != nil {
		return nil, err
	}
	if found := out.Responses[w.table]; !aws.ToBool(in.RequestItems[w.table].ConsistentRead) && len(found) > 0 && w.chance(20) {
		w.count("stale read")
		out.Responses[w.table] = found[1:]
	}
	return out, nil
}

// Scan goes through as it is: several goroutines of the library make it, in any order.
func (w *simWorker) Scan(ctx context.Context, in *dynamodb.ScanInput, _ ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	return w.inner.Scan(ctx, in)
}

func idOf(it item) string { return it["id"].(*types.AttributeValueMemberS).Value }

func simSend[Out any](ctx context.Context, w *simWorker, what simWrite, send func() (*Out, error)) (*Out, error) {
	return lastReply(send, func(try func() error) error {
		what.send = try
		return w.send(ctx, what)
	})
}
