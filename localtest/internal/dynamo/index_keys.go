package dynamo

import "iter"

// indexKey is an attribute that an item has and that is part of an index's key.
type indexKey struct {
	index *index
	keyAttribute
	value *value
	limit int // of its size
}

// indexKeys are the item's attributes in the keys of the indexes, in order of the indexes' names.
func (c *contents) indexKeys(a attrs) iter.Seq[indexKey] {
	return func(yield func(indexKey) bool) {
		for _, x := range c.indexes {
			limit := maxHash
			for _, k := range x.schema.attributes() {
				if v := a[k.name]; v != nil && !yield(indexKey{x, k, v, limit}) {
					return
				}
				limit = maxSort
			}
		}
	}
}

// fits checks the type and size of index keys that a write gives outright, before any item is looked at.
func (k indexKey) fits(v verb) error {
	switch {
	case k.value.kind != k.kind:
		return invalidParameter("Type mismatch for Index Key %s Expected: %s Actual: %s IndexName: %s", k.name, k.kind, k.value.kind, k.index.name)
	case k.value.size() <= k.limit:
		return nil
	case v == verbUpdate:
		return errIndexKeySize
	case k.limit == maxHash:
		return invalidParameter("Size of hashkey has exceeded the maximum size limit of%d bytes", maxHash)
	default:
		return invalidParameter("Aggregated size of all range keys has exceeded the size limit of %d bytes", maxSort)
	}
}

// filled refuses an index key without content.
func (k indexKey) filled(v verb) error {
	what, empty := k.value.empty()
	switch {
	case !empty:
		return nil
	case v == verbUpdate:
		return invalid("One or more parameter values are not valid. The update expression attempted to update a secondary index key to a value that is not supported. The AttributeValue for a key attribute cannot contain an empty %s value.", what)
	default:
		return invalid("One or more parameter values are not valid. A value specified for a secondary index key is not supported. The AttributeValue for a key attribute cannot contain an empty %s value. IndexName: %s, IndexKey: %s", what, k.index.name, k.name)
	}
}

var (
	errIndexKeySize = invalid("The update expression attempted to update the secondary index key beyond allowed size limits")
	errIndexKeyType = invalid("The update expression attempted to update the secondary index key to unsupported type")
)

// accept checks the index keys that an update worked out.
func (c *contents) accept(a attrs) error {
	if len(c.indexes) == 0 { // the common case
		return nil
	}
	for k := range c.indexKeys(a) {
		if err := k.became(); err != nil {
			return err
		}
	}
	return nil
}

func (k indexKey) became() error {
	switch {
	case k.value.kind != k.kind:
		return errIndexKeyType
	case k.value.size() > k.limit:
		return errIndexKeySize
	}
	return k.filled(verbUpdate)
}

// given are the attributes that the write gives outright, as far as they are known without the item: those of a put,
// and what an update sets to constants.
func (w *write) given() attrs {
	if w.verb != verbUpdate {
		return w.attrs
	}
	a := attrs{}
	if w.update != nil {
		for _, s := range w.update.sets {
			if c, ok := s.to.(constant); ok && len(s.path) == 1 {
				a[s.path[0].name] = c.v
			}
		}
	}
	return a
}

// fitsIndexes checks what the write gives against the keys of the table's indexes.
func (w *write) fitsIndexes(t *table) error { return w.eachIndexKey(t, indexKey.fits) }

// fillsIndexes refuses index keys without content.
func (w *write) fillsIndexes(t *table) error { return w.eachIndexKey(t, indexKey.filled) }

func (w *write) eachIndexKey(t *table, check func(indexKey, verb) error) error {
	if len(t.contents.indexes) == 0 { // the common case
		return nil
	}
	for k := range t.contents.indexKeys(w.given()) {
		if err := check(k, w.verb); err != nil {
			return err
		}
	}
	return nil
}
