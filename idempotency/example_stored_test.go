package idempotency_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// exampleKey stands for 32 bytes that a secret store has given.
func exampleKey(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

// Answers are sealed with the first key, and opened with all of them.
func ExampleNewSealer() {
	sealer, err := idempotency.NewSealer(
		idempotency.SealingKey{ID: "2026-02", Key: exampleKey(2)},
		idempotency.SealingKey{ID: "2026-01", Key: exampleKey(1)}, // until the last answer that it has sealed is over
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	r := exampleRunnerWith(idempotency.Config{Codec: sealer})
	req := idempotency.Request{Operation: "pay", Scope: "customer 7", Key: "5f1c", Input: "19.90 EUR"}
	for range 2 {
		res, err := idempotency.Do(context.Background(), r, req, func(context.Context) (string, error) { return "card 4929", nil })
		fmt.Println(res.Value, res.Replayed, err)
	}
	// Output:
	// card 4929 false <nil>
	// card 4929 true <nil>
}

// A key that cannot be right is refused, and not shown.
func ExampleSealingKey() {
	_, err := idempotency.NewSealer(idempotency.SealingKey{ID: "2026-01", Key: []byte("a password")})
	fmt.Println(err)
	// Output: idempotency: NewSealer's keys[0].Key is 10 bytes long: 32 bytes are needed
}

// Three deployments change the key: the old one seals and the new one opens, then the other way round, and at last the old one
// goes. What was sealed with it is then lost.
func ExampleSealer() {
	before, after := idempotency.SealingKey{ID: "2026-01", Key: exampleKey(1)}, idempotency.SealingKey{ID: "2026-02", Key: exampleKey(2)}
	db := localtest.Start(example{})
	table := db.CreateTable(example{}, idempotency.Table("idempotency", idempotency.Schema{}))
	req := idempotency.Request{Operation: "pay", Scope: "customer 7", Key: "5f1c", Input: "19.90 EUR"}
	for _, keys := range [][]idempotency.SealingKey{{before}, {before, after}, {after, before}, {after}} {
		sealer, err := idempotency.NewSealer(keys...)
		if err != nil {
			fmt.Println(err)
			return
		}
		r, err := idempotency.New(db.Client(), idempotency.Config{Table: table, Codec: sealer})
		if err != nil {
			fmt.Println(err)
			return
		}
		res, err := idempotency.Do(context.Background(), r, req, func(context.Context) (string, error) { return "paid", nil })
		fmt.Printf("%q %t\n", res.Value, errors.Is(err, idempotency.ErrBadRecord))
	}
	// Output:
	// "paid" false
	// "paid" false
	// "paid" false
	// "" true
}

// The Runner calls Seal, and so can a program for what it keeps elsewhere.
func ExampleSealer_Seal() {
	sealer, err := idempotency.NewSealer(idempotency.SealingKey{ID: "2026-01", Key: exampleKey(1)})
	if err != nil {
		fmt.Println(err)
		return
	}
	sealed, err := sealer.Seal(context.Background(), "order 17", []byte("card 4929"))
	fmt.Println(len("card 4929"), len(sealed), bytes.Contains(sealed, []byte("4929")), err)
	// Output: 9 62 false <nil>
}

// What was sealed under one name does not open under another.
func ExampleSealer_Open() {
	sealer, err := idempotency.NewSealer(idempotency.SealingKey{ID: "2026-01", Key: exampleKey(1)})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	sealed, err := sealer.Seal(ctx, "order 17", []byte("card 4929"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range []string{"order 17", "order 18"} {
		data, err := sealer.Open(ctx, name, sealed)
		fmt.Printf("%q %t\n", data, err == nil)
	}
	// Output:
	// "card 4929" true
	// "" false
}

// vault is a Codec whose key is a service's, which encrypts and decrypts on request.
type vault struct {
	encrypt, decrypt func(ctx context.Context, context map[string]string, data []byte) ([]byte, error)
}

func (v vault) Seal(ctx context.Context, name string, data []byte) ([]byte, error) {
	return v.encrypt(ctx, map[string]string{"record": name}, data)
}

func (v vault) Open(ctx context.Context, name string, sealed []byte) ([]byte, error) {
	return v.decrypt(ctx, map[string]string{"record": name}, sealed)
}

// A service that keeps the key to itself seals the answers. If it is away when one is to be sealed, the work is done and its
// answer not stored; if it is away when one is to be opened, the retry is refused, and its handler does not run.
func ExampleCodec() {
	var _ idempotency.Codec = vault{}
	service, err := idempotency.NewSealer(idempotency.SealingKey{ID: "the service's own", Key: exampleKey(7)})
	if err != nil {
		fmt.Println(err)
		return
	}
	away := false
	r := exampleRunnerWith(idempotency.Config{Codec: vault{
		encrypt: func(ctx context.Context, context map[string]string, data []byte) ([]byte, error) {
			return service.Seal(ctx, context["record"], data)
		},
		decrypt: func(ctx context.Context, context map[string]string, data []byte) ([]byte, error) {
			if away {
				return nil, errors.New("the service is away")
			}
			return service.Open(ctx, context["record"], data)
		},
	}})
	req := idempotency.Request{Operation: "pay", Scope: "customer 7", Key: "5f1c", Input: "19.90 EUR"}
	for range 3 {
		res, err := idempotency.Do(context.Background(), r, req, func(context.Context) (string, error) { return "paid", nil })
		fmt.Printf("%q %t\n", res.Value, errors.Is(err, idempotency.ErrBadRecord))
		away = !away && res.Replayed
	}
	// Output:
	// "paid" false
	// "paid" false
	// "" true
}

// The report is in a bucket anyway: the record has its name, and a retry reads it there.
func ExampleStoreRef() {
	bucket := map[string]string{} // stands for S3
	r := exampleRunner()
	req := idempotency.Request{
		Operation: "report", Scope: "customer 7", Key: "5f1c", Input: "2026-01",
		Rebuild: func(_ context.Context, ref string) (any, error) { return bucket[ref], nil },
	}
	for range 2 {
		res, err := idempotency.Do(context.Background(), r, req, func(ctx context.Context) (string, error) {
			report := "all of January"
			bucket["reports/2026-01"] = report
			return report, idempotency.StoreRef(ctx, "reports/2026-01")
		})
		fmt.Println(res.Value, res.Replayed, err)
	}
	// Output:
	// all of January false <nil>
	// all of January true <nil>
}

// A client that retries at once is answered out of this process's memory.
func ExampleConfig_cache() {
	r := exampleRunnerWith(idempotency.Config{
		Cache: 1000, CacheMaxAge: time.Minute,
		Observe: func(_ context.Context, e idempotency.Event) { fmt.Println(e.Kind) },
	})
	req := idempotency.Request{Operation: "pay", Scope: "customer 7", Key: "5f1c", Input: "19.90 EUR"}
	for range 2 {
		_, _ = idempotency.Do(context.Background(), r, req, func(context.Context) (string, error) { return "paid", nil })
	}
	// Output:
	// acquired
	// completed
	// cached
}
