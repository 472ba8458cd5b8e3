package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// What the clients send.
const (
	order         = `{"order":"17","amount":4990,"currency":"EUR","card":"card_visa"}`
	otherAmount   = `{"order":"17","amount":4991,"currency":"EUR","card":"card_visa"}`
	withoutAmount = `{"order":"18","amount":0,"currency":"EUR","card":"card_visa"}`
	declinedOrder = `{"order":"19","amount":4990,"currency":"EUR","card":"card_declined"}`
)

// pay sends alice's payment.
func (w *world) pay(ctx context.Context, key, body string) answer {
	return w.send(ctx, http.DefaultClient, http.MethodPost, "alice", key, body)
}

// send is one request through the front door; with another client it may be several.
func (w *world) send(ctx context.Context, client *http.Client, method, caller, key, body string) answer {
	req, err := http.NewRequestWithContext(ctx, method, w.url, strings.NewReader(body))
	if err != nil {
		return answer{lost: err}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(w.door.CallerHeader, w.door.CallerPrefix+caller)
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := client.Do(req)
	if err != nil {
		return answer{lost: err}
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(text), err}
}

// payUntilDecided sends the payment of k1 again, as long as that is said to be in progress, and sooner than told to.
func (w *world) payUntilDecided(ctx context.Context) answer {
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for giveUp := time.After(15 * time.Second); ; {
		a := w.pay(ctx, "k1", order)
		if a.String() != inProgress {
			return a
		}
		select {
		case <-again.C:
		case <-giveUp:
			return a
		case <-ctx.Done():
			return a
		}
	}
}

// answer is what a client got.
type answer struct {
	status int
	header http.Header
	body   string
	lost   error // there was no answer
}

// What the answers look like in the table.
const (
	sameAnswer                  = "the same, Idempotent-Replayed"
	inProgress                  = "409 operation_in_progress, Retry-After"
	unknown                     = "409 outcome_unknown"
	unavailable                 = "503 idempotency_unavailable, Retry-After"
	functionDied, gatewayGaveUp = "500 Internal Server Error", "503 Service Unavailable" // the gateway's own words
	functionFailed              = functionDied                                           // it cannot tell the two apart
)

func receipt(charge string, attempt int) string {
	return fmt.Sprintf("201 %s, attempt %d", charge, attempt)
}

// String is the status, what the body says, and the headers that belong to the contract.
func (a answer) String() string {
	if errors.Is(a.lost, context.Canceled) {
		return "nothing"
	}
	if a.lost != nil {
		return "no answer: " + a.lost.Error()
	}
	var body struct {
		Charge        string
		Attempt       int
		Code, Message string // of a problem; of the gateway
	}
	says := a.body
	if err := json.Unmarshal([]byte(a.body), &body); err == nil {
		says = body.Code + body.Message
	}
	text := fmt.Sprintf("%d %s", a.status, says)
	if body.Charge != "" && a.status == http.StatusCreated {
		text = receipt(body.Charge, body.Attempt)
	}
	if a.header.Get("Retry-After") != "" {
		text += ", Retry-After"
	}
	if a.replayed() {
		text += ", replayed"
	}
	return text
}

func (a answer) replayed() bool { return a.header.Get("Idempotent-Replayed") == "true" }

// after describes an answer that should be a replay of the one that came before it.
func (a answer) after(first answer) string {
	if a.lost == nil && first.lost == nil && a.replayed() && a.status == first.status && a.body == first.body &&
		maps.EqualFunc(a.lasting(), first.lasting(), slices.Equal) {
		return sameAnswer
	}
	return a.String()
}

// lasting are the headers but for those that each answer has of its own.
func (a answer) lasting() http.Header {
	h := a.header.Clone()
	for _, own := range []string{"Date", "Apigw-Requestid", "Idempotent-Replayed"} {
		h.Del(own)
	}
	return h
}
