package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/lambda/payments/internal/outboxpipe"
	"github.com/oncekey/oncekey/localtest"
)

// The queue says that a batch was handled, and is not heard to have deleted it: all of it comes again, and is as new (C43).
func batched(ctx context.Context, w *world) {
	w.publish(ctx, 3)
	answered := ""
	_, _ = w.queue.Deliver(ctx, batchSize, func(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
		out, err := w.worker.Consume(ctx, e)
		answered = outcome(len(e.Records)-len(out.BatchItemFailures), len(out.BatchItemFailures), err)
		return out, errors.Join(err, errors.New("the deletion got lost"))
	})
	w.expect("A batch of three from the outbox", answered, "3 done", 6, 6)
	w.expect("  the same batch delivered again", w.deliver(ctx), "3 done", 6, 6)
	w.publish(ctx, 0)
	w.publish(ctx, 0)
	w.expect("  its rows published twice more", w.deliver(ctx), "6 done", 6, 6)
}

// A message that cannot be read holds nothing up, and is kept for whoever has to look.
func poisoned(ctx context.Context, w *world) {
	w.queue.Send(localtest.Message{Body: `{"dynamodb":{"NewImage":{"id":{"N":"1"}}}}`})
	w.publish(ctx, 2)
	w.expect("A message in the batch cannot be read", w.deliver(ctx), "2 done, 1 comes again", 4, 4)
	for range w.queue.MaxReceives - 2 {
		w.deliver(ctx)
	}
	got := w.deliver(ctx)
	if w.queue.Len() == 0 {
		got = fmt.Sprintf("%d in the dead-letter queue", len(w.queue.Dead()))
	}
	w.expect(fmt.Sprintf("  when it has come %d times", w.queue.MaxReceives), got, "1 in the dead-letter queue", 4, 4)
}

// The shop is charged, and the worker does not live to book it. What it had done in the batch is done (C09).
func killedInBatch(ctx context.Context, w *world) {
	w.queue.MaxReceives = 0 // it delivers again sooner than a visibility timeout would let it
	w.publish(ctx, 3)
	var n atomic.Int32
	w.whenCharged(func() {
		if n.Add(1) == 2 {
			w.worker.Kill()
		}
	})
	w.expect("Killed after the batch's second charge", w.deliver(ctx), "0 done, 3 come again", 5, 5)
	w.expect("  delivered again at once", w.deliver(ctx), "2 done, 1 comes again", 6, 6)
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	got := ""
	for giveUp := time.Now().Add(15 * time.Second); w.queue.Len() > 0 && ctx.Err() == nil && time.Now().Before(giveUp); <-again.C {
		got = w.deliver(ctx)
	}
	w.expect("  after the lease", got, "1 done", 6, 6)
}

const batchSize = 10

// publish makes as many payments and puts the whole outbox into the queue: what is there already is published again.
func (w *world) publish(ctx context.Context, payments int) {
	for i := range payments {
		w.pay(ctx, fmt.Sprint("k", i+1), order) // the charges tell
	}
	bodies, err := outboxpipe.Messages(ctx, w.db.Client(), w.ledger)
	if err != nil {
		bodies = []string{err.Error()} // which is no row
	}
	for _, body := range bodies {
		w.queue.Send(localtest.Message{Body: body})
	}
}

// deliver is one batch for the worker, and what has become of it.
func (w *world) deliver(ctx context.Context) string {
	d, err := w.queue.Deliver(ctx, batchSize, w.worker.Consume)
	if _, ok := errors.AsType[*localtest.FunctionError](err); ok {
		err = nil // the messages that come back say it
	}
	return outcome(len(d.Deleted), len(d.Returned), err)
}

func outcome(done, back int, err error) string {
	switch {
	case err != nil:
		return "no answer: " + err.Error()
	case back == 0:
		return fmt.Sprintf("%d done", done)
	case back == 1:
		return fmt.Sprintf("%d done, 1 comes again", done)
	}
	return fmt.Sprintf("%d done, %d come again", done, back)
}
