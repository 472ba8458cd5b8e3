package main

import (
	"bytes"
	"context"

	"github.com/oncekey/oncekey/localtest"
)

// invoked has no door: another function sends the payment as the event, and tells errors by their errorType.
func invoked(ctx context.Context, w *world) {
	event := `{"idempotencyKey":"k1","customer":"c1",` + declinedOrder[1:]
	first := w.invoke(ctx, event)
	w.expect("A function invokes it: declined card", first.String(), "error CardDeclined", 1, 0)
	again := w.invoke(ctx, event)
	got := again.String()
	if bytes.Equal(again.Payload, first.Payload) {
		got = "the same error"
	}
	w.expect("  the same event again", got, "the same error", 1, 0)
}

// ending is that of an invocation.
type ending struct {
	localtest.Response
	err error
}

func (w *world) invoke(ctx context.Context, event string) ending {
	r, err := w.fn.Invoke(ctx, localtest.Event{Payload: []byte(event)})
	return ending{r, err}
}

func (e ending) String() string {
	switch {
	case e.err != nil:
		return "no answer: " + e.err.Error()
	case e.Error != nil:
		return "error " + e.Error.Type
	}
	return string(e.Payload)
}
