package httpclient_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"

	"github.com/oncekey/oncekey/idempotency/httpclient"
)

// A payment whose key is stored with the order before the first try: after a crash, or when the button is pressed
// again, the same key goes out. The server here breaks off the first try.
func Example() {
	var tries atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		try := tries.Add(1)
		fmt.Println("try", try, "with key", r.Header.Get("Idempotency-Key"))
		if try == 1 {
			panic(http.ErrAbortHandler) // the client gets no answer
		}
		w.WriteHeader(http.StatusCreated)
	}))
	defer server.Close()

	retry, err := httpclient.New(httpclient.Config{Base: server.Client().Transport})
	if err != nil {
		fmt.Println(err)
		return
	}
	client := &http.Client{Transport: retry}

	order := struct{ ID, Key string }{"7", "order-7-payment"} // from the database; the key made by httpclient.NewKey

	ctx := httpclient.WithKey(context.Background(), order.Key)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/charges", strings.NewReader(`{"order":"7","amount":1200}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := client.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	fmt.Println(resp.Status)

	// Output:
	// try 1 with key "order-7-payment"
	// try 2 with key "order-7-payment"
	// 201 Created
}
