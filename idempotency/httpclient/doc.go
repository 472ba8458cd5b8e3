// Package httpclient is the client's half of the Idempotency-Key contract: an [http.RoundTripper] that gives each
// logical request a key and asks again with the same key, until there is an answer or it is no use.
//
//	retry, err := httpclient.New(httpclient.Config{})
//	client := &http.Client{Transport: retry}
//	resp, err := client.Post(url, "application/json", bytes.NewReader(payment))
//
// It knows no more of the server than the contract: the header of the IETF draft, status codes, Retry-After, and the
// codes of problem documents (RFC 9457) by which this module's own servers say whether asking again can help. The
// draft is draft-ietf-httpapi-idempotency-key-header; the text that was read is -06, and -07 of October 2025 is the
// newest that was seen.
//
// # One key per logical request
//
// A request that has an Idempotency-Key, in whatever spelling of the name, goes out with what it has: the server says
// what is wrong with it. Otherwise the key is the one of the context ([WithKey]), and if there is none, a fresh one. The
// fresh one is lost with the process: a caller that would ask again after its own crash, or lets a person press the
// button again, makes a key with [NewKey], stores it with the order, and passes it by the context every time. A key
// made anew for the second try is a second payment.
//
// # What is asked again
//
//	answer                                                      asked again
//	------                                                      -----------
//	no answer: connection refused, reset, broken off            yes
//	408, 425, 429, 500, 502, 503, 504                           yes
//	409 "operation_in_progress"                                 yes
//	409 with Retry-After                                        yes
//	409 without code, to a try that is not the first            yes
//	any of these whose code is "outcome_…", "idempotency_key_…",
//	"idempotency_misconfigured"                                 no
//	a replay (Idempotent-Replayed: true), whatever its status   no
//	any other answer                                            no: it is the answer
//	a certificate that is not trusted, no TLS at the other end  no
//	a request that cannot be sent: a header, a method           no: it is not sent at all
//	the context's end                                           no
//
// The draft wants 409 for a request whose first one is still at work, to be tried again as it is, and gives it no mark.
// But 409 is also what an API says to a conflict of its own, which no waiting mends. So one without a code (this
// module's servers send one, others need not) is taken for the draft's if the server says when to come back, or if an
// earlier try may be what it speaks of; the first try's is the API's answer.
//
// # How long
//
// Between two tries it waits as long as Retry-After says, and on top of it a random part of an interval that doubles
// from 100 milliseconds to 10 seconds, so that clients that failed together do not come back together.
//
// It gives up when the next try would start after the budget, which counts from the start of the first try, or after
// the context's deadline; a redirect goes on with what is left of both. Then the last answer comes back as it came, and
// without one the last error: a caller whose time runs out still sees what the server said. Nothing is tried again
// after the window, be the process frozen in between.
//
// A context that ends while a try is out is the Base's to answer. One that ends during a pause gives an error, since
// whoever cancels wants no answer any more: it is the context's own (errors.Is with context.Canceled or
// context.DeadlineExceeded) and its cause, and says what came of the last try.
//
// # Bodies
//
// A body must be one that can be sent again ([ErrBody]). Each try has one of its own: the Base may still read, and
// closes, that of a try whose answer came early. Of an answer that is not the last, up to 4 KB are read within the
// pause, so that its connection can be used again, and it is closed.
package httpclient
