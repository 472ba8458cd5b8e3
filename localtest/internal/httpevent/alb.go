package httpevent

import (
	"fmt"
	"net/http"

	"github.com/aws/aws-lambda-go/events"
)

const targetGroup = "arn:aws:elasticloadbalancing:" + region + ":" + account + ":targetgroup/function/0000000000000000"

// alb is an Application Load Balancer with the function as its target group. It waits as long as the function may run,
// and has no say in who calls.
func alb() style {
	return style{
		maxBody:     albMaxBody,
		contentType: "application/octet-stream",
		event:       albEvent,
		answer:      albAnswer,

		tooLarge:     page(http.StatusRequestEntityTooLarge),
		eventTooLong: page(http.StatusRequestEntityTooLarge),
		failed:       page(http.StatusBadGateway),
	}
}

func page(status int) Answer {
	title := fmt.Sprintf("%d %s", status, http.StatusText(status))
	return document(status, "text/html", fmt.Sprintf(
		"<html>\r\n<head><title>%s</title></head>\r\n<body>\r\n<center><h1>%s</h1></center>\r\n</body>\r\n</html>\r\n", title, title))
}

// albEvent: neither path nor query are decoded.
func albEvent(d *Door, r *Request, _ Identity) any {
	headers, query := lower(r.headers()), r.query(false)
	h := r.http.Header
	body, isBase64 := r.text(h.Get("Content-Encoding") != "" || !isText(h.Get("Content-Type")))
	ev := events.ALBTargetGroupRequest{
		HTTPMethod:      r.http.Method,
		Path:            r.path,
		RequestContext:  events.ALBTargetGroupRequestContext{ELB: events.ELBContext{TargetGroupArn: targetGroup}},
		IsBase64Encoded: isBase64,
		Body:            body,
	}
	if d.cfg.MultiValueHeaders {
		ev.MultiValueHeaders, ev.MultiValueQueryStringParameters = headers, query
	} else {
		ev.Headers, ev.QueryStringParameters = last(headers), last(query)
	}
	return ev
}

// albAnswer takes the headers of the form that the target group is set to, and overlooks the other. The
// statusDescription does not arrive: net/http has its own.
func albAnswer(d *Door, _ *Request, payload []byte) Answer {
	out, err := parse(members(payload))
	if err != nil || len(payload) > albMaxResponse {
		return d.failed
	}
	body, err := out.bytes()
	if err != nil {
		return d.failed
	}
	if d.cfg.MultiValueHeaders {
		return d.finish(out.status, multiHeaders(out.multi), body)
	}
	return d.finish(out.status, singleHeaders(out.headers), body)
}
