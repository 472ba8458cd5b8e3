package idempotency_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/oncekey/oncekey/idempotency"
)

// sealingKey is a key whose bytes could be told from any other text, if something printed them.
func sealingKey(id string) idempotency.SealingKey {
	return idempotency.SealingKey{ID: id, Key: []byte((id + strings.Repeat("~SECRET", 5))[:32])}
}

func newSealer(tb testing.TB, ids ...string) *idempotency.Sealer {
	tb.Helper()
	var keys []idempotency.SealingKey
	for _, id := range ids {
		keys = append(keys, sealingKey(id))
	}
	s, err := idempotency.NewSealer(keys...)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func sealedAs(tb testing.TB, s idempotency.Codec, name string, data []byte) []byte {
	tb.Helper()
	sealed, err := s.Seal(tb.Context(), name, data)
	if err != nil {
		tb.Fatal(err)
	}
	return sealed
}

// What was sealed opens, is as much longer as the documents say, shows nothing of itself, and is sealed anew each time.
func TestSealer_RoundTrip(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 1 << 10, 1 << 20, 6 << 20} {
		s, data := newSealer(t, "2026-01"), make([]byte, size)
		_, _ = rand.NewChaCha8([32]byte{}).Read(data)
		before := slices.Clone(data)
		sealed := sealedAs(t, s, "record", data)
		if got := len(sealed) - size; got != 46+len("2026-01") {
			t.Errorf("%d bytes: %d more when sealed", size, got)
		}
		if size > 100 && (bytes.Contains(sealed, data[:32]) || bytes.Contains(sealed, data[size-32:])) {
			t.Errorf("%d bytes: the text can be read", size)
		}
		if bytes.Equal(sealedAs(t, s, "record", data), sealed) {
			t.Errorf("%d bytes: sealed twice alike", size)
		}
		kept := slices.Clone(sealed)
		opened, err := s.Open(t.Context(), "record", sealed)
		if err != nil || !bytes.Equal(opened, before) {
			t.Errorf("%d bytes: opened %d, %v", size, len(opened), err)
		}
		if !bytes.Equal(data, before) || !bytes.Equal(sealed, kept) {
			t.Errorf("%d bytes: what was given was changed", size)
		}
	}
}

// No bit of what is sealed can be changed, no byte be taken away or added: version, key id, salt, nonce, text and tag.
func TestSealer_EveryBit(t *testing.T) {
	t.Parallel()
	s := newSealer(t, "new", "nev") // a changed id may be that of another key
	sealed := sealedAs(t, s, "record", []byte(`"paid"`))
	refuse := func(what string, i int, damaged []byte) {
		if data, err := s.Open(t.Context(), "record", damaged); err == nil || data != nil {
			t.Errorf("%s %d: opened %q, %v", what, i, data, err)
		}
	}
	for bit := range 8 * len(sealed) {
		damaged := slices.Clone(sealed)
		damaged[bit/8] ^= 1 << (bit % 8)
		refuse("bit", bit, damaged)
	}
	for n := range sealed {
		refuse("cut to", n, sealed[:n])
		refuse("without the first", n+1, sealed[n+1:])
	}
	refuse("a byte more", 0, append(slices.Clone(sealed), 0))
	refuse("nothing", 0, nil)
}

// The name is authenticated: what was sealed for one record, or one part of it, does not open for another.
func TestSealer_OtherName(t *testing.T) {
	t.Parallel()
	s := newSealer(t, "k")
	sealed := sealedAs(t, s, "charge#1/outcome", []byte(`"paid"`))
	for _, name := range []string{"", "charge#2/outcome", "charge#1/step/outcome", "charge#1/outcome ", "charge#1/outcom"} {
		if data, err := s.Open(t.Context(), name, sealed); err == nil || data != nil {
			t.Errorf("%q: opened %q, %v", name, data, err)
		}
	}
	if _, err := s.Open(t.Context(), "charge#1/outcome", sealed); err != nil {
		t.Error(err)
	}
}

