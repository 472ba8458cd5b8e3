package lambda

import (
	"context"
	"time"

	"github.com/oncekey/oncekey/idempotency"
)

// Wrap returns a handler that runs h once for each logical request.
//
// request names the logical request of an event: its Operation, Scope and Key at least. An Input left nil is the
// event itself; give a struct of what has to be equal if the event has parts that differ from delivery to
// delivery. An event that is decoded into an any loses digits of long numbers before it is compared, so take a
// json.RawMessage instead. request must have no effect, since it runs for every delivery; its error goes back as
// it is, and nothing is run.
//
// h gets a context that ends before Lambda's deadline, with the attempt in it ([idempotency.AttemptFrom]). Its
// result is recorded as JSON, so an Out that cannot be read back (see [idempotency.Replayable]), or a stream, is
// refused: the handler that Wrap returns then answers every event with an [idempotency.FieldError] and never runs
// h. The same goes for an r, request or h that is nil. What only shows in the value of an any, such as a stream, goes
// to the first caller and is recorded as done without a body. A panic of h goes on to Lambda's runtime as it is.
//
// A first run and a replay give the same bytes to Lambda. The package comment says what errors look like. If h's
// attempt has lost its lease to one that has recorded an outcome, that outcome is the answer.
//
// The returned handler is safe for concurrent invocations.
func Wrap[In, Out any](r *idempotency.Runner, request func(context.Context, In) (idempotency.Request, error), h Handler[In, Out]) Handler[In, Out] {
	switch {
	case r == nil:
		return refusing[In, Out](missing("r", "make a Runner with idempotency.New"))
	case request == nil:
		return refusing[In, Out](missing("request", "a function that names the request of an event is required"))
	case h == nil:
		return refusing[In, Out](missing("h", "a handler is required"))
	}
	if err := idempotency.Replayable[Out](); err != nil {
		return refusing[In, Out](err)
	}
	return func(ctx context.Context, in In) (Out, error) {
		var none Out
		ctx, flush := metered(ctx)
		defer flush()
		req, err := request(ctx, in)
		if err != nil {
			return none, err
		}
		if req.Input == nil {
			req.Input = in
		}
		req.Scope = tenantScope(ctx, req.Scope)
		ran := false
		res, err := idempotency.Do(ctx, r, req, func(ctx context.Context) (Out, error) {
			ran = true
			return h(ctx, in)
		})
		if err := answer(err, ran, res.Replayed); err != nil {
			return none, err
		}
		return res.Value, nil
	}
}

// Event is [Wrap] for handlers that only return an error, such as those of SNS, EventBridge and S3 events and of other
// asynchronous invocations; [SNSRequest], [EventBridgeRequest], [S3Request] and [AsyncRequest] name their requests.
//
// Lambda gives an asynchronous invocation up after two retries. So one whose twin is still running waits for its outcome, as
// long as there is time, where the request does not set Wait, whatever Config.Wait says; idempotency.NoWait is no wait.
// Lambda retries for up to 6 hours (MaximumEventAgeInSeconds), EventBridge and SNS for up to 24 hours and 23 days before
// that, so that the default retention of 24 hours is too short for an SNS topic whose function was gone for days.
func Event[In any](r *idempotency.Runner, request func(context.Context, In) (idempotency.Request, error), h func(context.Context, In) error) Handler[In, struct{}] {
	waiting := request
	if request != nil {
		waiting = func(ctx context.Context, in In) (idempotency.Request, error) {
			req, err := request(ctx, in)
			if req.Wait == 0 {
				req.Wait = longestInvocation
			}
			return req, err
		}
	}
	if h == nil {
		return Wrap[In, struct{}](r, waiting, nil)
	}
	return Wrap(r, waiting, func(ctx context.Context, in In) (struct{}, error) {
		return struct{}{}, h(ctx, in)
	})
}

// longestInvocation is Lambda's limit: a wait that is bounded by the time left.
const longestInvocation = 15 * time.Minute

// refusing answers every event with err, as aws-lambda-go does for a handler of a wrong shape: a panic in main
// would only show as a sandbox that does not start.
func refusing[In, Out any](err error) Handler[In, Out] {
	err = named(err)
	return func(context.Context, In) (out Out, _ error) { return out, err }
}

func missing(argument, rule string) error {
	return &idempotency.FieldError{Field: "the wrapper's " + argument, Value: "nil", Rule: rule}
}
