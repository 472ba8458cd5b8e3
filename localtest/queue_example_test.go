package localtest_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/localtest"
)

// A worker fails with one message as often as it comes, and once with another. The worker is a handler in this process; a
// function in processes of its own is fn.Consume of a [localtest.Function].
func ExampleQueue() {
	q := localtest.NewQueue("orders")
	q.MaxReceives = 2
	for _, body := range []string{"order 1", "no order", "order 2"} {
		q.Send(localtest.Message{Body: body})
	}

	busy := true
	worker := func(_ context.Context, e events.SQSEvent) (out events.SQSEventResponse, _ error) {
		for _, m := range e.Records {
			if m.Body == "no order" || m.Body == "order 2" && busy {
				out.BatchItemFailures = append(out.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
			}
		}
		busy = false
		return out, nil
	}

	for q.Len() > 0 {
		d, err := q.Deliver(context.Background(), 10, worker)
		if err != nil {
			fmt.Println("the whole batch comes back:", err)
			continue
		}
		fmt.Println("delivered", len(d.Event.Records), "deleted", len(d.Deleted), "returned", len(d.Returned))
	}
	for _, m := range q.Dead() {
		fmt.Println("dead:", m.Body)
	}
	// Output:
	// delivered 3 deleted 1 returned 2
	// delivered 2 deleted 1 returned 1
	// dead: no order
}
