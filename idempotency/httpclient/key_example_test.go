package httpclient_test

import (
	"fmt"

	"github.com/oncekey/oncekey/idempotency/httpclient"
)

// A key is made once, and stored with the order before the first try.
func ExampleNewKey() {
	key := httpclient.NewKey()
	fmt.Println(len(key), "characters, version", key[14:15], "of UUIDs, and another each time:", key != httpclient.NewKey())
	// Output: 36 characters, version 7 of UUIDs, and another each time: true
}
