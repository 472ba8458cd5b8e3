package idempotency

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// OnUnknown says what to do with a record whose last attempt ended without telling: it crashed, timed out,
// panicked, or returned an error that leaves its effect open.
type OnUnknown int

const (
	// Refuse answers [ErrOutcomeUnknown] until somebody has looked, or the record's window has ended
	// ([Config.UnknownRetention]): then the next request runs, with [Attempt.Prior] set. The default.
	Refuse OnUnknown = iota + 1

	// Rerun takes the record over and runs the handler again, with [Attempt.Prior] set. For handlers whose
	// every effect may be repeated: it carries a downstream key, or looks for an earlier effect first.
	Rerun
)

// The defaults of [Config], and the limits of a [Request].
const (
	DefaultRetention = 24 * time.Hour // of a recorded outcome
	DefaultLease     = time.Minute    // where the context has no deadline

	// MaxKey is the longest key, in bytes. Operation and ref have the same limit.
	MaxKey = 255
)

// Bounds of times and sizes; doc.go gives the formulas that they stand in.
const (
	// clockMargin is how much the clocks of two workers may differ.
	clockMargin = 2 * time.Second

	reserveShare = 10 // the reserve is a tenth of the time left, within these bounds:
	reserveMin   = 50 * time.Millisecond
	reserveMax   = time.Second

	maxTrying = 30 * time.Second // how long a key is tried to be acquired, and an outcome to be recorded

	// maxLease is the longest lease that a context's deadline asks for: a crash blocks the key for that long.
	maxLease = 24 * time.Hour

	pollMin  = 50 * time.Millisecond
	pauseMax = time.Second // between polls, and between sends

	retryAfterMin = time.Second
	retryAfterMax = 2 * time.Second

	maxScope     = 1024
	minRetention = time.Second                // expiries are in seconds
	maxRetention = 100 * 365 * 24 * time.Hour // keeps every sum of times within range
	minSecret    = 16
)

