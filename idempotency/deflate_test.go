package idempotency

import (
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// unpack reads a deflated body as a replay does.
func unpack(r *Runner, data []byte) ([]byte, error) {
	c := &call{r: r, id: "charge#1"}
	return c.bytes(context.Background(), &record{body: stored{encoding: packing{deflated: true}, data: data}})
}

// deflated is data as a new writer compresses it.
func deflated(tb testing.TB, data []byte) []byte {
	tb.Helper()
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestSpeed)
	if err != nil {
		tb.Fatal(err)
	}
	_, _ = w.Write(data)
	_ = w.Close()
	return out.Bytes()
}

// bomb is valid, as a whole, and n megabytes of zeros when it is read. It takes little more than a KB for each.
func bomb(tb testing.TB, n int) []byte {
	tb.Helper()
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestCompression)
	if err != nil {
		tb.Fatal(err)
	}
	_, _ = w.Write(make([]byte, 1<<20))
	_ = w.Flush()
	block := bytes.Clone(out.Bytes()) // refers to nothing but zeros before it
	data := bytes.Repeat(block, n)
	return append(data, deflated(tb, nil)...)
}

// Whatever a table holds in place of a compressed answer is refused as a record that is not understood, or read as it is.
// And what was in one record never shows in the next one, although they share their reader.
func FuzzInflate(f *testing.F) {
	answer := []byte(strings.Repeat(`{"id":"ch_1","amount":1990,"currency":"EUR"}`, 20))
	whole := deflated(f, answer)
	f.Add(whole)
	for _, at := range []int{0, 1, len(whole) / 2, len(whole) - 1} {
		f.Add(whole[:at])
		damaged := bytes.Clone(whole)
		damaged[at] ^= 1
		f.Add(damaged)
	}
	f.Add(append(bytes.Clone(whole), 0))
	f.Add(append(bytes.Clone(whole), whole...))
	f.Add(answer)                                     // never compressed
	f.Add(bomb(f, 8))                                 // over the limit
	f.Add([]byte{0x01, 0x00, 0x00, 0xff, 0xff})       // stored, empty
	f.Add([]byte{0x01, 0x05, 0x00, 0xfa, 0xff, 'a'})  // stored, shorter than it says
	f.Add([]byte{0x4b, 0x04, 0x22, 0x00})             // a distance before the beginning
	f.Add([]byte{0x07})                               // a kind of block that there is none of
	f.Add(bytes.Repeat([]byte{0x00, 0, 0, 0xff}, 10)) // blocks without an end
	f.Fuzz(func(t *testing.T, data []byte) {
		r := &Runner{}
		got, err := unpack(r, data)
		switch {
		case err != nil && (got != nil || !errors.Is(err, ErrBadRecord)):
			t.Fatalf("got %d bytes, %v", len(got), err)
		case len(got) > maxOutcome:
			t.Fatalf("read %d bytes, more than is ever stored", len(got))
		case err == nil:
			want, err := readAllOf(data)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("read %d bytes, want %d, %v", len(got), len(want), err)
			}
		}
		if after, err := unpack(r, whole); err != nil || !bytes.Equal(after, answer) {
			t.Fatalf("then read %q, %v", after, err)
		}
	})
}

func readAllOf(data []byte) ([]byte, error) {
	var out bytes.Buffer
	_, err := out.ReadFrom(flate.NewReader(bytes.NewReader(data)))
	return out.Bytes(), err
}

