package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/lambda"
)

// answer is what all front doors have in common.
type answer struct {
	status  int
	headers map[string]string
	body    string
}

// ask is the handler behind every front door. Who pays, and under which key, is the wrapper's affair; and so is the
// look-up, a GET.
func (s payments) ask(ctx context.Context, q *lambda.HTTPRequest) (answer, error) {
	if q.Method == http.MethodPost {
		return s.post(ctx, q)
	}
	a, err := refused(http.StatusMethodNotAllowed, "method_not_allowed", "payments are made with POST, and looked up with GET")
	a.headers["Allow"] = "GET, HEAD, POST"
	return a, err
}

func (s payments) post(ctx context.Context, q *lambda.HTTPRequest) (answer, error) {
	var p Payment
	if err := json.Unmarshal(q.Body, &p); err != nil {
		lambda.NotStarted(ctx)
		return refused(http.StatusBadRequest, "invalid_json", "the body must be a payment in JSON")
	}
	p.Customer, p.IdempotencyKey = q.Scope, "" // not what the body says
	receipt, err := s.pay(ctx, p)
	if invalid, ok := errors.AsType[*InvalidPayment](err); ok {
		lambda.NotStarted(ctx) // nothing to remember
		return refused(http.StatusBadRequest, "invalid_payment", invalid.Error())
	}
	if declined, ok := errors.AsType[*CardDeclined](err); ok {
		return refused(http.StatusPaymentRequired, declined.Code, declined.Error())
	}
	if over, ok := errors.AsType[*OverLimit](err); ok {
		return refused(http.StatusPaymentRequired, "over_limit", over.Error())
	}
	if err != nil {
		return answer{}, err // the card may have been charged: the wrapper says what the client hears of that
	}
	return paid(receipt)
}

// paid has no Location: a receipt has no address of its own. The look-up finds it, by its key.
func paid(r Receipt) (answer, error) {
	text, err := json.Marshal(r)
	return answer{http.StatusCreated, map[string]string{"Content-Type": "application/json"}, string(text)}, idempotency.Unknown(err) // the card is charged
}

func refused(status int, code, detail string) (answer, error) {
	text, err := json.Marshal(map[string]any{"title": http.StatusText(status), "status": status, "code": code, "detail": detail})
	return answer{status, map[string]string{"Content-Type": "application/problem+json"}, string(text)}, err
}
