// Package httpclient is the client's half of the Idempotency-Key contract: an [http.RoundTripper] that gives each
// logical request a key and asks again with the same key, until there is an answer or it is no use.
//
//	retry, err := httpclient.New(httpclient.Config{})
//	client := &http.Client{Transport: retry}
//	resp, err := client.Post(url, "application/json", bytes.NewReader(payment))
//
// It knows no more of the server than the contract: the header of the IETF draft
// (draft-ietf-httpapi-idempotency-key-header), status codes, Retry-After, and the codes of problem documents
// (RFC 9457) by which this module's own servers say whether asking again can help.
//
// # One key per logical request
//
// A request that has an Idempotency-Key keeps it. Otherwise the key is the one of the context ([WithKey]), and if
// there is none, a fresh one. The fresh one is lost with the process: a caller that would ask again after its own
// crash, or lets a person press the button again, makes a key with [NewKey], stores it with the order, and passes it
// by the context every time. A key made anew for the second try is a second payment.
//
// # What is asked again
//
//	answer                                                      asked again
//	------                                                      -----------
//	no answer: connection refused, reset, broken off            yes
//	408, 425, 429, 502, 503, 504                                yes
//	409 "operation_in_progress"; 409 with Retry-After           yes
//	500, unless its code is one of those below                  yes
//	"outcome_…", "idempotency_key_…",
//	"idempotency_misconfigured"                                 no
//	a replay (Idempotent-Replayed: true), whatever its status   no
//	any other answer                                            no: it is the answer
//	a certificate that is not trusted, the context's end        no
//
// Between two tries it waits as long as Retry-After says, and otherwise an exponentially growing time with full
// jitter. It gives up, and returns the last answer as it came, when the next try would start after the budget or after
// the context's deadline.
package httpclient
