package localtest_test

import (
	"context"
	"fmt"

	"github.com/oncekey/oncekey/localtest"
)

// A process dies at a point of its own, and the next one does the work. The test binary is the
// function: its TestMain calls lambda.Start where AWS_LAMBDA_RUNTIME_API is set.
func ExampleStartFunction() {
	var t recorder // a *testing.T
	defer t.end()

	f := localtest.StartFunction(&t, localtest.Bootstrap{})
	f.KillAt("before", 1)
	for range 2 {
		r, err := f.Invoke(context.Background(), localtest.Event{Payload: []byte(`{"Do":"points"}`)})
		switch {
		case err != nil:
			t.Errorf("invoke: %v", err)
		case r.Error != nil:
			fmt.Println("failed:", r.Error.Type)
		default:
			fmt.Printf("answer: %s\n", r.Payload)
		}
	}
	// Output:
	// failed: Runtime.ExitError
	// answer: "went on"
}
