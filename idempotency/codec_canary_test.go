package idempotency_test

import (
	"bytes"
	"compress/flate"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// canary is what nobody may read who has not the key. It is in everything that the handlers of these tests return.
const canary = "4929-CANARY-1234"

// overheard are all places besides the table where a text can be seen.
type overheard struct {
	mu   sync.Mutex
	said bytes.Buffer
	log  func(context.Context, idempotency.Event)
}

func overhear(o *overheard) option {
	o.log = idempotency.Log(slog.New(slog.NewTextHandler(&o.said, &slog.HandlerOptions{Level: slog.LevelDebug})))
	return func(s *settings) {
		seen := s.Observe
		s.Observe = func(ctx context.Context, e idempotency.Event) {
			seen(ctx, e)
			o.mu.Lock()
			defer o.mu.Unlock()
			o.log(ctx, e)
			_, _ = fmt.Fprintf(&o.said, "%+v\n", e)
		}
	}
}

func (o *overheard) err(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, _ = fmt.Fprintf(&o.said, "%v\n%+v\n%#v\n", err, err, err)
}

// wantSecret says that the canary was said nowhere.
func (o *overheard) wantSecret(tb testing.TB) {
	tb.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if said := o.said.String(); said == "" || strings.Contains(said, canary) {
		tb.Errorf("what was sealed was said, or nothing was: %s", said)
	}
}

// whole reads all items of the table.
func (f *fixture) whole(tb testing.TB) []item {
	tb.Helper()
	var all []item
	for pages := dynamodb.NewScanPaginator(f.plain, &dynamodb.ScanInput{TableName: &f.table}); pages.HasMorePages(); {
		page, err := pages.NextPage(tb.Context())
		if err != nil {
			tb.Fatal(err)
		}
		for _, it := range page.Items {
			all = append(all, it)
		}
	}
	return all
}

// wantSealed says that nothing in the table shows the canary, not even to who can decompress.
func (f *fixture) wantSealed(tb testing.TB) {
	tb.Helper()
	items := f.whole(tb)
	if len(items) == 0 {
		tb.Fatal("there is nothing in the table")
	}
	for _, it := range items {
		look(tb, it.text("id"), &types.AttributeValueMemberM{Value: it})
	}
}

func look(tb testing.TB, path string, v types.AttributeValue) {
	tb.Helper()
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		readable(tb, path, []byte(v.Value))
	case *types.AttributeValueMemberB:
		readable(tb, path, v.Value)
	case *types.AttributeValueMemberM:
		for name, member := range v.Value {
			readable(tb, path, []byte(name))
			look(tb, path+"."+name, member)
		}
	case *types.AttributeValueMemberN, *types.AttributeValueMemberBOOL:
	default:
		tb.Errorf("%s is a %T, into which this test does not look", path, v)
	}
}

func readable(tb testing.TB, path string, data []byte) {
	tb.Helper()
	for from := range min(len(data), 64) { // also behind a mark or a header
		out, _ := io.ReadAll(flate.NewReader(bytes.NewReader(data[from:])))
		if bytes.Contains(out, []byte(canary)) {
			tb.Errorf("%s shows what was to be sealed, compressed", path)
		}
	}
	if bytes.Contains(data, []byte(canary)) {
		tb.Errorf("%s shows what was to be sealed", path)
	}
}

// storing are all ways in which something of a handler's gets into the table. Each returns what a replay is to give.
var storing = map[string]struct {
	option option
	tx     idempotency.TxMode
	h      handler
	value  string
}{
	"in the record":  {h: returns(canary), value: canary},
	"compressed":     {h: returns(strings.Repeat(canary, 100)), value: strings.Repeat(canary, 100)},
	"in an item":     {h: returns(canary + noise(5<<10)), value: canary + noise(5<<10)},
	"in items":       {h: returns(canary + noise(500<<10)), value: canary + noise(500<<10)},
	"failure":        {h: fails(idempotency.Terminal(&declined{Code: canary}))},
	"long failure":   {h: fails(idempotency.Terminal(longError{strings.Repeat(canary, 1000)}))},
	"claimed":        {tx: idempotency.Claimed, h: returns(canary), value: canary},
	"single shot":    {tx: idempotency.SingleShot, h: returns(canary + noise(5<<10)), value: canary + noise(5<<10)},
	"failed shot":    {tx: idempotency.SingleShot, h: fails(idempotency.Terminal(&declined{Code: canary}))},
	"reference":      {h: storesRef(canary), value: "made of " + canary},
	"shot reference": {tx: idempotency.SingleShot, h: storesRef(canary), value: "made of " + canary},
}

