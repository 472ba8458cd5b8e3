package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/oncekey/oncekey/localtest"
)

// got is what the caller of one request got: one class, or one for each message of a batch; and the answer, where it is one.
type got struct {
	classes []class
	answer  string
	kinds   map[string]int // that were counted until then
}

// text is the order as an event, or the body of one.
func (o order) text() string {
	text, _ := json.Marshal(o) // has nothing that cannot be encoded
	return string(text)
}

// ask sends the request to the function by the path's way in. received is how often a queue has delivered it.
func (l *lane) ask(t *testing.T, fn *localtest.Function, orders []order, received int) (g got) {
	t.Helper()
	switch l.name {
	case "http":
		g = askHTTP(t, fn, orders[0])
	case "sqs":
		g = l.askSQS(t, fn, orders, received)
	default:
		g = askTyped(t, fn, orders[0])
	}
	g.kinds = l.takeKinds()
	return g.told()
}

func askTyped(t *testing.T, fn *localtest.Function, o order) got {
	t.Helper()
	r, err := fn.Invoke(t.Context(), localtest.Event{Payload: []byte(o.text())})
	if err != nil {
		t.Error(err)
		return got{classes: []class{unexpected}}
	}
	if r.Error == nil {
		return got{classes: []class{answered}, answer: string(r.Payload)} // or another's outcome: the metrics tell
	}
	c, ok := classOf(func(s seen) bool { return s.errorType == r.Error.Type })
	if !ok {
		t.Errorf("the function has failed: %v", r.Error)
		c = unexpected
	}
	return got{classes: []class{c}}
}

func askHTTP(t *testing.T, fn *localtest.Function, o order) got {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/payments", strings.NewReader(o.text()))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", o.ID)
	w := httptest.NewRecorder()
	fn.Handler(localtest.FrontDoor{Kind: localtest.HTTPAPI}).ServeHTTP(w, req)
	var problem struct {
		Code string `json:"code"`
	}
	_ = json.Unmarshal(w.Body.Bytes(), &problem) // of an answer: none
	c, ok := classOf(func(s seen) bool { return s.http == strings.TrimSpace(fmt.Sprint(w.Code, " ", problem.Code)) })
	switch {
	case !ok:
		t.Errorf("the answer is %d %s", w.Code, w.Body)
		c = unexpected
	case c == answered && w.Header().Get("Idempotent-Replayed") != "":
		c = replayed // or overtaken: the metrics tell
	}
	g := got{classes: []class{c}}
	if c.isAnswer() {
		g.answer = w.Body.String()
	}
	return g
}

func (l *lane) askSQS(t *testing.T, fn *localtest.Function, orders []order, received int) got {
	t.Helper()
	var e events.SQSEvent
	for _, o := range orders {
		e.Records = append(e.Records, events.SQSMessage{
			MessageId: o.ID, Body: o.text(), EventSource: "aws:sqs", EventSourceARN: "arn:aws:sqs:us-east-1:000000000000:orders",
			Attributes: map[string]string{"ApproximateReceiveCount": fmt.Sprint(received)},
		})
	}
	var g got
	out, err := fn.Consume(t.Context(), e)
	for _, o := range orders {
		text := l.takeFailed(o.ID)
		c := unexpected
		switch died, _ := errors.AsType[*localtest.FunctionError](err); {
		case died != nil && died.Type == "Runtime.ExitError":
			c = gone
		case err != nil:
			t.Error(err)
		case comesBack(out, o.ID) != (text != ""):
		case text == "":
			c = answered // or another's outcome: a queue hears no more than that
		default:
			if known, ok := classOf(func(s seen) bool { return s.sentinel != nil && strings.HasPrefix(text, s.sentinel.Error()) }); ok {
				c = known
			}
		}
		if c == unexpected {
			t.Errorf("message %s has failed: %s", o.ID, text)
		}
		g.classes = append(g.classes, c)
	}
	return g
}

func comesBack(out events.SQSEventResponse, id string) bool {
	for _, f := range out.BatchItemFailures {
		if f.ItemIdentifier == id {
			return true
		}
	}
	return false
}

// told makes the class more exact by what the function has counted: whose run an answer is of.
func (g got) told() got {
	if len(g.classes) == 1 && g.classes[0].isAnswer() {
		switch {
		case g.kinds["LeaseLost"] > 0:
			g.classes[0] = overtaken
		case g.kinds["Replayed"] > 0:
			g.classes[0] = replayed
		}
	}
	return g
}
