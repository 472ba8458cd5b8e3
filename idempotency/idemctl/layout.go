package main

import (
	"math"
	"time"
)

// How the library stores an answer, under the defaults of its Config: in the record if that has up to 2 KB then, otherwise in
// items beside it. A test holds these figures against the bill.
const (
	inlineRecord = 2 << 10        // the largest record with its answer in it
	claimSize    = 600            // what a record has before its outcome: one write unit, unless its ref and steps are long
	pointerSize  = 450            // a record whose answer is beside it
	besideAnswer = 384 << 10      // the most of an answer in an item beside the record
	besideOwn    = 140            // what such an item has besides
	besideLonger = 25 * time.Hour // than its record, until it expires

	maxAnswer = 20 * besideAnswer // the most that is stored of one: 7.5 MiB
)

// layout is how an answer is stored: the bytes of the record, and of each item beside it.
type layout struct {
	record float64
	beside []float64
}

// layoutOf is the layout of an answer that has that many bytes in the table, with its record.
func layoutOf(size float64) layout {
	if size <= inlineRecord {
		return layout{record: size}
	}
	l := layout{record: pointerSize}
	for rest := size - pointerSize; rest > 0; rest -= besideAnswer + besideOwn {
		l.beside = append(l.beside, min(rest, besideAnswer+besideOwn))
	}
	return l
}

// writeUnits of an item that is written, or that a failed condition has found.
func writeUnits(size float64) float64 { return max(1, math.Ceil(size/writeUnit)) }

// readUnits of an item that is read, or of none, eventually consistent.
func readUnits(size float64) float64 { return max(1, math.Ceil(size/readUnit)) / 2 }

// sum adds up what each item beside the record costs, or has.
func (l layout) sum(of func(size float64) float64) (sum float64) {
	for _, size := range l.beside {
		sum += of(size)
	}
	return sum
}
