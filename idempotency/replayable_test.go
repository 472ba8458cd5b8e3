package idempotency

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Types that encode themselves and cannot be read back, by value and by pointer.
type (
	oneWayJSON    struct{ A int }
	oneWayJSONPtr struct{ A int }
	oneWayText    struct{ A int }
	oneWayTextPtr struct{ A int }
	oneWayDay     int
	twoWay        struct{ a int }
	twoWayDay     int
	noKey         struct{ A int }
	decodesOnly   struct{}
	hiddenStruct  struct{ Shown int }
	hiddenInt     int //nolint:unused // encoding/json looks at it
	HiddenIface   interface{ Do() }
)

func (oneWayJSON) MarshalJSON() ([]byte, error)     { return []byte(`"x"`), nil }
func (*oneWayJSONPtr) MarshalJSON() ([]byte, error) { return []byte(`"x"`), nil }
func (oneWayText) MarshalText() ([]byte, error)     { return []byte("x"), nil }
func (*oneWayTextPtr) MarshalText() ([]byte, error) { return []byte("x"), nil }
func (oneWayDay) MarshalText() ([]byte, error)      { return []byte("monday"), nil }

func (w twoWay) MarshalJSON() ([]byte, error)     { return json.Marshal(w.a) }
func (w *twoWay) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &w.a) }
func (twoWayDay) MarshalText() ([]byte, error)    { return []byte("monday"), nil }
func (d *twoWayDay) UnmarshalText([]byte) error   { *d = 1; return nil }
func (w *decodesOnly) UnmarshalJSON([]byte) error { return nil }

type (
	listNode struct {
		Value int
		Next  *listNode
	}
	treeNode struct {
		Children map[string][]treeNode
		Leaf     chan int
	}
	embedsHidden struct {
		hiddenStruct
		B int
	}
	embedsHiddenPointer struct {
		*hiddenStruct
		B int
	}
	embedsHiddenInt struct {
		hiddenInt //nolint:unused // encoding/json looks at it
		B         int
	}
	skips struct {
		A int      `json:"-"`
		C chan int `json:"-"`
		_ chan int
		_ sync.Mutex
	}
	dashed struct {
		C chan int `json:"-,"` //nolint:staticcheck // a member that is called "-"
	}
	renamed struct {
		Deep []struct {
			F func() `json:"callback,omitempty"`
		} `json:"deep"`
	}
)

// C32: what could never be replayed is found out when the handler is wrapped, and named.
func TestReplayable_Refuses(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		err         error
		field, rule string
	}{
		{Replayable[chan int](), "result", "no such value"},
		{Replayable[func()](), "result", "no such value"},
		{Replayable[complex128](), "result", "no such value"},
		{Replayable[complex64](), "result", "no such value"},
		{Replayable[unsafe.Pointer](), "result", "no such value"},
		{Replayable[error](), "result", "interface"},
		{Replayable[HiddenIface](), "result", "interface"},
		{Replayable[struct{ Err error }](), "result.Err", "interface"},
		{Replayable[[]error](), "result", "interface"},
		{Replayable[map[string]error](), "result[]", "interface"},
		{Replayable[*chan int](), "result", "no such value"},
		{Replayable[[2]chan int](), "result", "no such value"},
		{Replayable[treeNode](), "result.Leaf", "no such value"},
		{Replayable[dashed](), "result.-", "no such value"},
		{Replayable[renamed](), "result.deep.callback", "no such value"},
		{Replayable[oneWayJSON](), "result", "UnmarshalJSON"},
		{Replayable[*oneWayJSON](), "result", "UnmarshalJSON"},
		{Replayable[*oneWayJSONPtr](), "result", "UnmarshalJSON"},
		{Replayable[[]oneWayJSONPtr](), "result", "UnmarshalJSON"}, // elements can be addressed: theirs is called
		{Replayable[struct{ P []oneWayJSONPtr }](), "result.P", "UnmarshalJSON"},
		{Replayable[oneWayText](), "result", "UnmarshalText"},
		{Replayable[*oneWayTextPtr](), "result", "UnmarshalText"},
		{Replayable[[]oneWayTextPtr](), "result", "UnmarshalText"},
		{Replayable[map[noKey]int](), "result", "keys"},
		{Replayable[map[bool]int](), "result", "keys"},
		{Replayable[map[float64]int](), "result", "keys"},
		{Replayable[map[any]int](), "result", "keys"},
		{Replayable[map[oneWayDay]int](), "result", ""}, // written as "monday", read as a number
		{Replayable[map[string]chan int](), "result[]", "no such value"},
		{Replayable[embedsHiddenPointer](), "result.hiddenStruct", "embedded pointer"},
		{Replayable[io.Reader](), "result", "stream"},
		{Replayable[io.ReadCloser](), "result", "stream"},
		{Replayable[*bytes.Buffer](), "result", "stream"},
		{Replayable[bytes.Buffer](), "result", "stream"},
		{Replayable[*bufio.Reader](), "result", "stream"},
		{Replayable[struct{ Body io.Reader }](), "result.Body", "stream"},
		{Replayable[struct{ io.Reader }](), "result", "stream"},
	} {
		e, ok := errors.AsType[*FieldError](row.err)
		if !ok {
			t.Errorf("%s, %q: accepted", row.field, row.rule)
			continue
		}
		if !strings.HasPrefix(e.Field, row.field) || !strings.Contains(e.Rule, row.rule) || !strings.HasPrefix(e.Value, "a ") {
			t.Errorf("got %v, want %s: %s", e, row.field, row.rule)
		}
	}
}

