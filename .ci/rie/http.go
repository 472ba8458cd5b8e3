package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// httpEvent is a POST as an HTTP API with a JWT authorizer sends it, in payload format 2.0.
func httpEvent(key, body string) string {
	const payment = `{
		"version": "2.0",
		"routeKey": "POST /payments",
		"rawPath": "/payments",
		"rawQueryString": "",
		"headers": {"content-type": "application/json"%s},
		"requestContext": {
			"authorizer": {"jwt": {"claims": {"iss": "https://issuer.example.com", "sub": "alice"}, "scopes": null}},
			"http": {"method": "POST", "path": "/payments", "protocol": "HTTP/1.1", "sourceIp": "192.0.2.1"},
			"routeKey": "POST /payments",
			"stage": "$default"
		},
		"body": %q,
		"isBase64Encoded": false
	}`
	if key != "" {
		key = fmt.Sprintf(`, "idempotency-key": %q`, key)
	}
	return fmt.Sprintf(payment, key, body)
}

const httpOrder = `{"order":"22","amount":4990,"currency":"EUR","card":"card_visa"}`

// httpChecks come after the others, whose charges count.
var httpChecks = []check{
	{
		what: "behind an HTTP API a payment gives 201 and a receipt", restarted: true, frontDoor: "http-api",
		event: httpEvent("k1", httpOrder), status: 201, says: httpReceipt, requests: 1, charges: 1,
	},
	{
		what:  "  a retry gives the same one, marked as a replay",
		event: httpEvent("k1", httpOrder), status: 201, says: httpReceipt, replayed: true,
	},
	{
		what:  "  the same key with another amount is refused with 422",
		event: httpEvent("k1", strings.Replace(httpOrder, "4990", "1", 1)), status: 422, says: `"code":"idempotency_key_reused"`,
	},
	{
		what:  "  no key is refused with 400",
		event: httpEvent("", httpOrder), status: 400, says: `"code":"idempotency_key_missing"`,
	},
	{
		what: "  after a restart a retry still gets the receipt", restarted: true, frontDoor: "http-api",
		event: httpEvent("k1", httpOrder), status: 201, says: httpReceipt, replayed: true,
	},
}

// The third charge: the first one of the other checks, the one that nobody heard of, and this.
const httpReceipt = `{"charge":"ch_3","order":"22","amount":4990,"currency":"EUR","attempt":1}`

// judgeHTTP says what is wrong with an answer to the front door, "" for nothing.
func (c check) judgeHTTP(answer []byte) string {
	var got struct {
		StatusCode int
		Headers    map[string]string
		Body       string
	}
	err := json.Unmarshal(answer, &got)
	replayed := got.Headers["Idempotent-Replayed"] == "true"
	if err == nil && got.StatusCode == c.status && strings.Contains(got.Body, c.says) && replayed == c.replayed {
		return ""
	}
	return fmt.Sprintf("answer %s\n      want   %d with %s, replayed: %t", answer, c.status, c.says, c.replayed)
}
