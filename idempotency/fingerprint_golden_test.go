package idempotency

import (
	"encoding/json"
	"math/big"
	"time"
)

type goldenAddress struct {
	Street string   `json:"street"`
	Lines  []string `json:"lines,omitempty"`
}

type goldenBase struct {
	ID      string `json:"id"`
	Version int64  `json:"version,string"`
}

type goldenOrder struct {
	goldenBase
	Amount   big.Int            `json:"amount"`
	Rate     float64            `json:"rate"`
	Placed   time.Time          `json:"placed"`
	Ship     goldenAddress      `json:"ship"`
	Bill     *goldenAddress     `json:"bill"`
	Items    []map[string]any   `json:"items"`
	Scores   map[int]*float32   `json:"scores"`
	Sealed   []byte             `json:"sealed"`
	Extra    json.RawMessage    `json:"extra"`
	Any      any                `json:"any"`
	Internal string             `json:"-"`
	Dropped  map[string]float64 `json:"dropped"`
}

// goldenValues are the typed inputs of testdata/fingerprint/golden.json. Like the file they never change.
func goldenValues() map[string]any {
	half := float32(0.5)
	return map[string]any{
		"empty order": goldenOrder{},
		"order": &goldenOrder{
			goldenBase: goldenBase{"o-17", 1500},
			Amount:     *big.NewInt(9007199254740993),
			Rate:       1e21,
			Placed:     time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC),
			Bill:       &goldenAddress{Lines: []string{}},
			Items:      []map[string]any{{"sku": "<a&b>", "count": 0}, nil},
			Scores:     map[int]*float32{10: &half, 9: nil},
			Sealed:     []byte{0xff, 0},
			Extra:      json.RawMessage(`{"b":null,"a":"\u00e9"}`),
			Any:        goldenAddress{Street: "x\n\"y\""},
			Internal:   "not compared",
		},
		"string":       `{"a":1}`,
		"bytes":        []byte(`{"a":1}`),
		"zero":         0,
		"false":        false,
		"nil slice":    []string(nil),
		"empty struct": struct{}{},
	}
}