// An answer that has lost its end, or has something behind it, is none.
func TestInflate_NotWhole(t *testing.T) {
	t.Parallel()
	whole := deflated(t, []byte(strings.Repeat("an answer, ", 100)))
	damaged := map[string][]byte{"a byte more": append(bytes.Clone(whole), 0), "twice": bytes.Repeat(whole, 2)}
	for n := range whole {
		damaged[fmt.Sprintf("cut to %d", n)] = whole[:n]
	}
	for name, data := range damaged {
		if got, err := unpack(&Runner{}, data); got != nil || !errors.Is(err, ErrBadRecord) {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
}

// A record of 400 KB can hold 300 MB of zeros. Reading it takes no more memory than the longest answer does, some times over
// while the buffer grows. Not parallel: what other tests allocate would be counted.
func TestInflate_Bomb(t *testing.T) {
	data := bomb(t, 300)
	if len(data) > 400<<10 {
		t.Fatalf("%d bytes do not fit into an item", len(data))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := unpack(&Runner{}, data)
	runtime.ReadMemStats(&after)
	if got != nil || !errors.Is(err, ErrBadRecord) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 10*maxOutcome {
		t.Errorf("took %d MB", used>>20)
	}
}

// The longest answer is read, and one byte more is not.
func TestInflate_Longest(t *testing.T) {
	t.Parallel()
	longest := make([]byte, maxOutcome)
	if got, err := unpack(&Runner{}, deflated(t, longest)); err != nil || len(got) != len(longest) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	if got, err := unpack(&Runner{}, deflated(t, append(longest, 0))); !errors.Is(err, ErrBadRecord) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

// answers are texts of all sizes that matter, more and less alike in themselves, and bytes that are no text.
func answers(r *rapid.T, label string) []byte {
	piece := rapid.OneOf(
		rapid.SliceOfN(rapid.Byte(), 0, 300),
		rapid.Map(rapid.StringMatching(`\{"id":"[a-z0-9]{0,40}","amount":[0-9]{1,9}\}`), func(s string) []byte { return []byte(s) }),
		rapid.Map(rapid.Uint64(), func(seed uint64) []byte {
			random := rand.New(rand.NewPCG(seed, seed))
			b := make([]byte, random.IntN(3000))
			for i := range b {
				b[i] = byte(random.Uint32())
			}
			return b
		}),
	)
	var out []byte
	for _, p := range rapid.SliceOfN(piece, 0, 6).Draw(r, label) {
		out = append(out, bytes.Repeat(p, rapid.IntRange(1, 20).Draw(r, "times"))...)
	}
	return out
}

// Whatever an answer is, it comes back; and it is kept compressed where that makes the record cheaper, and only there. The
// writers and readers are used again and again.
func TestProperty_Deflate(t *testing.T) {
	t.Parallel()
	r := &Runner{cfg: Config{Inline: maxInline, Now: time.Now}}
	rapid.Check(t, func(rt *rapid.T) {
		data := answers(rt, "answer")
		c := &call{r: r, id: "charge#1"}
		as := c.outcome(context.Background(), completed, result{data: data})
		if as.err != nil {
			rt.Fatal(as.err)
		}
		if got, err := c.bytes(context.Background(), &record{body: as.body}); err != nil || !bytes.Equal(got, data) {
			rt.Fatalf("got %d bytes of %d, %v", len(got), len(data), err)
		}
		var out bytes.Buffer
		w, _ := flate.NewWriter(&out, flate.BestSpeed) // a new one
		_, _ = w.Write(data)
		_ = w.Close()
		cheaper := (512+out.Len()+1023)/1024 < (512+len(data)+1023)/1024 && len(data) > 512
		if as.body.encoding.deflated != cheaper {
			rt.Fatalf("deflated %t, of %d bytes to %d", !cheaper, len(data), out.Len())
		}
		if as.body.encoding.deflated && len(as.body.data) != out.Len() || !as.body.encoding.deflated && !bytes.Equal(as.body.data, data) {
			rt.Fatalf("stored %d bytes, of %d or %d", len(as.body.data), len(data), out.Len())
		}
	})
}

// One Runner serves many goroutines: none gets what another one compresses or reads.
func TestDeflate_Concurrent(t *testing.T) {
	t.Parallel()
	r := &Runner{cfg: Config{Inline: maxInline, Now: time.Now}}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for n := range 20 {
				data := bytes.Repeat([]byte{byte('a' + g), byte(n)}, 1000+100*n)
				c := &call{r: r, id: "charge#1"}
				as := c.outcome(context.Background(), completed, result{data: data})
				got, err := c.bytes(context.Background(), &record{body: as.body})
				if err != nil || !as.body.encoding.deflated || !bytes.Equal(got, data) {
					t.Errorf("got %d bytes of %d, %v", len(got), len(data), err)
				}
			}
		})
	}
	wg.Wait()
}
