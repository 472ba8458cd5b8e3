package localtest

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-lambda-go/events"
)

// Consume invokes the function with a batch of SQS messages and reads its answer, for [Queue.Deliver]. An answer that is
// null, or has no batchItemFailures, names no message. An
// itemIdentifier that is missing, misspelt or no string is an empty one.
//
// The error is a [*FunctionError] if the invocation did not succeed, says what is wrong with an answer that is no JSON of
// that form, or is that of [Function.Invoke].
func (f *Function) Consume(ctx context.Context, e events.SQSEvent) (out events.SQSEventResponse, err error) {
	payload, err := json.Marshal(e)
	if err != nil {
		return out, fmt.Errorf("consume: %w", err)
	}
	r, err := f.Invoke(ctx, Event{Payload: payload})
	if err != nil {
		return out, fmt.Errorf("consume: %w", err)
	}
	if r.Error != nil {
		return out, r.Error
	}
	// Maps, since encoding/json lets a member of a struct have any case.
	var answer map[string]json.RawMessage
	var failures []map[string]any
	err = json.Unmarshal(r.Payload, &answer)
	if list, ok := answer["batchItemFailures"]; ok && err == nil {
		err = json.Unmarshal(list, &failures)
	}
	if err != nil {
		return out, fmt.Errorf("consume: the answer is %.200q, must be an object with batchItemFailures: %w", r.Payload, err)
	}
	for _, failure := range failures {
		id, _ := failure["itemIdentifier"].(string) // else an empty one
		out.BatchItemFailures = append(out.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: id})
	}
	return out, nil
}
