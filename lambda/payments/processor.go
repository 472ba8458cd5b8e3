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

// processor charges cards. A call with a key that it has seen charges nothing and returns the first one's charge.
// Its errors are a *CardDeclined, after which nothing is charged, or leave open whether the card was charged.
type processor interface {
	charge(ctx context.Context, key string, r chargeRequest) (id string, err error)
}

type chargeRequest struct {
	Card      string `json:"card"`
	Amount    int64  `json:"amount"`
	Currency  string `json:"currency"`
	Reference string `json:"reference"`
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

// httpProcessor speaks to a processor that takes an Idempotency-Key, as most do.
type httpProcessor struct {
	endpoint string
	client   *http.Client
}

func (p httpProcessor) charge(ctx context.Context, key string, r chargeRequest) (string, error) {
	id, err := p.post(ctx, key, r)
	if _, declined := errors.AsType[*CardDeclined](err); err != nil && !declined {
		return "", &ProcessorError{err}
	}
	return id, err
}

func (p httpProcessor) post(ctx context.Context, key string, r chargeRequest) (string, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.endpoint, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	resp, err := p.client.Do(req) // bounded by ctx, which ends before the function's time does
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	var answer struct{ ID, Code string }
	err = json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&answer)
	switch {
	case resp.StatusCode == http.StatusPaymentRequired && err == nil && answer.Code != "":
		return "", &CardDeclined{answer.Code}
	case resp.StatusCode != http.StatusCreated && resp.StatusCode != http.StatusOK:
		return "", fmt.Errorf("answered %s", resp.Status)
	case err != nil:
		return "", fmt.Errorf("answered what cannot be read: %w", err)
	case answer.ID == "":
		return "", fmt.Errorf("answered %s without the charge's id", resp.Status)
	}
	return answer.ID, nil
}

// playProcessor stands in where no processor is configured, so that the example can be deployed and tried. Like a
// real one it has one charge for each key.
type playProcessor struct{}

func (playProcessor) charge(_ context.Context, key string, _ chargeRequest) (string, error) {
	return "play_" + key, nil
}
