package idempotency

import (
	"slices"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// cacheBody is the longest body that is remembered, in bytes: it bounds the memory that a number of records takes.
const cacheBody = 64 << 10

// cache remembers recorded outcomes, which do not change inside of their window. Nothing else is remembered, and what is found
// decides nothing but a replay (rule 24).
type cache struct {
	records *lru.Cache[string, remembered] // by id
	maxAge  time.Duration                  // 0: no limit
}

type remembered struct {
	rec   *record // its body unpacked, and nobody else's
	since time.Time
}

// newCache returns nil if there is to be none: by default, and while secrets rotate, when a key may have another record (rule 27).
func newCache(cfg Config) *cache {
	if cfg.Cache == 0 || len(cfg.Secrets) > 1 {
		return nil
	}
	records, _ := lru.New[string, remembered](cfg.Cache) // a positive size is no error
	return &cache{records, cfg.CacheMaxAge}
}

// cached is a remembered outcome that is this very request's, or nil: the clock and the fingerprint decide as for one that the
// table returns, and a mismatch is the table's to tell.
func (c *call) cached() *record {
	if c.r.cache == nil {
		return nil
	}
	found, ok := c.r.cache.records.Get(c.id)
	now := c.r.wallNow()
	if !ok || found.rec.expired(now) || c.match(found.rec) != nil {
		return nil
	}
	age := now.Sub(found.since) // less than none: the clock has been put back, and nothing is known of it
	if maxAge := c.r.cache.maxAge; maxAge > 0 && (age < 0 || age >= maxAge) {
		return nil
	}
	c.hit = true
	return found.rec.withBody(found.rec.body)
}

// remember keeps a finished record, with its body as it was before it was packed.
func (c *call) remember(rec *record, data []byte) {
	if c.r.cache == nil || c.hit || len(data) > cacheBody {
		return
	}
	own := rec.withBody(stored{encoding: packing{reference: rec.body.encoding.reference}, data: data})
	c.r.cache.records.Add(c.id, remembered{own, c.r.wallNow()})
}

// withBody is a copy that shares nothing: what a caller does to its answer, or a type's own UnmarshalJSON to the bytes that it
// is given, must not change the next one (C34).
func (rec *record) withBody(body stored) *record {
	own := *rec
	own.body = body
	own.body.data = slices.Clone(body.data)
	return &own
}
