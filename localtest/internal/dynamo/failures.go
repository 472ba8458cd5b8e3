package dynamo

import "net/http"

func replyTo(e *apiError) Reply { return Reply{Status: e.status, Body: e.body(), Code: e.code} }

// Throttled is the answer to a request over the table's throughput.
func (e *Engine) Throttled(r *Request) Reply {
	for _, t := range r.Tables {
		if !e.onDemand(t) {
			return replyTo(newError("ProvisionedThroughputExceededException", "The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning level with the UpdateTable API."))
		}
	}
	return replyTo(newError("ThrottlingException", "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table or index so please try again shortly."))
}

// InternalError is the answer of a service that failed.
func InternalError() Reply {
	e := newError("InternalServerError", "Internal server error")
	e.status = http.StatusInternalServerError
	return replyTo(e)
}

// AccessDenied is the answer to a caller whose policy lacks the request's actions.
func AccessDenied(r *Request) Reply {
	action, table := "dynamodb:"+r.Operation, "*"
	if len(r.Actions) > 0 {
		action = r.Actions[0]
	}
	if len(r.Tables) > 0 {
		table = tableARN(r.Tables[0])
	}
	e := newError("AccessDeniedException", "User: arn:aws:sts::000000000000:assumed-role/localtest is not authorized to perform: %s on resource: %s because no identity-based policy allows the %s action", action, table, action)
	e.namespace = service
	return replyTo(e)
}

// Conflict is the answer to a request that met an ongoing transaction.
func Conflict(r *Request) Reply {
	const message = "Transaction is ongoing for the item"
	n := 0
	switch op := r.op.(type) {
	case *transactWrite:
		n = len(op.TransactItems)
	case *transactGet:
		n = len(op.TransactItems)
	}
	if n == 0 {
		return replyTo(newError("TransactionConflictException", message))
	}
	reasons := make([]reason, n)
	for i := range reasons {
		reasons[i].Code = "None"
	}
	reasons[0] = reason{Code: "TransactionConflict", Message: message}
	return replyTo(cancellation(reasons))
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
