package idempotency_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/idempotency"
	"github.com/oncekey/oncekey/localtest"
)

// pair is what the library does, and the calls of the SDK that stand in its place in a program without it. Both send the same
// items and expressions, which TestPairs_SendTheSame sees to, and encode or decode the same result.
type pair struct {
	before  turn // what a request finds; nil: nothing
	ours    turn
	hand    turn // with constants in the place of all that has to be computed: what the SDK itself costs
	careful turn // with what is computed for them, and the checks and time limits of somebody who means it; may be nil
}

// turn makes the n-th request.
type turn = func(s *bench, n int) error

// sides are those of a pair, by their names in its benchmarks.
func (p pair) sides() map[string]turn {
	sides := map[string]turn{"oncekey": p.ours, "hand": p.hand}
	if p.careful != nil {
		sides["careful"] = p.careful
	}
	return sides
}

// bench is a table, and a client and a Runner to it.
type bench struct {
	ctx     context.Context //nolint:containedctx // that of every request: what it costs is not what is measured
	db      *localtest.DB
	table   string // of records
	effects string // of what the handlers write
	client  *dynamodb.Client
	runner  *idempotency.Runner
}

// newBench has no observer, and a fingerprint of the input, as in production.
func newBench(tb testing.TB, optFns ...func(*dynamodb.Options)) *bench {
	tb.Helper()
	db := localtest.Start(tb)
	s := &bench{
		ctx: localtest.Invocation(tb, 15*time.Minute), db: db,
		table:   db.CreateTable(tb, idempotency.Table("idempotency", idempotency.Schema{})),
		effects: db.CreateTable(tb, idempotency.Table("payments", idempotency.Schema{})),
		client:  db.Client(optFns...),
	}
	runner, err := idempotency.New(s.client, idempotency.Config{Table: s.table})
	if err != nil {
		tb.Fatal(err)
	}
	s.runner = runner
	return s
}

// run measures both sides twice. server=none answers without reading the request what the embedded DynamoDB has answered
// once, so that only the SDK and its caller are measured: this is what the budgets are for. server=embedded is the whole.
func (p pair) run(b *testing.B) {
	b.Helper()
	for _, server := range []string{"none", "embedded"} {
		for _, by := range []string{"oncekey", "hand", "careful"} {
			do := p.sides()[by]
			if do == nil {
				continue
			}
			b.Run("server="+server+"/by="+by, func(b *testing.B) {
				wire := &wire{}
				s := newBench(b, wire.into)
				n := 0
				if p.before != nil {
					must(b, p.before(s, n))
				}
				must(b, do(s, n))
				wire.silent = server == "none"
				b.ReportAllocs()
				for b.Loop() {
					n++
					must(b, do(s, n))
					s.db.ResetCalls()
				}
			})
		}
	}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// wire is the HTTP client of a bench.
type wire struct {
	server dynamodb.HTTPClient
	sent   []sent
	last   map[string]reply // by operation

	silent bool // answer by last, and ask nobody
}

type sent struct {
	operation string
	body      []byte
}

type reply struct {
	http.Response
	body []byte
}

func (w *wire) into(o *dynamodb.Options) { w.server, o.HTTPClient = o.HTTPClient, w }

// Do implements [dynamodb.HTTPClient].
func (w *wire) Do(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if w.silent {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return nil, err
		}
		return w.last[operation].again(r), nil
	}
	request, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(request))
	res, err := w.server.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if w.last == nil {
		w.last = map[string]reply{}
	}
	w.sent, w.last[operation] = append(w.sent, sent{operation, request}), reply{*res, body}
	return w.last[operation].again(r), nil
}

// again is the reply for another request. Its headers are shared: nobody changes them.
func (a reply) again(r *http.Request) *http.Response {
	res := a.Response
	res.Body, res.Request = io.NopCloser(bytes.NewReader(a.body)), r
	return &res
}

// A budget means something only if both sides of its pair do the same: each hand-written call has the library's expressions,
// attributes and types, and values of the same length.
func TestPairs_SendTheSame(t *testing.T) {
	t.Parallel()
	localtest.OnlyEmbedded(t, "the same names of tables each time")
	for name, p := range pairs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := map[string][]sent{}
			for by, do := range p.sides() {
				wire := &wire{}
				s := newBench(t, wire.into)
				if p.before != nil {
					must(t, p.before(s, 0))
				}
				wire.sent = nil
				must(t, do(s, 0))
				calls[by] = wire.sent
			}
			ours := calls["oncekey"]
			for by, hand := range calls {
				if len(ours) != len(hand) {
					t.Fatalf("%d calls, %s %d", len(ours), by, len(hand))
				}
				for i := range ours {
					if ours[i].operation != hand[i].operation {
						t.Errorf("call %d is %s, %s %s", i, ours[i].operation, by, hand[i].operation)
					}
					if a, b := shapeOf(t, ours[i].body), shapeOf(t, hand[i].body); !reflect.DeepEqual(a, b) {
						t.Errorf("call %d is\n%v\n%s\n%v", i, a, by, b)
					}
				}
			}
		})
	}
}

// shapeOf is a request with the lengths of its values in the place of the values.
func shapeOf(tb testing.TB, body []byte) any {
	tb.Helper()
	var v any
	must(tb, json.Unmarshal(body, &v))
	return shape(v)
}

func shape(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = shape(v[i])
		}
	case map[string]any:
		for name := range v {
			switch text, ok := v[name].(string); {
			case ok && (name == "S" || name == "N" || name == "B" || name == "ClientRequestToken"):
				v[name] = len(text)
			default:
				v[name] = shape(v[name])
			}
		}
	}
	return v
}
