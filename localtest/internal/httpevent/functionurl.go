package httpevent

import "net/http"

// functionURL is a Lambda function URL in buffered mode. It knows no 401.
func functionURL() style {
	forbidden := message(http.StatusForbidden, "Message", "Forbidden")
	tooLarge := message(http.StatusRequestEntityTooLarge, "Message", "Request must be smaller than 6291456 bytes for the InvokeFunction operation")
	return style{
		maxBody:     maxEvent,
		https:       true,
		requestID:   "X-Amzn-Requestid",
		contentType: "application/json",
		identity:    []string{"IAM"},
		event:       urlEvent,
		answer:      answer2,

		tooLarge:     tooLarge,
		eventTooLong: tooLarge,
		unauthorized: forbidden,
		forbidden:    forbidden,
		failed:       document(http.StatusBadGateway, "text/plain", "Internal Server Error"),
	}
}

// urlEvent has the type of the HTTP API's, with members beyond those of this door's own.
func urlEvent(_ *Door, r *Request, id Identity) any {
	ev := payload2(r, id, r.path)
	ev.RouteKey = defaultRoute
	return ev
}