// With a Codec nobody reads what a handler has returned who has but the table, the log or the events; and every replay has it.
func TestCodec_NothingInClear(t *testing.T) {
	t.Parallel()
	for name, tt := range storing {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var said overheard
				f, req := newFixture(t), request("k")
				req.Tx = tt.tx
				req.Rebuild = func(_ context.Context, ref string) (any, error) { return "made of " + ref, nil }
				w := f.worker(t, codec(newSealer(t, "k1")), overhear(&said))
				first, err := w.do(localtest.Invocation(t, 3*time.Second), req, tt.h)
				f.wantSealed(t)
				if it := f.record(t, req); !strings.HasSuffix(it.text("encoding"), "sealed") {
					t.Errorf("encoding %q", it.text("encoding"))
				}
				again, failed := f.worker(t, codec(newSealer(t, "k2", "k1")), overhear(&said)).do(localtest.Invocation(t, 3*time.Second), req, returns("twice"))
				switch {
				case err == nil:
					wantAnswer(t, again, failed, tt.value, true)
				case failed == nil || failed.Error() != err.Error() && !strings.HasPrefix(err.Error(), failed.Error()) || !again.Replayed || first.Class != idempotency.Recorded:
					t.Errorf("first %v, replayed %v", err, failed)
				}
				// Nor do those who have not the key hear of it in what they are told.
				for _, other := range []option{codec(newSealer(t, "k2")), codec(otherBytes(t)), func(*settings) {}} {
					_, err := f.worker(t, other, overhear(&said)).do(localtest.Invocation(t, 3*time.Second), req, returns("twice"))
					wantErr(t, err, idempotency.ErrBadRecord)
					said.err(err)
				}
				if tt.tx != idempotency.SingleShot { // which runs its handler before it looks
					f.wantRuns(t, 1)
				}
				said.wantSecret(t)
			})
		})
	}
}

// The results of steps are sealed as well, each under its own name, and read back by the next attempt.
func TestCodec_Steps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var said overheard
		f, req, ran := newFixture(t), request("k"), 0
		h := func(end error) handler {
			return func(ctx context.Context) (string, error) {
				var all string
				for _, name := range []string{"charge", "mail"} {
					got, err := idempotency.Step(ctx, name, func(context.Context) (string, error) { ran++; return canary + name, nil })
					if err != nil {
						return "", err
					}
					all += got
				}
				return all, end
			}
		}
		_, err := f.worker(t, codec(newSealer(t, "k1")), overhear(&said)).do(localtest.Invocation(t, time.Second), req, h(errPlain))
		wantErr(t, err, errPlain)
		f.wantSealed(t)
		_, err = f.worker(t, codec(newSealer(t, "k2")), overhear(&said)).do(localtest.Invocation(t, time.Second), req, h(nil))
		wantErr(t, err, idempotency.ErrBadRecord)
		said.err(err)
		f.wantStatus(t, req, "UNKNOWN")
		res, err := f.worker(t, rerun, codec(newSealer(t, "k2", "k1")), overhear(&said)).do(localtest.Invocation(t, time.Second), req, h(nil))
		wantAnswer(t, res, err, canary+"charge"+canary+"mail", false)
		if ran != 2 {
			t.Errorf("%d steps ran, want each once", ran)
		}
		f.wantSealed(t)
		said.wantSecret(t)
	})
}

// What a person resolves is sealed like what a handler returns.
func TestCodec_Resolve(t *testing.T) {
	t.Parallel()
	for name, as := range map[string]idempotency.Resolution{
		"completed": idempotency.Completed(canary), "failed": idempotency.Failed(&declined{Code: canary}),
		"long": idempotency.Completed(canary + noise(5<<10)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, req := newFixture(t), request("k")
				f.make(t, "unknown", req)
				r := f.worker(t, codec(newSealer(t, "k"))).runner
				rec, err := r.Record(t.Context(), id(req))
				if err != nil {
					t.Fatal(err)
				}
				if err := r.Resolve(t.Context(), rec, as); err != nil {
					t.Fatal(err)
				}
				f.wantSealed(t)
				rec, err = r.Record(t.Context(), rec.ID)
				if err != nil || !bytes.Contains(rec.Outcome, []byte(canary)) {
					t.Errorf("read %s, %v", rec.Outcome, err)
				}
				res, err := idempotency.Lookup[string](t.Context(), r, req)
				if said := res.Value + fmt.Sprint(err); !strings.Contains(said, canary) {
					t.Errorf("looked up %+v, %v", res, err)
				}
			})
		})
	}
}
