package idempotency_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// An answer is stored compressed where that saves a write unit, and else as text that a person can read.
func TestDeflate_WhereItSaves(t *testing.T) {
	t.Parallel()
	localtest.OnlyEmbedded(t, "the bill")
	line := `{"id":"li_0001","description":"a line of an invoice","amount":1990},`
	for name, tt := range map[string]struct {
		value    string
		encoding string
		units    float64 // of the write that completes
		replay   float64 // of the failed condition of a replay
	}{
		"fits into one unit":    {strings.Repeat("x", 500), "", 1, 1},
		"two units, alike":      {strings.Repeat("x", 600), "deflate", 1, 1},
		"two units, not alike":  {noise(900), "", 2, 2},
		"five units, not alike": {noise(4 << 10), "deflate", 4, 4},
		"JSON of 10 KB":         {strings.Repeat(line, 150), "deflate", 1, 1},
		"JSON of 390 KB":        {strings.Repeat(line, 5700), "deflate", 4, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req := newFixture(t), request("k")
				w := f.worker(t, func(s *settings) { s.Inline = 392 << 10 })
				w.must(localtest.Invocation(t, 3*time.Second), t, req, returns(tt.value))
				it := f.record(t, req)
				if _, readable := it["data"].(*types.AttributeValueMemberS); it.text("encoding") != tt.encoding || readable != (tt.encoding == "") {
					t.Errorf("stored as %q, a %T", it.text("encoding"), it["data"])
				}
				w.must(localtest.Invocation(t, 3*time.Second), t, req, returns("twice"))
				calls := f.db.Calls("")
				if done, again := calls[1], calls[len(calls)-1]; done.WriteUnits != tt.units || again.WriteUnits != tt.replay {
					t.Errorf("the outcome took %v units and a replay %v, want %v and %v", done.WriteUnits, again.WriteUnits, tt.units, tt.replay)
				}
			})
		})
	}
}

// C31, C33: whatever a handler returns comes back as the first caller got it, byte for byte, by whatever way it is stored.
func TestProperty_StoredAndReplayed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	type answer struct {
		Text string
		Data []byte
		Raw  json.RawMessage
	}
	workers := map[string]*worker{
		"plain": f.worker(t), "all in the record": f.worker(t, func(s *settings) { s.Inline = 392 << 10 }),
		"all beside it": f.worker(t, func(s *settings) { s.Inline = 1 }), "sealed": f.worker(t, codec(newSealer(t, "k"))),
	}
	names := slices.Sorted(maps.Keys(workers))
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		times := rapid.IntRange(1, 100).Draw(rt, "times")
		value := answer{
			Text: strings.Repeat(rapid.String().Draw(rt, "text"), times),
			Data: []byte(strings.Repeat(string(rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(rt, "data")), times)),
			Raw:  json.RawMessage(rapid.SampledFrom([]string{`null`, `"\u2028<&>"`, "\"\xff\"", `[1.0,1e2]`}).Draw(rt, "raw")),
		}
		name := rapid.SampledFrom(names).Draw(rt, "worker")
		var got [2]string
		for i := range got {
			res, err := idempotency.Do(t.Context(), workers[name].runner, request(fmt.Sprint(name, n)), func(context.Context) (answer, error) { return value, nil })
			if err != nil || res.Replayed != (i == 1) {
				rt.Fatalf("replayed %t, %v", res.Replayed, err)
			}
			got[i] = fmt.Sprintf("%q %q %q", res.Value.Text, res.Value.Data, res.Value.Raw)
		}
		if got[0] != got[1] || !strings.Contains(got[0], fmt.Sprintf("%q", value.Data)) {
			rt.Fatalf("first %.200s, replayed %.200s", got[0], got[1])
		}
	})
}
