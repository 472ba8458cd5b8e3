package httpevent

import "net/http"

// httpAPI is an API Gateway HTTP API with payload format 2.0. Its errors are 500 and 503, where a REST API's are 502 and
// 504.
func httpAPI() style {
	tooLarge := message(http.StatusRequestEntityTooLarge, "message", "Request Entity Too Large")
	return style{
		maxBody:     gatewayMaxBody,
		https:       true,
		requestID:   "Apigw-Requestid",
		contentType: "text/plain; charset=utf-8",
		identity:    []string{"Claims", "Scopes", "Context", "IAM", "IAM.CognitoIdentity", "IAM.CognitoIdentity.AMR", "IAM.PrincipalOrgID"},
		decodesPath: true,
		event:       httpEvent,
		answer:      answer2,

		tooLarge:     tooLarge,
		eventTooLong: tooLarge,
		noStage:      message(http.StatusNotFound, "message", "Not Found"),
		noRoute:      message(http.StatusNotFound, "message", "Not Found"),
		unauthorized: message(http.StatusUnauthorized, "message", "Unauthorized"),
		forbidden:    message(http.StatusForbidden, "message", "Forbidden"),
		failed:       message(http.StatusInternalServerError, "message", "Internal Server Error"),
		timedOut:     message(http.StatusServiceUnavailable, "message", "Service Unavailable"),
	}
}

func httpEvent(d *Door, r *Request, id Identity) any {
	ev := payload2(r, id, decodedPath(r.http)) // the stage is part of the path
	ev.RouteKey, ev.RequestContext.RouteKey = r.route.key, r.route.key
	ev.RequestContext.Stage = d.cfg.Stage
	ev.PathParameters = r.params
	delete(ev.Headers, "cookie") // it is in Cookies, and only there
	return ev
}
