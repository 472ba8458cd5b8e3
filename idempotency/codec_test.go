package idempotency_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// codec is the option to seal with it.
func codec(c idempotency.Codec) option { return func(s *settings) { s.Codec = c } }

// wrapping is a user's own Codec: it turns bytes around, and each method can be made to go wrong.
type wrapping struct {
	seal, open func(ctx context.Context, name string, data []byte) ([]byte, error)

	mu    sync.Mutex
	names []string // that it was called with
}

func (w *wrapping) Seal(ctx context.Context, name string, data []byte) ([]byte, error) {
	w.called("seal " + name)
	if w.seal != nil {
		return w.seal(ctx, name, data)
	}
	out := bytes.Clone(data)
	slices.Reverse(out)
	return out, nil
}

func (w *wrapping) Open(ctx context.Context, name string, sealed []byte) ([]byte, error) {
	w.called("open " + name)
	if w.open != nil {
		return w.open(ctx, name, sealed)
	}
	out := bytes.Clone(sealed)
	slices.Reverse(out)
	return out, nil
}

func (w *wrapping) called(how string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names = append(w.names, how)
}

// A Codec is told whose bytes they are: the record's id and the part of it. It seals what is compressed, and an outcome once,
// however often its write is sent.
func TestCodec_Names(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req, c := newFixture(t), request("k"), &wrapping{}
		f.inject("UpdateItem", localtest.RequestLost, 2)
		w := f.worker(t, withoutRetries, codec(c))
		h := func(ctx context.Context) (string, error) {
			_, err := idempotency.Step(ctx, "charge", func(context.Context) (int, error) { return 1, nil })
			return strings.Repeat("long", 500), err
		}
		for _, replayed := range []bool{false, true} {
			res, err := w.do(localtest.Invocation(t, 3*time.Second), req, h)
			wantAnswer(t, res, err, strings.Repeat("long", 500), replayed)
		}
		if got := f.record(t, req).text("encoding"); got != "deflate+sealed" {
			t.Errorf("encoding %q", got)
		}
		of := id(req)
		if want := []string{"seal " + of + "/step/charge", "seal " + of + "/outcome/COMPLETED/deflate", "open " + of + "/outcome/COMPLETED/deflate"}; !slices.Equal(c.names, want) {
			t.Errorf("called for %q, want %q", c.names, want)
		}
	})
}

// A record's reader without the key gets all but the outcome, with the reason.
func TestCodec_RecordWithoutKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f, req := newFixture(t), request("k")
		f.worker(t, codec(newSealer(t, "k1"))).must(localtest.Invocation(t, time.Second), t, req, returns(canary))
		for name, other := range map[string]option{"Config.Codec": func(*settings) {}, `"k1"`: codec(newSealer(t, "k2"))} {
			rec, err := f.worker(t, other).runner.Record(t.Context(), id(req))
			wantErr(t, err, idempotency.ErrBadRecord)
			if rec.Status != "COMPLETED" || rec.Outcome != nil || rec.Encoding != "sealed" || !strings.Contains(fmt.Sprint(err), name) {
				t.Errorf("read %+v, %v", rec, err)
			}
		}
	})
}

// To switch sealing on, or to rotate its keys, loses nothing that is there.
func TestCodec_BeforeAndAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		plain, old, both := func(*settings) {}, codec(newSealer(t, "old")), codec(newSealer(t, "new", "old"))
		f.worker(t, plain).must(localtest.Invocation(t, time.Second), t, request("plain"), returns("a"))
		f.worker(t, old).must(localtest.Invocation(t, time.Second), t, request("old"), returns("b"))
		f.worker(t, both).must(localtest.Invocation(t, time.Second), t, request("new"), returns("c"))
		for name, want := range map[string]string{"plain": "a", "old": "b", "new": "c"} {
			res, err := f.worker(t, both).do(localtest.Invocation(t, time.Second), request(name), returns("twice"))
			wantAnswer(t, res, err, want, true)
		}
		before := f.record(t, request("old"))
		_, err := f.worker(t, codec(newSealer(t, "new"))).do(localtest.Invocation(t, time.Second), request("old"), returns("twice"))
		wantErr(t, err, idempotency.ErrBadRecord)
		if !strings.Contains(fmt.Sprint(err), `"old"`) {
			t.Errorf("error %v does not name the key that is missing", err)
		}
		f.wantUntouched(t, request("old"), before)
		f.wantRuns(t, 3)
	})
}

// A Codec that cannot work is refused before anything runs.
func TestCodec_Refused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for name, c := range map[string]idempotency.Codec{
		"nil Sealer": (*idempotency.Sealer)(nil), "zero Sealer": &idempotency.Sealer{}, "another's nil": (*wrapping)(nil),
	} {
		_, err := idempotency.New(f.plain, idempotency.Config{Table: f.table, Codec: c})
		if wrong, ok := errors.AsType[*idempotency.FieldError](err); !ok || wrong.Field != "Config.Codec" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
