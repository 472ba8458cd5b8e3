// Package lambda wraps AWS Lambda handlers, so that an event which Lambda delivers again gets the first answer
// instead of a second run.
//
// [Wrap] takes a typed handler and a function that names the logical request of an event; [Event] is for handlers
// that only return an error. Both return a plain handler function, which [Start] runs and which composes with any
// other wrapper. What is guaranteed, and the one rule that a handler has to follow, are in package idempotency.
//
// # Key and scope
//
// Take the key from the event: what the sender repeats when it repeats the request, such as an order's number. The
// invocation's request id will do only for asynchronous invocations, which keep it over their retries; a queue or
// a stream has a new one for every delivery.
//
// The scope says whose key it is. Take it from what Lambda or the front door vouches for, such as the source's ARN
// or the authorised caller, never from a field that the sender can choose: whoever names another's scope gets
// that one's answers. [idempotency.GlobalScope] is right where only one party can invoke the function.
//
// Under Lambda's tenant isolation, where the invocation has a tenant id, the tenant is part of the scope by
// itself, under GlobalScope too. Of Wrap and Event the request's own scope may then be left empty; behind HTTP it may not,
// since a tenant's users are not one caller. Tenant and scope share the limit of 1024 bytes.
//
// # Errors
//
// An error of the handler goes back as it is, without its mark, and Lambda reports the name of its Go type as
// errorType. A terminal failure that is replayed has the first run's errorType and errorMessage (up to 32 KB of
// it), unless [idempotency.Config.Failure] rebuilds the error; it comes as a messages.InvokeResponse_Error of
// aws-lambda-go, since Lambda's runtime takes the two from nothing else. So does an error with a method
// ErrorType() string, by which it names itself, the first time and on replay: the runtime does not know that
// method.
//
// What the protocol answers instead has an errorType of its own, for Retry and Catch of a Step Functions state.
// In Go, errors.Is finds the sentinel, and errors.AsType the [idempotency.StateError] or [idempotency.FieldError]
// where there is one.
//
//	errorType                  sentinel           handler ran  invoke again
//	---------                  --------           -----------  ------------
//	IdempotencyInProgress      ErrInProgress      no           yes, from a second later on
//	IdempotencyLeaseLost       ErrLeaseLost       yes          yes, for the other attempt's outcome
//	IdempotencyUnavailable     ErrUnavailable     no           yes
//	IdempotencyNoTime          ErrNoTime          no           yes; raise the time-out if it comes often
//	IdempotencyOutcomeUnknown  ErrOutcomeUnknown  no           no: somebody has to look
//	IdempotencyNotRecorded     ErrNotRecorded     yes          no: look the outcome up; of a single shot yes
//	IdempotencyNoBody          ErrNoBody          no           no: it is done, the answer is lost
//	IdempotencyMismatch        ErrMismatch        no           no: the sender has reused a key
//	IdempotencyBadRecord       ErrBadRecord       no           no: the result type has changed, or see there
//	IdempotencyInvalid         a FieldError       no           no: the request or a setting cannot be right
//	IdempotencyNotFound        ErrNotFound        -            of a Lookup that the handler made
//
// "No" says that the answer will be the same, or that [idempotency.OnUnknown] decides whether the handler runs
// again. A handler that returns the StateError of an operation inside it, without wrapping it, is reported by this
// table too. Lambda itself looks at no errorType: it repeats every asynchronous invocation that failed.
//
// # HTTP
//
// [HTTPAPI], [RESTAPI], [FunctionURL], [ALB] and [Middleware] put the Idempotency-Key contract before a handler of HTTP
// events (draft-ietf-httpapi-idempotency-key-header, read as of -06; -07 of October 2025 is the newest seen): the key comes by
// the header, the scope from the front door's authoriser, and the fingerprint from method, path, query and body. [HTTPConfig]
// has what can be set, and the file CLIENTS.md what an API's clients have to know: the header's form, each problem's code, and what to retry.
//
// A replay has the first answer's status, body and the headers that are recorded, and Idempotent-Replayed: true. An answer
// that is not recorded (see [RecordDefault]) goes to its own client, and the next request runs. A handler's error goes
// to Lambda as it would without the wrapper, unless it leaves open what happened: then the client is told so, by 409
// outcome_unknown. Under [idempotency.Rerun] answers and errors that leave it open go back as they are, since a client that
// asks again, as after any 502, is right.
//
// # Batches and events
//
// [SQS], [SQSBody], [Kinesis], [DynamoDBStream] and [Kafka] give each message of a batch a record of its own, and report those
// that have to come again: see [SQS] for which, and [Batch] for what can be set. Messages whose order counts run in order, up
// to the first that fails. What a wrapper fills in by itself, key, scope and input, is part of a record's identity and stays from
// release to release. [Event], with [SNSRequest], [EventBridgeRequest], [S3Request] or [AsyncRequest], is for events that
// Lambda delivers asynchronously.
//
// # Transactions and steps
//
// In every wrapper's handler [idempotency.TxFrom] collects writes to DynamoDB that commit with the outcome, and
// [idempotency.Step] records a part of the work. The function that names the request sets Request.Tx, HTTPConfig.Request
// behind HTTP. There an [HTTPError] is the answer for a condition that fails. A refused transaction's errorType is
// WriteError.
//
// # Order of wrappers
//
// Tracing, metrics and whatever recovers panics go outside of Wrap: replays are then seen too. A wrapper inside
// that turns a panic into an error would release the key of a run that may have had its effect; so would one that answers
// for a handler which goes on, as http.TimeoutHandler does. What changes a
// result inside is recorded with it; what changes it outside happens to replays as well. An outer wrapper that
// wraps errors changes their errorType.
package lambda