// The first key seals and all open, so that no answer is lost while keys are rotated; one that is gone is named by its id.
func TestSealer_Rotation(t *testing.T) {
	t.Parallel()
	before, both, after := newSealer(t, "old"), newSealer(t, "new", "old"), newSealer(t, "new")
	old, fresh := sealedAs(t, before, "r", []byte("a")), sealedAs(t, both, "r", []byte("b"))
	for name, tt := range map[string]struct {
		s      *idempotency.Sealer
		sealed []byte
		want   string
	}{
		"old by both":   {both, old, "a"},
		"new by both":   {both, fresh, "b"},
		"new by new":    {after, fresh, "b"},
		"old by new":    {after, old, ""},
		"new by old":    {before, fresh, ""},
		"other's bytes": {otherBytes(t), old, ""},
	} {
		got, err := tt.s.Open(t.Context(), "r", tt.sealed)
		if string(got) != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	if _, err := after.Open(t.Context(), "r", old); err == nil || !strings.Contains(err.Error(), `"old"`) {
		t.Errorf("error %v, want one that names the key", err)
	}
}

// otherBytes has a key of the id "old" which is not the one that sealed.
func otherBytes(tb testing.TB) *idempotency.Sealer {
	tb.Helper()
	s, err := idempotency.NewSealer(idempotency.SealingKey{ID: "old", Key: make([]byte, 32)})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// A Sealer has its keys for itself: a caller may wipe what they were read from.
func TestSealer_CopiesItsKeys(t *testing.T) {
	t.Parallel()
	k := sealingKey("k")
	s, err := idempotency.NewSealer(k)
	if err != nil {
		t.Fatal(err)
	}
	sealed := sealedAs(t, s, "r", []byte("a"))
	clear(k.Key)
	if _, err := s.Open(t.Context(), "r", sealed); err != nil {
		t.Error(err)
	}
	if _, err := newSealer(t, "k").Open(t.Context(), "r", sealedAs(t, s, "r", []byte("b"))); err != nil {
		t.Error(err)
	}
}

// The format is for years of retention: what a first release has sealed opens, and by hand, with the standard library's parts
// and RFC 5869's two steps, out of what the documents say.
func TestSealer_Format(t *testing.T) {
	t.Parallel()
	golden, err := hex.DecodeString(goldenSealed)
	if err != nil {
		t.Fatal(err)
	}
	s := newSealer(t, "2026-01")
	if got, err := s.Open(t.Context(), "charge#1/outcome", golden); err != nil || string(got) != `"paid"` {
		t.Errorf("opened %q, %v", got, err)
	}
	for _, sealed := range [][]byte{golden, sealedAs(t, s, "charge#1/outcome", []byte(`"paid"`))} {
		head, salt, nonce, text := sealed[:9], sealed[9:25], sealed[25:37], sealed[37:]
		if string(head) != "\x01\x072026-01" {
			t.Fatalf("begins with %q", head)
		}
		mac := func(key, data []byte) []byte {
			h := hmac.New(sha256.New, key)
			_, _ = h.Write(data)
			return h.Sum(nil)
		}
		derived := mac(mac(salt, sealingKey("2026-01").Key), []byte("oncekey answer, AES-256-GCM\x01"))
		block, err := aes.NewCipher(derived)
		if err != nil {
			t.Fatal(err)
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := aead.Open(nil, nonce, text, slices.Concat(head, []byte("charge#1/outcome"))); err != nil || string(got) != `"paid"` {
			t.Errorf("opened by hand %q, %v", got, err)
		}
	}
}

const goldenSealed = "0107323032362d3031e3129f7637e9d595330d20302891dc2d6d49e7bbca58ef487f2ed7d23f2162e9a3a14f3397562062d17e3f9a10bdc905d339"

// A key that cannot be right is refused by its field, with the rule, and never shown.
func TestNewSealer_Refuses(t *testing.T) {
	t.Parallel()
	short, long, empty := sealingKey("b"), sealingKey("b"), sealingKey("b")
	short.Key, long.Key, empty.Key = short.Key[:31], append(long.Key, '~'), nil
	twin := sealingKey("other")
	twin.ID = "a"
	for name, tt := range map[string]struct {
		keys               []idempotency.SealingKey
		field, value, rule string
	}{
		"no keys":      {nil, "NewSealer's keys", "empty", "a key is required"},
		"zero key":     {[]idempotency.SealingKey{{}}, "NewSealer's keys[0].ID", "empty", "is required"},
		"no id":        {[]idempotency.SealingKey{sealingKey("a"), {Key: sealingKey("b").Key}}, "NewSealer's keys[1].ID", "empty", "is required"},
		"long id":      {[]idempotency.SealingKey{sealingKey("a"), {ID: strings.Repeat("i", 65), Key: sealingKey("b").Key}}, "NewSealer's keys[1].ID", "65 bytes long", "at most 64 bytes are allowed"},
		"invisible id": {[]idempotency.SealingKey{{ID: "a\n", Key: sealingKey("b").Key}}, "NewSealer's keys[0].ID", `"a\n"`, "must be printable: no control characters, nor invisible ones"},
		"id no UTF-8":  {[]idempotency.SealingKey{{ID: "a\xff", Key: sealingKey("b").Key}}, "NewSealer's keys[0].ID", `"a\xff"`, "must be valid UTF-8"},
		"same id":      {[]idempotency.SealingKey{sealingKey("a"), sealingKey("b"), twin}, "NewSealer's keys[2].ID", `"a"`, "is that of another key"},
		"31 bytes":     {[]idempotency.SealingKey{sealingKey("a"), short}, "NewSealer's keys[1].Key", "31 bytes long", "32 bytes are needed"},
		"33 bytes":     {[]idempotency.SealingKey{sealingKey("a"), long}, "NewSealer's keys[1].Key", "33 bytes long", "32 bytes are needed"},
		"no bytes":     {[]idempotency.SealingKey{empty}, "NewSealer's keys[0].Key", "0 bytes long", "32 bytes are needed"},
	} {
		s, err := idempotency.NewSealer(tt.keys...)
		wrong, ok := errors.AsType[*idempotency.FieldError](err)
		if !ok || s != nil || wrong.Field != tt.field || wrong.Value != tt.value || wrong.Rule != tt.rule {
			t.Errorf("%s: %v, %v", name, s, err)
		}
		if err != nil && strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: a key is shown in %v", name, err)
		}
	}
	longest := sealingKey("x")
	longest.ID = strings.Repeat("i", 64)
	s, err := idempotency.NewSealer(longest)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Open(t.Context(), "r", sealedAs(t, s, "r", []byte("a"))); err != nil || string(got) != "a" {
		t.Errorf("under an id of 64 bytes: %q, %v", got, err)
	}
}

// A Sealer that NewSealer has not made has no keys, and says so instead of sealing with none.
func TestSealer_Zero(t *testing.T) {
	t.Parallel()
	var s idempotency.Sealer
	if sealed, err := s.Seal(t.Context(), "r", []byte("a")); err == nil || sealed != nil {
		t.Errorf("sealed %q, %v", sealed, err)
	}
	if data, err := s.Open(t.Context(), "r", sealedAs(t, newSealer(t, "k"), "r", []byte("a"))); err == nil || data != nil {
		t.Errorf("opened %q, %v", data, err)
	}
}

// Whoever prints a key, by mistake or not, prints its name.
func TestSealer_NeverPrinted(t *testing.T) {
	t.Parallel()
	key := idempotency.SealingKey{ID: "k1", Key: bytes.Repeat([]byte("K"), 32)}
	s, err := idempotency.NewSealer(key)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, v := range []any{key, &key, s, *s, idempotency.Config{Table: "t", Codec: s}} {
		fmt.Fprintf(&out, "%v %+v %#v %s\n", v, v, v, v)
	}
	slog.New(slog.NewTextHandler(&out, nil)).Info("text", "key", key, "sealer", s)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("json", "key", key, "sealer", s)
	if text := out.String(); strings.Contains(text, "KKK") || strings.Contains(text, "75 75 75") || strings.Contains(text, "0x4b, 0x4b") || !strings.Contains(text, "k1") {
		t.Errorf("printed:\n%s", text)
	}
}
