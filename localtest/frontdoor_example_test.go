package localtest_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/oncekey/oncekey/localtest"
)

// An HTTP client, as curl is one, and a function that knows the events of an HTTP API only. Whoever has a token is the
// caller that it names.
func ExampleFunction_Listen() {
	var t recorder // a *testing.T
	defer t.end()

	f := localtest.StartFunction(&t, localtest.Bootstrap{Env: []string{"EVENTS=HTTPAPI"}})
	url := f.Listen(localtest.FrontDoor{
		Kind:   localtest.HTTPAPI,
		Routes: []string{"POST /payments/{id}"},
		Authorize: func(r *http.Request) (localtest.Identity, error) {
			sub, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
			if !ok {
				return localtest.Identity{}, fmt.Errorf("no token")
			}
			return localtest.Identity{Claims: map[string]string{"sub": sub}}, nil
		},
	})

	for _, token := range []string{"Bearer alice", ""} {
		req, _ := http.NewRequestWithContext(context.Background(), http.MethodPost, url+"/payments/7", strings.NewReader(`{"amount":5}`))
		req.Header.Set("Authorization", token)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", "k1")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatalf("%v", err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		seen, _, _ := strings.Cut(string(body), `,"Body"`)
		fmt.Println(resp.Status, seen)
	}
	// Output:
	// 201 Created {"Key":"k1","Caller":"alice","Route":"POST /payments/{id}","Path":"/payments/7"
	// 401 Unauthorized {"message":"Unauthorized"}
}
