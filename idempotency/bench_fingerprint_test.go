package idempotency

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"testing"
	"time"
)

// benchJSON is an order of about size bytes, with its members in the order that people write them.
func benchJSON(size int) json.RawMessage {
	var b bytes.Buffer
	b.WriteString(`{"id": "8c1f4c1e-6f0d-4d0e-9b6a-0f2b7f6f2c11", "customer": {"name": "Zoë Example", "email": "zoe@example.com"}, "items": [`)
	for i := 0; b.Len() < size-80; i++ {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, `{"sku": "A-%05d", "price": %d.95, "quantity": %d, "gift": false}`, i, i%1000, i%7)
	}
	b.WriteString(`], "currency": "EUR"}`)
	return b.Bytes()
}

type benchOrder struct {
	ID       string            `json:"id"`
	Customer benchCustomer     `json:"customer"`
	Items    []benchItem       `json:"items"`
	Labels   map[string]string `json:"labels"`
	Placed   time.Time         `json:"placed"`
	Currency string            `json:"currency"`
	Note     *string           `json:"note"`
}

type benchCustomer struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

type benchItem struct {
	SKU      string  `json:"sku"`
	Price    float64 `json:"price"`
	Quantity int     `json:"quantity"`
	Gift     bool    `json:"gift"`
}

// BenchmarkFingerprint has beside it what one writes by hand to have JSON compared whatever the order of its members, with
// numbers as they are: decoded into maps, encoded again, and hashed. Of a struct that is its JSON's hash, which changes with
// every field that a deploy adds.
func BenchmarkFingerprint(b *testing.B) {
	var r Runner
	for _, kb := range []int{1, 10, 100} {
		doc := benchJSON(kb << 10)
		order := benchOrder{Placed: time.Unix(1, 0), Labels: map[string]string{"channel": "web", "campaign": "x"}}
		if err := json.Unmarshal(doc, &order); err != nil {
			b.Fatal(err)
		}
		for _, row := range []struct {
			name  string
			input any
			hand  func() ([]byte, error)
		}{
			{"JSON", doc, func() ([]byte, error) { return sorted(doc) }},
			{"struct", order, func() ([]byte, error) { return json.Marshal(order) }},
		} {
			for _, side := range []struct {
				by string
				do func() error
			}{
				{"oncekey", func() error {
					_, err := r.fingerprint(row.input)
					return err
				}},
				{"hand", func() error {
					text, err := row.hand()
					sum := sha256.Sum256(text)
					_ = fingerprintPrefix + hex.EncodeToString(sum[:])
					return err
				}},
			} {
				b.Run(fmt.Sprintf("%s/%dKB/by=%s", row.name, kb, side.by), func(b *testing.B) {
					b.ReportAllocs()
					b.SetBytes(int64(len(doc)))
					for b.Loop() {
						if err := side.do(); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

func sorted(doc []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}
