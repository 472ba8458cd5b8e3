package dynamo

import (
	"maps"
	"slices"
)

// usage is what a request consumed, table by table.
type usage map[string]units

type units struct{ read, write float64 }

func (u usage) read(table string, n float64) { u[table] = units{u[table].read + n, u[table].write} }

func (u usage) write(table string, n float64) { u[table] = units{u[table].read, u[table].write + n} }

func (u usage) total() units {
	var t units
	for _, one := range u {
		t.read += one.read
		t.write += one.write
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
	TableName          string
	CapacityUnits      float64
	ReadCapacityUnits  *float64 `json:",omitempty"`
	WriteCapacityUnits *float64 `json:",omitempty"`
	Table              *struct {
		CapacityUnits      float64
		ReadCapacityUnits  *float64 `json:",omitempty"`
		WriteCapacityUnits *float64 `json:",omitempty"`
	} `json:",omitempty"`
}

// report lists the usage for ReturnConsumedCapacity; nil if it was not asked for. Transactions tell reads and
// writes apart.
func (u usage) report(mode string, transaction bool) []consumed {
	if mode == "" || mode == "NONE" {
		return nil
	}
	var list []consumed
	for _, table := range slices.Sorted(maps.Keys(u)) {
		n := u[table]
		c := consumed{TableName: table, CapacityUnits: n.read + n.write}
		if transaction && n.read > 0 {
			c.ReadCapacityUnits = &n.read
		}
		if transaction && n.write > 0 {
			c.WriteCapacityUnits = &n.write
		}
		if mode == "INDEXES" {
			c.Table = &struct {
				CapacityUnits      float64
				ReadCapacityUnits  *float64 `json:",omitempty"`
				WriteCapacityUnits *float64 `json:",omitempty"`
			}{c.CapacityUnits, c.ReadCapacityUnits, c.WriteCapacityUnits}
		}
		list = append(list, c)
	}
	return list
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

// checkReports checks what a write asks to be told of. Only tables with local indexes have metrics of collections.
func checkReports(capacity, metrics string) error {
	switch metrics {
	case "", "NONE", "SIZE":
		return checkReturnConsumedCapacity(capacity)
	}
	return violation(metrics, "returnItemCollectionMetrics", "Member must satisfy enum value set: [SIZE, NONE]")
}
