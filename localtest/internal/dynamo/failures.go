package dynamo

import (
	"cmp"
	"net/http"
)

func replyTo(e *apiError) Reply { return Reply{Status: e.status, Body: e.body(), Code: e.code} }

// Throttled is the answer to a request over a limit; "" is the one of its table's billing mode.
func (e *Engine) Throttled(r *Request, why string) Reply {
	code, reasonCode := "ThrottlingException", "ThrottlingError"
	message := "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table or index so please try again shortly."
	limit := "MaxOnDemandThroughputExceeded"
	for _, t := range r.Tables {
		if !e.onDemand(t) {
			code, reasonCode, limit = "ProvisionedThroughputExceededException", "ProvisionedThroughputExceeded", "ProvisionedThroughputExceeded"
			message = "The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning level with the UpdateTable API."
		}
	}
	if reply, ok := cancelledBy(r, reason{Code: reasonCode, Message: message}); ok {
		return reply
	}
	failure := newError(code, "%s", message)
	if len(r.Tables) > 0 {
		what := "Table"
		if r.Index != "" {
			what = "Index"
		}
		failure.throttled = []throttlingReason{{cmp.Or(why, what+r.direction()+limit), r.Resource()}}
	}
	return replyTo(failure)
}

// direction is what the request does, as the service's names for limits have it.
func (r *Request) direction() string {
	switch r.Operation {
	case "GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems":
		return "Read"
	}
	return "Write"
}

// Unavailable is the answer of a service that cannot be reached at the moment.
func Unavailable() Reply {
	e := newError("ServiceUnavailable", "Service unavailable. Please try again.")
	e.namespace, e.status = service, http.StatusServiceUnavailable
	return replyTo(e)
}

// InternalError is the answer of a service that failed.
func InternalError() Reply {
	e := newError("InternalServerError", "Internal server error")
	e.status = http.StatusInternalServerError
	return replyTo(e)
}

// AccessDenied is the answer to a caller whose policy lacks the request's actions.
func AccessDenied(r *Request) Reply {
	action := "dynamodb:" + r.Operation
	if len(r.Actions) > 0 {
		action = r.Actions[0]
	}
	e := newError("AccessDeniedException", "User: arn:aws:sts::000000000000:assumed-role/localtest is not authorized to perform: %s on resource: %s because no identity-based policy allows the %s action", action, r.Resource(), action)
	e.namespace = service
	return replyTo(e)
}

// Conflict is the answer to a request that met an ongoing transaction.
func Conflict(r *Request) Reply {
	const message = "Transaction is ongoing for the item"
	if reply, ok := cancelledBy(r, reason{Code: "TransactionConflict", Message: message}); ok {
		return reply
	}
	return replyTo(newError("TransactionConflictException", message))
}

// cancelledBy is the answer to a transaction whose first action met the reason; false if the request is none.
func cancelledBy(r *Request, first reason) (Reply, bool) {
	n := 0
	switch op := r.op.(type) {
	case *transactWrite:
		n = len(op.TransactItems)
	case *transactGet:
		n = len(op.TransactItems)
	}
	if n == 0 {
		return Reply{}, false
	}
	return replyTo(cancellation(oneReason(n, 0, first))), true
}

// InProgress is the answer to a transaction whose twin, of the same ClientRequestToken, is under way.
func InProgress() Reply {
	return replyTo(newError("TransactionInProgressException", "The transaction with the given request token is already in progress."))
}

// ReplicatedConflict is the answer to a write that met one in another region, in a strongly consistent global table.
func ReplicatedConflict() Reply {
	return replyTo(newError("ReplicatedWriteConflictException", "One or more items in this request are being modified by a request in another Region."))
}

// Hold makes a batch carry out only its first half, rounded down, and hand the rest back as unprocessed. It
// reports whether the request is a batch.
func (r *Request) Hold() bool {
	b, ok := r.op.(batch)
	if ok {
		b.hold()
	}
	return ok
}
