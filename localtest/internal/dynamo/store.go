package dynamo

import (
	"cmp"
	"hash/fnv"
	"iter"
	"math/bits"
	"slices"
)

// rows are the items of one table, or the entries of one index, found by key, in order of the sort key within a
// partition, and of the partition's hash over the whole. They have no lock of their own.
type rows struct {
	byHash  map[string]*partition
	buckets [1 << bucketBits][]*partition // by the hash's first bits, each in order
	items   int
	bytes   int
}

const bucketBits = 11

// partition are the items that share a partition key.
type partition struct {
	place place
	rows  []row // in order of the sort key, entries of an index then in order of the table's key
}

type row struct {
	sort *value
	base *key
	item *item
}

// compare orders a row and a key of one partition.
func (r row) compare(k key) int {
	if k.sort != nil {
		if c, _ := r.sort.compare(k.sort); c != 0 { // of one kind, by the schema
			return c
		}
	}
	if k.base == nil {
		return 0
	}
	if c := cmp.Compare(r.base.hash, k.base.hash); c != 0 || k.base.sort == nil {
		return c
	}
	c, _ := r.base.sort.compare(k.base.sort)
	return c
}

// place is where a partition stands in the order of a scan.
type place struct {
	hash uint64
	key  string
}

func placeOf(hashKey string) place {
	h := fnv.New64a()
	_, _ = h.Write([]byte(hashKey)) // never fails
	// FNV leaves the first bits of short similar keys alike; they choose bucket and segment.
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	return place{x, hashKey}
}

func (p place) compare(q place) int {
	return cmp.Or(cmp.Compare(p.hash, q.hash), cmp.Compare(p.key, q.key))
}

func (p place) bucket() int { return int(p.hash >> (64 - bucketBits)) }

// segment is the part of a parallel scan that the place belongs to.
func (p place) segment(total int) int {
	high, _ := bits.Mul64(p.hash, uint64(total))
	return int(high)
}

func newRows() *rows { return &rows{byHash: map[string]*partition{}} }

func (p *partition) search(k key) (int, bool) { return slices.BinarySearchFunc(p.rows, k, row.compare) }

// get is the item with the key, nil if there is none.
func (r *rows) get(k key) *item {
	p := r.byHash[k.hash]
	if p == nil {
		return nil
	}
	if i, found := p.search(k); found {
		return p.rows[i].item
	}
	return nil
}

// put stores an item in place of the one with its key; nil deletes.
func (r *rows) put(k key, it *item) {
	p := r.byHash[k.hash]
	if p == nil {
		if it == nil {
			return
		}
		p = r.addPartition(k.hash)
	}
	i, found := p.search(k)
	switch {
	case found && it != nil:
		r.bytes -= p.rows[i].item.size
		p.rows[i].item = it
		r.bytes += it.size
	case found:
		r.items--
		r.bytes -= p.rows[i].item.size
		if p.rows = slices.Delete(p.rows, i, i+1); len(p.rows) == 0 {
			r.removePartition(p)
		}
	case it != nil:
		r.items++
		r.bytes += it.size
		p.rows = slices.Insert(p.rows, i, row{k.sort, k.base, it})
	}
}

func (r *rows) addPartition(hashKey string) *partition {
	p := &partition{place: placeOf(hashKey)}
	r.byHash[hashKey] = p
	b := &r.buckets[p.place.bucket()]
	i, _ := searchPlace(*b, p.place)
	*b = slices.Insert(*b, i, p)
	return p
}

func (r *rows) removePartition(p *partition) {
	delete(r.byHash, p.place.key)
	b := &r.buckets[p.place.bucket()]
	if i, found := searchPlace(*b, p.place); found {
		*b = slices.Delete(*b, i, i+1)
	}
}

func searchPlace(b []*partition, at place) (int, bool) {
	return slices.BinarySearchFunc(b, at, func(p *partition, at place) int { return p.place.compare(at) })
}

// scan goes over the items behind the given key (nil: over all) in the table's order.
func (r *rows) scan(after *key) iter.Seq2[place, *item] {
	return func(yield func(place, *item) bool) {
		start := place{}
		if after != nil {
			start = placeOf(after.hash)
		}
		for b := start.bucket(); b < len(r.buckets); b++ {
			i, _ := searchPlace(r.buckets[b], start)
			for _, p := range r.buckets[b][i:] {
				from := 0
				if after != nil && p.place == start {
					from = p.behind(*after)
				}
				for _, row := range p.rows[from:] {
					if !yield(p.place, row.item) {
						return
					}
				}
			}
		}
	}
}

// behind is the index of the first row after the key.
func (p *partition) behind(k key) int {
	i, found := p.search(k)
	if found {
		i++
	}
	return i
}

// query goes over one partition's items, forward or backward, behind the given key if there is one.
func (r *rows) query(hashKey string, backward bool, after *key) iter.Seq[*item] {
	return func(yield func(*item) bool) {
		p := r.byHash[hashKey]
		if p == nil {
			return
		}
		if backward {
			end := len(p.rows)
			if after != nil {
				end, _ = p.search(*after)
			}
			for _, row := range slices.Backward(p.rows[:end]) {
				if !yield(row.item) {
					return
				}
			}
			return
		}
		from := 0
		if after != nil {
			from = p.behind(*after)
		}
		for _, row := range p.rows[from:] {
			if !yield(row.item) {
				return
			}
		}
	}
}
