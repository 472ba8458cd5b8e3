package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
)

// Operation is that of every path.
const operation = "pay"

// order is the event, or the body of one.
type order struct {
	ID     string `json:"id"` // the key
	Amount int    `json:"amount"`
	Rerun  bool   `json:"rerun,omitempty"` // the policy
}

// answer names the run that has given it.
type answer struct {
	Run     string `json:"run"`
	Padding string `json:"padding,omitempty"`
}

func newAnswer(size int) answer {
	padding := make([]byte, size) // which deflate makes no smaller
	_, _ = rand.Read(padding)     // never fails
	return answer{rand.Text(), base64.StdEncoding.EncodeToString(padding)}
}

// start runs the path's handler, and returns only if there is no such path.
func (f function) start() {
	typed := func(tx idempotency.TxMode, h lambda.Handler[order, answer]) {
		lambda.Start(lambda.Wrap(f.runner, func(_ context.Context, o order) (idempotency.Request, error) {
			req := o.request()
			req.Tx = tx
			return req, nil
		}, h))
	}
	switch f.path {
	case "do":
		typed(0, f.charges(0))
	case "do, one item":
		typed(0, f.charges(8_000))
	case "do, two items":
		typed(0, f.charges(400_000))
	case "steps":
		typed(0, f.steps)
	case "claimed":
		typed(idempotency.Claimed, f.stages)
	case "claimed, step":
		typed(idempotency.Claimed, f.stepsAndStages)
	case "single shot":
		typed(idempotency.SingleShot, f.stages)
	case "http":
		lambda.Start(lambda.HTTPAPI(f.runner, lambda.HTTPConfig{Operation: operation, Request: scoped}, f.http))
	case "sqs":
		lambda.Start(lambda.SQSBody(f.runner, lambda.Batch{Operation: operation, Failed: f.failed}, named, f.message))
	}
}

func (o order) request() idempotency.Request {
	req := idempotency.Request{Operation: operation, Scope: idempotency.GlobalScope, Key: o.ID, OnUnknown: idempotency.Refuse}
	if o.Rerun {
		req.OnUnknown = idempotency.Rerun
	}
	return req
}

// charges has one effect, outside.
func (f function) charges(size int) lambda.Handler[order, answer] {
	return func(ctx context.Context, o order) (answer, error) {
		return newAnswer(size), f.outside.effect(ctx, o.ID, "charge")
	}
}

// steps has two, each in a step.
func (f function) steps(ctx context.Context, o order) (answer, error) {
	for _, name := range []string{"charge", "mail"} {
		if err := f.step(ctx, o, name); err != nil {
			return answer{}, err
		}
	}
	return newAnswer(0), nil
}

func (f function) step(ctx context.Context, o order, name string) error {
	_, err := idempotency.Step(ctx, name, func(ctx context.Context) (string, error) {
		return name, f.outside.effect(ctx, o.ID, name)
	})
	return err
}

// stages has its effect in the ledger: a count, so that a second one would show.
func (f function) stages(ctx context.Context, o order) (answer, error) {
	idempotency.TxFrom(ctx).Update(f.ledger, map[string]string{"id": o.ID}, "ADD entries :one").Value(":one", 1)
	return newAnswer(0), nil
}

// stepsAndStages has one outside, in a step, and one in the ledger.
func (f function) stepsAndStages(ctx context.Context, o order) (answer, error) {
	if err := f.step(ctx, o, "charge"); err != nil {
		return answer{}, err
	}
	return f.stages(ctx, o)
}

// scoped: all callers share their keys, and say themselves what the policy is.
func scoped(_ context.Context, q *lambda.HTTPRequest, req *idempotency.Request) error {
	var o order
	if err := json.Unmarshal(q.Body, &o); err != nil {
		return err
	}
	req.Scope, req.OnUnknown = idempotency.GlobalScope, o.request().OnUnknown
	return nil
}

func (f function) http(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	var out events.APIGatewayV2HTTPResponse
	var o order
	if err := json.Unmarshal([]byte(e.Body), &o); err != nil {
		return out, err
	}
	if err := f.outside.effect(ctx, o.ID, "charge"); err != nil {
		return out, err
	}
	body, err := json.Marshal(newAnswer(0))
	out.StatusCode, out.Body = http.StatusCreated, string(body)
	return out, err
}

func named(_ context.Context, _ events.SQSMessage, o order) (idempotency.Request, error) {
	return o.request(), nil
}

func (f function) message(ctx context.Context, o order) error {
	return f.outside.effect(ctx, o.ID, "charge")
}

// failed tells why a message comes again.
func (f function) failed(ctx context.Context, id string, err error) {
	_ = f.outside.tell(ctx, "failed", url.Values{"message": {id}, "error": {err.Error()}}) // the test will miss it
}