// Config of a [Runner]. The zero value of every field but Table is a documented default.
type Config struct {
	// Table is the DynamoDB table's name or ARN. Required. See [Table] for its shape.
	Table string

	// Retention is how long a recorded outcome is replayed, counted from completion; at least 1 s. It must outlive the
	// longest redelivery of the function's trigger (an SQS queue keeps a message for up to 14 days, an
	// asynchronous invocation is tried for 6 hours). Defaults to 24 hours; a request can have its own.
	Retention time.Duration

	// UnknownRetention is how long a key without an outcome stays protected (in progress, released or
	// unknown), counted from the end of the attempt's lease; after that a re-execution is possible. Defaults
	// to the longer of the retention and 24 hours, and is never shorter than the request's retention. Where
	// money is at stake, make it longer than it takes a person to look, weekends included.
	UnknownRetention time.Duration

	// Lease is how long an attempt owns its record. Zero: as long as the context's deadline asks for, at most 24 hours (Lambda's
	// time-out), or 1 minute where the context has none; the handler's context then ends 3 s before it. A lease that
	// is set must cover the context's deadline and 2 s for clocks that differ, or the request is refused.
	Lease time.Duration

	// Reserve is the time kept back for recording the outcome: the handler's context ends that long before the
	// caller's. A quarter of it, at most 100 ms, is for the answer: what is told at the deadline nobody hears. Defaults to a
	// tenth of the time left, at least 50 ms and at most 1 s.
	Reserve time.Duration

	// Wait is how long a concurrent duplicate waits for the first attempt's answer before it gets
	// [ErrInProgress]; never longer than until a handler's deadline. Defaults to 0, not at all; a request can
	// have its own.
	Wait time.Duration

	// OnUnknown is the policy for an unknown outcome. Defaults to [Refuse]; a request can have its own.
	OnUnknown OnUnknown

	// Classify overrides the default table of what an unmarked error of the handler means (see the package
	// comment); it returns 0 for errors that it leaves to the table.
	Classify func(error) Class

	// Failure rebuilds the user's own error from a replayed terminal failure. It may return nil for failures
	// that it does not know: the [Failure] itself is then returned, as it is by default.
	Failure func(*Failure) error

	// Secrets switches the ids from SHA-256 to HMAC-SHA-256, for keys that could be guessed from their hash,
	// such as e-mail addresses. Each has at least 16 bytes. The first one writes; all are asked, with
	// one read each before a request acquires its key, and the others once more after that, so that a secret can be rotated: deploy
	// {old, new}, then {new, old}, and drop the old one when the longest retention is over. An empty secret
	// beside others stands for SHA-256, to rotate from it. A secret that is changed without this makes every
	// key inside its window run again.
	//
	// Deploy each order to all workers before the next one. While workers of two orders run side by side, two
	// handlers never overlap; but if two different requests with one new key meet at that moment, and a worker
	// dies or loses its connection in between, the key can end up bound to both. A [SingleShot] whose transaction meets
	// another request's claim gets [ErrNotRecorded] then, with a time to ask again: the claim can be given back as if it had
	// never been, and a copy of the transaction that is still on its way commits.
	Secrets [][]byte

	// Inline is the longest answer, in bytes as it is stored, that is kept in the record itself. A longer one is kept in items
	// beside it, up to 7.5 MiB: that costs a call and a write unit more in a first run, a read more in a replay, and saves each
	// replay the write units of the answer's size, which DynamoDB bills for a condition that fails. Defaults to
	// [DefaultInline], 1.5 KB, with which a replay is billed at most two write units, unless operation and ref are long; at most
	// 392 KB. An answer of more than half a KB is compressed before, where that saves a write unit.
	Inline int

	// Codec seals what is stored of answers and steps; see [NewSealer]. Defaults to none: they are stored in clear.
	Codec Codec

	// Cache is how many recorded outcomes of up to 64 KB the process remembers, to replay them without asking the table.
	// What the memory holds is not lost when a record is deleted: see CacheMaxAge. While there are several Secrets nothing is
	// remembered. Defaults to 0, none.
	Cache int

	// CacheMaxAge is how long an outcome is remembered at most. Defaults to no limit but its window's end.
	CacheMaxAge time.Duration

	// Observe is told of every step of the protocol, in the goroutine of the request, after the step; of [Lookup]
	// only of replays and of a table that cannot be asked. It must
	// be safe for concurrent use and quick. See [Event] and [Log].
	Observe func(context.Context, Event)

	// Now is the clock; defaults to time.Now. For tests: a worker's clock that is ahead or behind.
	Now func() time.Time

	// Schema names the table's attributes.
	Schema Schema
}

// Runner runs handlers under idempotency keys, on one table. It is safe for concurrent use; one Runner serves
// any number of operations. Make it once, outside of the handler.
type Runner struct {
	cfg     Config
	table   table
	results sync.Map // reflect.Type → *resultType
	cache   *cache   // nil: none
	deflater
	canonicals sync.Pool // *canonical
}

// New returns a Runner on the client's table. It asks nothing of the table. A setting that cannot be right is
// refused with a [FieldError].
func New(client Client, cfg Config) (*Runner, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if v := reflect.ValueOf(client); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, invalid("client", "nil", "a DynamoDB client is required, such as dynamodb.NewFromConfig returns")
	}
	return &Runner{cfg: cfg, table: newTable(client, cfg), cache: newCache(cfg)}, nil
}

