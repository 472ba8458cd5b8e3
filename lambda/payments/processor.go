package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// processor charges cards, under keys.
type processor interface {
	// charge charges nothing for a key that has been charged, and returns that charge's id. Its errors are a
	// *CardDeclined, after which nothing is charged under this key, or leave open whether the card was charged.
	charge(ctx context.Context, key string, r chargeRequest) (id string, err error)
	// find returns the charge of a key. ok is false only where the processor says that there is none.
	find(ctx context.Context, key string) (c charge, ok bool, err error)
}

type chargeRequest struct {
	Card      string `json:"card"`
	Amount    int64  `json:"amount"`
	Currency  string `json:"currency"`
	Reference string `json:"reference"` // the order; of a commission the charge that it is for
	Customer  string `json:"customer"`  // with the order what it takes to book a charge that is found there
}

// charge is money that was taken.
type charge struct {
	ID string `json:"id"`
	chargeRequest
}

func (c charge) isFor(p Payment) bool {
	return c.Reference == p.Order && c.Customer == p.Customer && c.Amount == p.Amount && c.Currency == p.Currency
}

// CardDeclined is the processor's no. Its type's name is the errorType that callers of the function see.
//
//nolint:errname // named for the callers
type CardDeclined struct {
	Code string `json:"code"`
}

func (e *CardDeclined) Error() string { return "card declined: " + e.Code }

// ProcessorError is any other answer of the processor, or none.
type ProcessorError struct{ Err error }

func (e *ProcessorError) Error() string { return "card processor: " + e.Err.Error() }
func (e *ProcessorError) Unwrap() error { return e.Err }

func newProcessor(address string) (processor, error) {
	if address == "" {
		return playProcessor{}, nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("CARD_PROCESSOR_URL is no URL") // without it: there may be a password inside
	}
	if u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("CARD_PROCESSOR_URL is %q: must be an http or https URL", u.Redacted())
	}
	// A redirect is no answer to a charge: followed, it would take card and key to another place, or ask there for
	// something else.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return httpProcessor{u.JoinPath("charges").String(), &http.Client{CheckRedirect: stay}}, nil
}

// httpProcessor speaks to a processor that takes an Idempotency-Key, as most do, and can be asked for its charge.
type httpProcessor struct {
	endpoint string
	client   *http.Client
}

func (p httpProcessor) charge(ctx context.Context, key string, r chargeRequest) (id string, err error) {
	body, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	c, status, code, err := p.ask(ctx, http.MethodPost, key, body)
	if status == http.StatusPaymentRequired && code != "" {
		return "", &CardDeclined{code}
	}
	return c.ID, err
}

func (p httpProcessor) find(ctx context.Context, key string) (charge, bool, error) {
	c, status, code, err := p.ask(ctx, http.MethodGet, key, nil)
	if status == http.StatusNotFound && code == noCharge {
		return charge{}, false, nil
	}
	return c, err == nil, err
}

// noCharge is the code that makes a 404 an answer. Any other one is of a wrong address, or of something in between.
const noCharge = "no_charge"

// ask returns the charge that the processor names, or a ProcessorError and what else it says.
func (p httpProcessor) ask(ctx context.Context, method, key string, body []byte) (c charge, status int, code string, err error) {
	var answer struct {
		charge
		Code string `json:"code"`
	}
	status, err = p.send(ctx, method, key, body, &answer)
	switch {
	case err != nil:
		return charge{}, 0, "", &ProcessorError{err}
	case status != http.StatusCreated && status != http.StatusOK:
		return charge{}, status, answer.Code, &ProcessorError{fmt.Errorf("answered %d", status)}
	case answer.ID == "":
		return charge{}, status, "", &ProcessorError{fmt.Errorf("answered %d without the charge's id", status)}
	}
	return answer.charge, status, "", nil
}

func (p httpProcessor) send(ctx context.Context, method, key string, body []byte, answer any) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, method, p.endpoint, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Idempotency-Key", key)
	resp, err := p.client.Do(req) // bounded by ctx, which ends before the function's time does
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(answer); err != nil {
		return 0, fmt.Errorf("answered %s with what cannot be read: %w", resp.Status, err)
	}
	return resp.StatusCode, nil
}

// playProcessor stands in where no processor is configured, so that the example can be deployed and tried. Like a
// real one it has one charge for each key; it remembers none, and charges nobody.
type playProcessor struct{}

func (playProcessor) charge(_ context.Context, key string, _ chargeRequest) (id string, err error) {
	return "play_" + key, nil
}

func (playProcessor) find(context.Context, string) (c charge, ok bool, err error) {
	return charge{}, false, nil
}
