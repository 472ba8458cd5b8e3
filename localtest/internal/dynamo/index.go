package dynamo

import (
	"maps"
	"slices"
	"strings"
)

// contents are a table's items and the entries that its indexes have of them. The two change together, under
// Engine.mu, so that no reader finds an index behind its table.
type contents struct {
	*rows
	indexes []*index // in order of their names
}

// put stores an item in place of the one with its key, nil deletes, and says what became of the indexes.
func (c *contents) put(k key, next *item) []entryWrite {
	var writes []entryWrite
	if len(c.indexes) > 0 {
		base, old := k, c.get(k)
		for _, x := range c.indexes {
			if w := x.put(&base, old, next); w.old != w.next {
				writes = append(writes, w)
			}
		}
	}
	c.rows.put(k, next)
	return writes
}

// index is the named index, nil if there is none.
func (c *contents) index(name string) *index {
	i, found := slices.BinarySearchFunc(c.indexes, name, func(x *index, name string) int { return strings.Compare(x.name, name) })
	if !found {
		return nil
	}
	return c.indexes[i]
}

// index is a secondary index. It has an entry of every item that has all attributes of the index's key.
type index struct {
	name    string
	local   bool
	schema  keySchema
	shows   map[string]bool // the attributes that entries have; nil: all
	entries *rows
}

// projects reports whether entries have the attribute, if their items have it.
func (x *index) projects(attribute string) bool { return x.shows == nil || x.shows[attribute] }

// keyOf is the key of the item's entry, nil if the item has none. base is the item's own key.
func (x *index) keyOf(base *key, it *item) *key {
	if it == nil {
		return nil
	}
	for _, k := range x.schema.attributes() {
		if it.attrs[k.name] == nil {
			return nil
		}
	}
	k := x.schema.of(it.attrs)
	k.base = base
	return &k
}

// entry is what the index shows of the item.
func (x *index) entry(it *item) *item {
	if x.shows == nil {
		return it
	}
	a := maps.Clone(it.attrs)
	maps.DeleteFunc(a, func(name string, _ *value) bool { return !x.shows[name] })
	return newItem(a)
}

// entryWrite is what a write did to an index: the entry before and after, nil where there is none. The two are the
// same one if the write changed nothing that the index shows.
type entryWrite struct {
	index     *index
	old, next *item
	moved     bool // to another place: one is deleted, another put
}

// put makes the index follow a write of the item with this key.
func (x *index) put(base *key, old, next *item) entryWrite {
	w := entryWrite{index: x}
	from, to := x.keyOf(base, old), x.keyOf(base, next)
	if from != nil {
		w.old = x.entries.get(*from)
	}
	if to != nil {
		w.next = x.entry(next)
	}
	switch {
	case from == nil && to == nil:
		return w
	case from != nil && to != nil:
		w.moved = !from.equal(*to)
		if !w.moved && w.old.equal(w.next) {
			w.next = w.old
			return w
		}
	}
	if from != nil && (to == nil || w.moved) {
		x.entries.put(*from, nil)
	}
	if to != nil {
		x.entries.put(*to, w.next)
	}
	return w
}

// equal reports whether two keys of one item's entries are the same.
func (k key) equal(l key) bool {
	return k.hash == l.hash && (k.sort == nil || k.sort.equal(l.sort))
}

func (i *item) equal(j *item) bool {
	return i.size == j.size && maps.EqualFunc(i.attrs, j.attrs, (*value).equal)
}

// units is what the write to the index costs: that of a put or delete of an entry, and of both where it moves.
func (w entryWrite) units() float64 {
	if w.moved {
		return writeUnits(w.old.size) + writeUnits(w.next.size)
	}
	return writeUnits(w.old.bytes(), w.next.bytes())
}