// What is accepted, encoded and decoded, is the same afterwards (C31).
func TestReplayable_Accepts(t *testing.T) {
	t.Parallel()
	instant := time.Date(2026, 3, 1, 12, 0, 0, 5, time.UTC)
	one, text := 1, "x"
	accepts(t, 0)
	accepts(t, "")
	accepts(t, false)
	accepts(t, struct{}{})
	accepts(t, []int(nil))
	accepts(t, []int{})
	accepts(t, map[string]int(nil))
	accepts(t, map[string]int{})
	accepts(t, (*int)(nil))
	accepts(t, &one)
	accepts(t, []*string{&text, nil})
	accepts(t, []byte{0, 1, 0xff})
	accepts(t, [2]int8{1, -2})
	accepts(t, map[int]string{-1: "a"})
	accepts(t, map[uint8][]bool{7: {true}})
	accepts(t, map[twoWayDay]int{1: 2})
	accepts(t, uint64(1<<63))
	accepts(t, "<>&\u2028")
	accepts(t, json.RawMessage(`{"a":[1,2]}`))
	accepts(t, json.Number("12345678901234567890"))
	accepts(t, instant)
	accepts(t, &instant)
	accepts(t, struct{ Paid *time.Time }{&instant})
	accepts(t, []*time.Time{&instant, nil})
	accepts(t, map[string]*time.Time{"a": &instant})
	accepts(t, big.NewInt(1<<60))
	accepts(t, netip.MustParseAddr("127.0.0.1"))
	accepts(t, map[netip.Addr]int{netip.MustParseAddr("127.0.0.1"): 1})
	accepts(t, time.Second)
	accepts(t, twoWay{5})
	accepts(t, &twoWay{5})
	accepts(t, []twoWay{{5}})
	accepts(t, &listNode{1, &listNode{2, nil}})
	accepts(t, embedsHidden{hiddenStruct{1}, 2})
	accepts(t, struct {
		A int `json:"a,string"`
		B int `json:",omitempty"`
	}{1, 0})
	for name, err := range map[string]error{
		"any":                          Replayable[any](),
		"a map of any":                 Replayable[map[string]any](),
		"a struct that skips":          Replayable[skips](),
		"an embedded int that is none": Replayable[embedsHiddenInt](),
		"decodes only":                 Replayable[decodesOnly](),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func accepts[T any](t *testing.T, value T) {
	t.Helper()
	if err := Replayable[T](); err != nil {
		t.Errorf("%T: %v", value, err)
	}
	data, err := encode(value)
	if err != nil {
		t.Errorf("%T: %v", value, err)
		return
	}
	var back T
	if err := decode(data, &back); err != nil || !reflect.DeepEqual(back, value) {
		t.Errorf("%T: %#v comes back from %s as %#v, %v", value, value, data, back, err)
	}
}

// The wrong result type is refused before the table is asked, and looked at once for a Runner.
func TestDo_RefusesAResultThatCannotBeReplayed(t *testing.T) {
	t.Parallel()
	client := &unitClient{}
	r, err := New(client, Config{Table: "records"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, err = Do(t.Context(), r, good(nil), func(context.Context) (chan int, error) {
			t.Error("the handler ran")
			return nil, nil
		})
		wantField(t, err, "result", "a chan int", "no such value")
		_, err = Lookup[func()](t.Context(), r, good(nil))
		wantField(t, err, "result", "a func()", "no such value")
	}
	if len(client.calls) != 0 {
		t.Errorf("%d calls", len(client.calls))
	}
}

type unitStubborn struct{ A int }

func (unitStubborn) MarshalJSON() ([]byte, error)    { return []byte(`{}`), nil }
func (s *unitStubborn) UnmarshalJSON(_ []byte) error { s.A = -1; return errors.New("cannot be read") }

// C17, C32: the handler's result goes to its caller as it is, also when it cannot be read back.
func TestDo_ResultThatCannotBeReadBackIsNotSpoiled(t *testing.T) {
	t.Parallel()
	type result struct {
		Any      any
		Stubborn unitStubborn
	}
	want := result{Any: "x", Stubborn: unitStubborn{7}}
	res, err := Do(t.Context(), unitRunner(t, Config{}), good(nil), func(context.Context) (result, error) { return want, nil })
	if err != nil || !reflect.DeepEqual(res.Value, want) {
		t.Errorf("got %+v, %v; want %+v", res.Value, err, want)
	}
}

// Types such as big.Int encode themselves by pointer only. As a value in a result, they are recorded as what they
// are and not as the empty struct that encoding/json sees in a value which it cannot address; in a map it never
// can, and the type is refused.
func TestDo_RecordsValuesThatEncodeThemselvesByPointer(t *testing.T) {
	t.Parallel()
	type invoice struct{ Amount big.Int }
	want := invoice{*big.NewInt(1 << 60)}
	client := &unitClient{}
	r, err := New(client, Config{Table: "records"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Do(t.Context(), r, good(nil), func(context.Context) (invoice, error) { return want, nil }); err != nil {
		t.Fatal(err)
	}
	last := client.calls[len(client.calls)-1].(*dynamodb.UpdateItemInput)
	data := last.ExpressionAttributeValues[":data"].(*types.AttributeValueMemberS).Value
	var back invoice
	if err := decode([]byte(data), &back); err != nil || back.Amount.Cmp(&want.Amount) != 0 {
		t.Errorf("recorded as %s, read back as %s, %v", data, &back.Amount, err)
	}
	if Replayable[map[string]big.Int]() == nil {
		t.Error("map[string]big.Int is accepted")
	}
}
