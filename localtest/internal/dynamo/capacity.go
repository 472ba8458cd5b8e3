package dynamo

import (
	"maps"
	"slices"
)

// usage is what a request consumed, table by table.
type usage map[string]consumption

// consumption is what was consumed of a table and, by their names, of its indexes.
type consumption struct {
	table         units
	local, global map[string]units
}

type units struct{ read, write float64 }

func (u units) add(v units) units { return units{u.read + v.read, u.write + v.write} }

// add counts what was consumed of the table, or of an index of it, if there is one.
func (u usage) add(table string, x *index, n units) {
	c := u[table]
	switch {
	case x == nil:
		c.table = c.table.add(n)
	case x.local:
		c.local = count(c.local, x.name, n)
	default:
		c.global = count(c.global, x.name, n)
	}
	u[table] = c
}

func count(indexes map[string]units, name string, n units) map[string]units {
	if indexes == nil {
		indexes = map[string]units{}
	}
	indexes[name] = indexes[name].add(n)
	return indexes
}

func (u usage) read(table string, n float64) { u.add(table, nil, units{read: n}) }

func (u usage) write(table string, n float64) { u.add(table, nil, units{write: n}) }

// writeIndexes counts what the writes to indexes cost, so many times.
func (u usage) writeIndexes(table string, writes []entryWrite, times float64) {
	for _, w := range writes {
		u.add(table, w.index, units{write: times * w.units()})
	}
}

func (c consumption) total() units {
	t := c.table
	for _, n := range c.local {
		t = t.add(n)
	}
	for _, n := range c.global {
		t = t.add(n)
	}
	return t
}

func (u usage) total() units {
	var t units
	for _, c := range u {
		t = t.add(c.total())
	}
	return t
}

// writeUnits bills a write by the larger of the item before and after, 1 KB a unit, at least one.
func writeUnits(sizes ...int) float64 { return ceil(slices.Max(sizes), 1<<10) }

// readUnits bills a read, 4 KB a unit, at least one; half of it if the read may be stale.
func readUnits(size int, consistent bool) float64 {
	n := ceil(size, 4<<10)
	if !consistent {
		n /= 2
	}
	return n
}

func ceil(size, unit int) float64 { return float64(max(1, (size+unit-1)/unit)) }

// consumed is the ConsumedCapacity member of a reply.
type consumed struct {
	TableName string
	capacity
	Table                                         *capacity           `json:",omitempty"`
	LocalSecondaryIndexes, GlobalSecondaryIndexes map[string]capacity `json:",omitempty"`
}

type capacity struct {
	CapacityUnits      float64
	ReadCapacityUnits  *float64 `json:",omitempty"`
	WriteCapacityUnits *float64 `json:",omitempty"`
}

// capacity is what is reported of the units. Transactions tell reads and writes apart.
func (u units) capacity(transaction bool) capacity {
	c := capacity{CapacityUnits: u.read + u.write}
	if transaction && u.read > 0 {
		c.ReadCapacityUnits = &u.read
	}
	if transaction && u.write > 0 {
		c.WriteCapacityUnits = &u.write
	}
	return c
}

// report lists the usage for ReturnConsumedCapacity; nil if it was not asked for.
func (u usage) report(mode string, transaction bool) []consumed {
	if mode == "" || mode == "NONE" {
		return nil
	}
	var list []consumed
	for _, table := range slices.Sorted(maps.Keys(u)) {
		c := u[table]
		r := consumed{TableName: table, capacity: c.total().capacity(transaction)}
		if mode == "INDEXES" {
			of := c.table.capacity(transaction)
			r.Table = &of
			r.LocalSecondaryIndexes = capacities(c.local, transaction)
			r.GlobalSecondaryIndexes = capacities(c.global, transaction)
		}
		list = append(list, r)
	}
	return list
}

func capacities(indexes map[string]units, transaction bool) map[string]capacity {
	m := make(map[string]capacity, len(indexes))
	for name, n := range indexes {
		m[name] = n.capacity(transaction)
	}
	return m
}

// reportOne is the report of a request on one table.
func (u usage) reportOne(mode string) *consumed {
	if list := u.report(mode, false); len(list) > 0 {
		return &list[0]
	}
	return nil
}

func checkReturnConsumedCapacity(mode string) error {
	switch mode {
	case "", "NONE", "TOTAL", "INDEXES":
		return nil
	}
	return violation(mode, "returnConsumedCapacity", "Member must satisfy enum value set: [INDEXES, TOTAL, NONE]")
}

// checkReports checks what a write asks to be told of.
func checkReports(capacity, metrics string) error {
	switch metrics {
	case "", "NONE", "SIZE":
		return checkReturnConsumedCapacity(capacity)
	}
	return violation(metrics, "returnItemCollectionMetrics", "Member must satisfy enum value set: [SIZE, NONE]")
}
