package dynamo

import "slices"

const gigabyte = 1 << 30

// collectionMetrics tell how large an item collection is: the items of one partition key with their entries in local
// indexes.
type collectionMetrics struct {
	ItemCollectionKey   attrs
	SizeEstimateRangeGB [2]int
}

// collection is what is reported of the collection of the item with this key; nil in a table without local indexes,
// which has no collections.
func (t *table) collection(k key, item attrs) *collectionMetrics {
	size, found := t.contents.byHash[k.hash].bytes(), false
	for _, x := range t.contents.indexes {
		if x.local {
			size += x.entries.byHash[k.hash].bytes() // its hash key is the table's
			found = true
		}
	}
	if !found {
		return nil
	}
	gigabytes := size / gigabyte
	name := t.schema.hash.name
	return &collectionMetrics{attrs{name: item[name]}, [2]int{gigabytes, gigabytes + 1}}
}

// bytes is the size of all items of the partition; there may be none.
func (p *partition) bytes() int {
	n := 0
	if p != nil {
		for _, r := range p.rows {
			n += r.item.size
		}
	}
	return n
}

// collections are the metrics of the collections that a request wrote to, by table.
type collections map[string][]*collectionMetrics

// add reports the collection of the item with this key, once.
func (c collections) add(t *table, k key, item attrs) {
	m := t.collection(k, item)
	if m == nil {
		return
	}
	known := slices.ContainsFunc(c[t.name], func(o *collectionMetrics) bool {
		return o.ItemCollectionKey[t.schema.hash.name].equal(m.ItemCollectionKey[t.schema.hash.name])
	})
	if !known {
		c[t.name] = append(c[t.name], m)
	}
}
