package localtest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/oncekey/oncekey/localtest"
)

// A worker behind a queue, in processes of its own. What it fails with goes to the dead letters, and from there into the queue
// again, under a new message id.
func ExampleFunction_Consume() {
	var t recorder // a *testing.T
	defer t.end()

	worker := localtest.StartFunction(&t, localtest.Bootstrap{Env: []string{"EVENTS=SQS"}}) // it fails twice with each message
	q := localtest.NewQueue("orders")
	q.MaxReceives = 2
	id := q.Send(localtest.Message{Body: "order 1"})
	for redriven := false; q.Len() > 0; {
		d, err := q.Deliver(context.Background(), 10, worker.Consume)
		fmt.Println("deleted", len(d.Deleted), "dead", len(q.Dead()), err)
		if len(q.Dead()) > 0 && !redriven {
			redriven, q.MaxReceives = true, 9
			fmt.Println("redriven under another id:", q.Redrive()[0] != id)
		}
	}
	// Output:
	// deleted 0 dead 0 <nil>
	// deleted 0 dead 1 <nil>
	// redriven under another id: true
	// deleted 0 dead 0 <nil>
	// deleted 0 dead 0 <nil>
	// deleted 1 dead 0 <nil>
}

// A sandbox that Lambda freezes between two invocations goes on where it stood; one that is killed is followed by another.
func ExampleFunction_Freeze() {
	var t recorder // a *testing.T
	defer t.end()

	f := localtest.StartFunction(&t, localtest.Bootstrap{})
	invoke := func() {
		r, err := f.Invoke(context.Background(), localtest.Event{Payload: []byte(`{"Do":"echo","Value":"here"}`)})
		fmt.Printf("%s %v\n", r.Payload, err)
	}
	invoke()
	f.Freeze()
	f.Thaw()
	invoke()
	f.Kill()
	invoke()
	// Output:
	// "here" <nil>
	// "here" <nil>
	// "here" <nil>
}

// An error that the handler has returned, as Lambda tells of it.
func ExampleFunctionError() {
	var t recorder // a *testing.T
	defer t.end()

	f := localtest.StartFunction(&t, localtest.Bootstrap{})
	r, err := f.Invoke(context.Background(), localtest.Event{Payload: []byte(`{"Do":"decline","Value":"stolen"}`)})
	fmt.Println(err)
	if failed := r.Error; failed != nil {
		fmt.Println(failed.Type, "/", failed.Message)
	}
	// Output:
	// <nil>
	// cardDeclinedError / card declined: stolen
}

// A front door within the test's own handler: no port is needed.
func ExampleFunction_Handler() {
	var t recorder // a *testing.T
	defer t.end()

	f := localtest.StartFunction(&t, localtest.Bootstrap{Env: []string{"EVENTS=ALB"}})
	door := f.Handler(localtest.FrontDoor{Kind: localtest.ALB})
	w := httptest.NewRecorder()
	door.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/payments", strings.NewReader(`{"amount":5}`)))
	fmt.Println(w.Code)
	// Output: 201
}
