package localtest

import (
	"context"
	"errors"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/localtest/internal/httpevent"
	"github.com/oncekey/oncekey/localtest/internal/runtimeapi"
)

// DoorKind is what stands between HTTP clients and a function.
type DoorKind int

const (
	// RESTAPI is an API Gateway REST API with a Lambda proxy integration (payload format 1.0):
	// events.APIGatewayProxyRequest.
	RESTAPI = DoorKind(httpevent.RESTAPI)
	// HTTPAPI is an API Gateway HTTP API with payload format 2.0: events.APIGatewayV2HTTPRequest.
	HTTPAPI = DoorKind(httpevent.HTTPAPI)
	// FunctionURL is a Lambda function URL in buffered mode: events.LambdaFunctionURLRequest.
	FunctionURL = DoorKind(httpevent.FunctionURL)
	// ALB is an Application Load Balancer whose target group is the function: events.ALBTargetGroupRequest.
	ALB = DoorKind(httpevent.ALB)
)

// String is the constant's name.
func (k DoorKind) String() string { return httpevent.Kind(k).String() }

// FrontDoor says how HTTP requests reach a function. Kind is required; what another kind of door has no setting for
// must be left out.
//
// Events have the types of aws-lambda-go, and are written as these are: a member that is empty may be absent where the
// real door writes null, false or an empty text. isBase64Encoded is absent from an event without base64, and
// queryStringParameters from one without a query. A handler in another language must not take them for granted here.
type FrontDoor struct {
	Kind DoorKind

	// Routes are the ways to the function, as API Gateway writes them: "POST /payments/{id}", "ANY /{proxy+}",
	// "$default". The most specific one that fits a request is in its event; one that none fits is refused. For
	// RESTAPI and HTTPAPI; default: everything ("ANY /" and "ANY /{proxy+}"; "$default").
	Routes []string

	// Stage is the API's stage. As on the API's own domain the URL's path begins with it, unless it is "$default". For
	// RESTAPI and HTTPAPI; default "prod" and "$default".
	Stage string

	// BinaryMediaTypes are the content types whose requests arrive in base64, as "image/png", "image/*" or "*/*", and the
	// accepted types for which a base64 answer is decoded. For RESTAPI; default none. The other doors have it by
	// content type: text/*, JSON, XML and JavaScript are text, and nothing else is, forms included.
	BinaryMediaTypes []string

	// MultiValueHeaders is the target group's setting of that name: events and answers have lists of values in the
	// place of the last one. For ALB.
	MultiValueHeaders bool

	// IntegrationTimeout is how long the API waits for the function, which goes on afterwards. For RESTAPI, default
	// 29 s, and HTTPAPI, default and at most 30 s; at least 50 ms. An ALB and a function URL wait for as long as the
	// function may run.
	IntegrationTimeout time.Duration

	// Authorize is the API's authorizer, or IAM before a function URL: it says who sends a request. An error refuses
	// the request: an error that wraps [ErrForbidden] with 403, any other one with 401; a function URL has 403 for
	// both. It runs concurrently, must leave the request as it is, and returns when the request's context is done. For RESTAPI, HTTPAPI and FunctionURL; nil: everybody
	// may call, and the event names no caller.
	Authorize func(*http.Request) (Identity, error)
}

// ErrForbidden is for [FrontDoor].Authorize: the caller is known, and not allowed in.
var ErrForbidden = errors.New("forbidden")

// Identity is who an authorizer says the caller is, as far as the event of the door has a place for it: a member that
// the door does not pass on fails the test.
type Identity struct {
	// Claims are those of a token: of a JWT authorizer (HTTPAPI: authorizer.jwt.claims), or of a Cognito one (RESTAPI:
	// authorizer.claims).
	Claims map[string]string
	// Scopes are those of the route that the token has. For HTTPAPI.
	Scopes []string
	// PrincipalID is whom a Lambda authorizer found. For RESTAPI.
	PrincipalID string
	// Context is what a Lambda authorizer adds. HTTPAPI: authorizer.lambda, as it is. RESTAPI: the members of authorizer,
	// where numbers and booleans arrive as texts ("7", "true"), and lists, objects and nil cannot be: they fail the test.
	Context map[string]any
	// IAM is who has signed the request. For HTTPAPI, FunctionURL (without CognitoIdentity and PrincipalOrgID), and
	// RESTAPI, where it is in requestContext.identity (without CognitoIdentity.AMR and PrincipalOrgID).
	IAM *events.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription
	// APIKeyID is the id of a usage plan's key. For RESTAPI; the key itself is the header x-api-key.
	APIKeyID string
}

