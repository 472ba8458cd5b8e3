package idempotency

import (
	"bytes"
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

func BenchmarkFingerprint(b *testing.B) {
	type row struct {
		name  string
		size  int
		input any
	}
	var inputs []row
	for _, kb := range []int{1, 10, 100} {
		doc := benchJSON(kb << 10)
		order := benchOrder{Placed: time.Unix(1, 0), Labels: map[string]string{"channel": "web", "campaign": "x"}}
		if err := json.Unmarshal(doc, &order); err != nil {
			b.Fatal(err)
		}
		inputs = append(inputs, row{fmt.Sprintf("JSON/%dKB", kb), len(doc), doc}, row{fmt.Sprintf("struct/%dKB", kb), len(doc), order})
	}
	for _, in := range inputs {
		b.Run(in.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(in.size))
			for b.Loop() {
				if _, err := fingerprint(in.input); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
