package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/oncekey/oncekey/lambda"
)

// question and answer are what all front doors have in common.
type question struct {
	method string
	body   []byte
}

type answer struct {
	status  int
	headers map[string]string
	body    string
}

// ask is the handler behind every front door. Who pays, and under which key, is the wrapper's affair; and so is the
// look-up, a GET with a key.
func (s payments) ask(ctx context.Context, q question) (answer, error) {
	switch q.method {
	case http.MethodPost:
		return s.post(ctx, q.body)
	case http.MethodGet, http.MethodHead:
		return refused(http.StatusBadRequest, "idempotency_key_missing", "GET says what became of a key: send it in the header Idempotency-Key")
	}
	a, err := refused(http.StatusMethodNotAllowed, "method_not_allowed", "payments are made with POST, and looked up with GET")
	a.headers["Allow"] = "GET, HEAD, POST"
	return a, err
}

func (s payments) post(ctx context.Context, body []byte) (answer, error) {
	var p Payment
	if err := json.Unmarshal(body, &p); err != nil {
		lambda.NotStarted(ctx)
		return refused(http.StatusBadRequest, "invalid_json", "the body must be a payment in JSON")
	}
	receipt, err := s.pay(ctx, p)
	if invalid, ok := errors.AsType[*InvalidPayment](err); ok {
		lambda.NotStarted(ctx) // nothing to remember
		return refused(http.StatusBadRequest, "invalid_payment", invalid.Error())
	}
	if declined, ok := errors.AsType[*CardDeclined](err); ok {
		return refused(http.StatusPaymentRequired, declined.Code, declined.Error())
	}
	if err != nil {
		return answer{}, err // the card may have been charged: the wrapper says what the client hears of that
	}
	// Without a Location: a receipt has no address of its own. The look-up finds it, by its key.
	text, err := json.Marshal(receipt)
	return answer{http.StatusCreated, map[string]string{"Content-Type": "application/json"}, string(text)}, err
}

func refused(status int, code, detail string) (answer, error) {
	text, err := json.Marshal(map[string]any{"title": http.StatusText(status), "status": status, "code": code, "detail": detail})
	return answer{status, map[string]string{"Content-Type": "application/problem+json"}, string(text)}, err
}