// Handler is a front door of the function: it makes the event of each request, invokes the function and turns its answer
// into that to the client. Settings that cannot be fail the test.
//
// # Requests
//
// Headers, query, path, cookies and body are in the event as the real door delivers them:
//
//	             header names      duplicates            path      query
//	RESTAPI      as net/http has   last, and all         as sent   decoded; last, and all
//	HTTPAPI      lower case        joined by a comma     decoded   decoded, joined; and as sent
//	FunctionURL  lower case        joined by a comma     as sent   decoded, joined; and as sent
//	ALB          lower case        last, or all          as sent   as sent; last, or all
//
// A REST API keeps a header's case as the client wrote it, but net/http has made it canonical before it gets here
// (Idempotency-Key). Headers between two hops are left out; Host and the X-Forwarded and trace headers are added, with
// https as the scheme but for an ALB. The host that the client asked for stands for the API's domain.
//
// An HTTP API decodes the path before it looks for the route: /payments/a%2Fb does not fit "POST /payments/{id}", and
// what follows a %3F is cut off. A REST API decodes each parameter for itself.
//
// Bodies above 10 MB (API Gateway), 6 MB (function URL) or 1 MB (ALB), and events above 6 MB, are refused with 413.
//
// # Answers
//
// An answer that the door cannot read, and a function that fails, is killed or times out, give 502, and 500 at an HTTP
// API. The function's own time-out is one of these; when IntegrationTimeout has passed, a REST API answers 504 and an
// HTTP API 503. HTTPAPI and FunctionURL take what has no statusCode for the body of a 200.
//
// Throttling, streamed answers, CORS, caches, mutual TLS and the reason phrase of an ALB are not simulated.
//
// A client that hangs up does not end the invocation; no answer is waited for. That a process cannot be started, or asks
// for no event, fails the test, and so does a panic, which the client gets as a failure of the function.
func (f *Function) Handler(d FrontDoor) http.Handler {
	f.tb.Helper()
	h, err := f.open(d)
	if err != nil {
		f.tb.Fatalf("localtest: %v", err)
	}
	return h
}

// Listen serves [Function.Handler] on a free port of 127.0.0.1 until the end of the test, and returns the URL in front
// of the paths of the routes: http://127.0.0.1:port, and the stage where there is one. At the end every connection is
// closed, and no request, Authorize included, is still being served afterwards.
func (f *Function) Listen(d FrontDoor) string {
	f.tb.Helper()
	h, err := f.open(d)
	if err != nil {
		f.tb.Fatalf("localtest: %v", err)
	}
	return serveLoopback(f.tb, h) + h.door.Prefix()
}

func (f *Function) open(d FrontDoor) (*frontDoor, error) {
	door, err := httpevent.New(httpevent.Config{
		Kind:               httpevent.Kind(d.Kind),
		Routes:             d.Routes,
		Stage:              d.Stage,
		BinaryMediaTypes:   d.BinaryMediaTypes,
		MultiValueHeaders:  d.MultiValueHeaders,
		IntegrationTimeout: d.IntegrationTimeout,
		Authorize:          d.Authorize != nil,
	})
	return &frontDoor{f: f, door: door, authorize: d.Authorize}, err
}

// frontDoor serves the requests of one door.
type frontDoor struct {
	f         *Function
	door      *httpevent.Door
	authorize func(*http.Request) (Identity, error)
}

// ServeHTTP answers one request.
func (h *frontDoor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := runtimeapi.NewUUID()
	h.door.Write(w, h.serve(r, id), id)
}

func (h *frontDoor) serve(r *http.Request, id string) (answer httpevent.Answer) {
	defer func() {
		if p := recover(); p != nil {
			if isAbort(p) {
				panic(p)
			}
			h.f.errorf("localtest: front door: panic: %v\n%s", p, debug.Stack())
			answer = h.door.Failed()
		}
	}()
	in, refusal := h.door.Read(r, id, time.Now())
	if refusal != nil {
		return *refusal
	}
	var who Identity
	if h.authorize != nil {
		var err error
		if who, err = h.authorize(r); errors.Is(err, ErrForbidden) {
			return h.door.Forbidden()
		} else if err != nil {
			return h.door.Unauthorized()
		}
	}
	payload, refusal, err := h.door.Event(in, httpevent.Identity(who))
	if err != nil {
		h.f.errorf("localtest: front door: Authorize returned an %v", err)
		return h.door.Failed()
	}
	if refusal != nil {
		return *refusal
	}
	return h.invoke(r.Context(), in, runtimeapi.Event{Payload: payload, RequestID: id})
}

var errIntegrationTimeout = errors.New("the integration's time-out has passed")

func (h *frontDoor) invoke(client context.Context, in *httpevent.Request, ev runtimeapi.Event) httpevent.Answer {
	ctx, cancel := context.WithoutCancel(client), func() {} // no door tells the function that its client is gone
	if t := h.door.Timeout(); t > 0 {
		ctx, cancel = context.WithTimeoutCause(ctx, t, errIntegrationTimeout)
	}
	ended := make(chan httpevent.Answer, 1)
	err := h.f.fn.Begin(ctx, ev, func(r runtimeapi.Response, err error) {
		defer cancel()
		ended <- h.answer(in, r, err)
	})
	if err != nil {
		cancel()
		return h.answer(in, runtimeapi.Response{}, err)
	}
	select {
	case a := <-ended:
		return a
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), errIntegrationTimeout) {
			return h.door.TimedOut()
		}
		return <-ended // cancelled after that was sent
	case <-client.Done():
		return h.door.Failed() // nobody reads it
	}
}

// answer is for an invocation that has ended, which may be long after the door has given up: the test hears of its
// failure all the same.
func (h *frontDoor) answer(in *httpevent.Request, r runtimeapi.Response, err error) httpevent.Answer {
	switch {
	case err == nil && r.Error == nil:
		return h.door.Answer(in, r.Payload)
	case errors.Is(err, errIntegrationTimeout):
		return h.door.TimedOut()
	case err != nil && !errors.Is(err, runtimeapi.ErrClosed):
		h.f.errorf("localtest: front door: %v", err)
	}
	return h.door.Failed()
}
