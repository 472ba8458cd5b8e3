package idempotency

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// simSettings are what all processes of a schedule are deployed with, in both simulations.
type simSettings struct {
	policy OnUnknown
	inline int // few bytes: every answer is kept beside the record
	sealer *Sealer
	cache  int
	maxAge time.Duration
}

func newSimSettings(rng *rand.Rand) simSettings {
	s := simSettings{policy: []OnUnknown{Refuse, Rerun}[rng.IntN(2)]}
	if rng.IntN(3) == 0 {
		s.inline = 8
	}
	if rng.IntN(4) == 0 {
		s.sealer, _ = NewSealer(SealingKey{"simulated", bytes.Repeat([]byte{7}, sealKey)}) // a proper key is no error
	}
	if rng.IntN(4) == 0 {
		s.cache = 1 + rng.IntN(3)
		if rng.IntN(2) == 0 {
			s.maxAge = 3 * time.Second
		}
	}
	return s
}

func (s simSettings) String() string {
	text := map[OnUnknown]string{Refuse: "Refuse", Rerun: "Rerun"}[s.policy]
	if s.inline > 0 {
		text += ", answers beside the record"
	}
	if s.sealer != nil {
		text += ", sealed"
	}
	if s.cache > 0 {
		text += fmt.Sprintf(", a cache of %d", s.cache)
	}
	if s.maxAge > 0 {
		text += fmt.Sprintf(" for %s", s.maxAge)
	}
	return text
}

// config completes that of a process: fails says whether its codec does so now.
func (s simSettings) config(cfg Config, fails func() bool) Config {
	cfg.OnUnknown, cfg.Inline, cfg.Cache, cfg.CacheMaxAge = s.policy, s.inline, s.cache, s.maxAge
	if s.sealer != nil {
		cfg.Codec = simCodec{s.sealer, fails}
	}
	return cfg
}

func (s simSettings) runner(t *testing.T, client Client, cfg Config, fails func() bool) *Runner {
	t.Helper()
	r, err := New(client, s.config(cfg, fails))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// simCodec is a codec that cannot always reach its keys.
type simCodec struct {
	Codec
	fails func() bool
}

var errNoKey = errors.New("the key cannot be reached")

func (c simCodec) Seal(ctx context.Context, name string, data []byte) ([]byte, error) {
	if c.fails() && !strings.Contains(name, stepName("", "")) {
		return nil, errNoKey
	}
	return c.Codec.Seal(ctx, name, data)
}

// outcomeOf reads a recorded outcome as the next process would: everything that it consists of has to be there by now.
// Without a body it is "".
func outcomeOf(r *Runner, id string, rec *record) (string, error) {
	if rec.body.encoding.none {
		return "", nil
	}
	data, err := (&call{r: r, id: id}).bytes(context.Background(), rec)
	return string(data), err
}