// withDefaults returns a copy in which every zero value that has a default has it.
func (c Config) withDefaults() Config {
	if c.Retention == 0 {
		c.Retention = DefaultRetention
	}
	if c.UnknownRetention == 0 {
		c.UnknownRetention = max(c.Retention, DefaultRetention)
	}
	if c.OnUnknown == 0 {
		c.OnUnknown = Refuse
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Inline == 0 {
		c.Inline = DefaultInline
	}
	c.Schema = c.Schema.withDefaults()
	c.Secrets = slices.Clone(c.Secrets)
	for i := range c.Secrets {
		c.Secrets[i] = slices.Clone(c.Secrets[i])
	}
	return c
}

func (c Config) validate() error {
	if c.Table == "" {
		return invalid("Config.Table", "empty", "the table's name is required")
	}
	if !strings.HasPrefix(c.Table, "arn:") && (len(c.Table) < 3 || len(c.Table) > 255 || strings.ContainsFunc(c.Table, notInTableName)) {
		return invalid("Config.Table", fmt.Sprintf("%q", c.Table), "must be an ARN, or 3 to 255 of a-z, A-Z, 0-9, '_', '-' and '.'")
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{
		{"Config.Retention", c.Retention},
		{"Config.UnknownRetention", c.UnknownRetention},
		{"Config.Lease", c.Lease},
		{"Config.Reserve", c.Reserve},
		{"Config.Wait", c.Wait},
		{"Config.CacheMaxAge", c.CacheMaxAge},
	} {
		if err := validDuration(d.field, d.value); err != nil {
			return err
		}
		if d.value > 0 && d.value < time.Millisecond {
			return invalid(d.field, d.value.String(), "must be at least 1ms; is the unit missing?")
		}
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"Config.Retention", c.Retention}, {"Config.UnknownRetention", c.UnknownRetention}} {
		if err := validRetention(d.field, d.value); err != nil {
			return err
		}
	}
	if shortest := clockMargin + max(c.Reserve, reserveMin); c.Lease > 0 && c.Lease <= shortest {
		return invalid("Config.Lease", c.Lease.String(), fmt.Sprintf("must be longer than %s, which clocks may differ by and the outcome needs", shortest))
	}
	if err := validPolicy("Config.OnUnknown", c.OnUnknown); err != nil {
		return err
	}
	if c.Inline < 0 || c.Inline > maxInline {
		return invalid("Config.Inline", strconv.Itoa(c.Inline), fmt.Sprintf("must be 1 to %d bytes, or 0 for the default", maxInline))
	}
	if c.Cache < 0 {
		return invalid("Config.Cache", strconv.Itoa(c.Cache), "must not be negative")
	}
	if c.CacheMaxAge > 0 && c.Cache == 0 {
		return invalid("Config.CacheMaxAge", c.CacheMaxAge.String(), "goes with a Cache")
	}
	if sealer, ok := c.Codec.(*Sealer); ok && (sealer == nil || len(sealer.keys) == 0) {
		return invalid("Config.Codec", "a Sealer without keys", "is made with NewSealer, whose error must be looked at")
	}
	if v := reflect.ValueOf(c.Codec); v.IsValid() && v.Kind() == reflect.Pointer && v.IsNil() {
		return invalid("Config.Codec", fmt.Sprintf("a nil %T", c.Codec), "must be made, or left out: an interface that holds a nil pointer is not nil")
	}
	for i, secret := range c.Secrets {
		if plain := len(secret) == 0 && len(c.Secrets) > 1; len(secret) < minSecret && !plain {
			return invalid(fmt.Sprintf("Config.Secrets[%d]", i), fmt.Sprintf("%d bytes long", len(secret)), fmt.Sprintf("at least %d bytes are needed", minSecret))
		}
	}
	return c.Schema.validate()
}

func notInTableName(c rune) bool {
	return c != '_' && c != '-' && c != '.' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
}

func validDuration(field string, d time.Duration) error {
	switch {
	case d < 0:
		return invalid(field, d.String(), "must not be negative")
	}
	if d > maxRetention {
		return invalid(field, d.String(), "must be at most 100 years")
	}
	return nil
}

func validRetention(field string, d time.Duration) error {
	if d != 0 && d < minRetention {
		return invalid(field, d.String(), fmt.Sprintf("must be at least %s; is the unit missing?", minRetention))
	}
	return nil
}

func validPolicy(field string, p OnUnknown) error {
	if p != Refuse && p != Rerun {
		return invalid(field, fmt.Sprintf("%d", p), "must be Refuse or Rerun")
	}
	return nil
}
