package main

import (
	"math"
	"time"
)

// The list prices of DynamoDB on demand in us-east-1, in dollars, without its free tier; as seen on pages of third parties in
// 2025. Other regions are dearer, by up to a half.
const (
	writePrice   = 0.625 // a million write units
	readPrice    = 0.125 // a million read units
	storagePrice = 0.25  // a GB and month
)

// How DynamoDB counts, by its documentation.
const (
	writeUnit  = 1024   // bytes of the item that is written, or that a failed condition has found, begun ones counting whole
	readUnit   = 4096   // bytes; a scan adds up what it reads, and costs half
	overhead   = 100    // bytes of each item that storage is billed for besides
	tableUnits = 40_000 // read units, and write units, that a table on demand has a second, unless a quota is raised
	day        = 24 * time.Hour
	month      = 30 * day
)

// claimSize is what a record has before its outcome: one write unit, unless its ref and steps are long.
const claimSize = 600

// load is what is asked of a table.
type load struct {
	Rate        float64       `json:"rate"`           // first requests a second
	Retries     float64       `json:"retries"`        // of these, how many come again
	Size        float64       `json:"sizeBytes"`      // of a record with its outcome
	Retention   time.Duration `json:"-"`              // of an outcome
	UnknownScan time.Duration `json:"-"`              // between two scans for unknowns; 0: none
	Hours       float64       `json:"retentionHours"` // Retention, for a program
	ScanMinutes float64       `json:"unknownScanMinutes,omitempty"`
}

// price is what a load costs.
type price struct {
	Requests       float64 `json:"requestsPerSecond"`
	RecordsADay    float64 `json:"recordsPerDay"`
	Records        float64 `json:"records"` // in the table, once as many expire as are made
	Data           float64 `json:"storageGB"`
	Billed         float64 `json:"billedStorageGB"` // with DynamoDB's overhead
	FirstUnits     float64 `json:"writeUnitsFirstRun"`
	ReplayUnits    float64 `json:"writeUnitsReplay"`
	WriteUnits     float64 `json:"writeUnitsPerSecond"`
	MillionFirsts  float64 `json:"dollarsPerMillionFirstRuns"`
	MillionReplays float64 `json:"dollarsPerMillionReplays"`
	Million        float64 `json:"dollarsPerMillionRequests"` // of the mixture
	WritesAMonth   float64 `json:"dollarsPerMonthWrites"`
	StorageAMonth  float64 `json:"dollarsPerMonthStorage"`
	ScanUnits      float64 `json:"readUnitsPerScan"`
	ScanPrice      float64 `json:"dollarsPerScan"`
	ScanRate       float64 `json:"readUnitsPerSecondOfScans,omitempty"` // to end before the next one begins
	ScansAMonth    float64 `json:"dollarsPerMonthScans,omitempty"`
	Month          float64 `json:"dollarsPerMonth"`
}

// price computes. A first run is two writes, the claim and the outcome, each billed by the larger of the item before and
// after; a replay is one write whose condition fails, billed by the record that is there.
func (l load) price() price {
	var p price
	units := func(bytes float64) float64 { return max(1, math.Ceil(bytes/writeUnit)) }
	p.Requests = l.Rate * (1 + l.Retries)
	p.RecordsADay = l.Rate * day.Seconds()
	p.Records = l.Rate * l.Retention.Seconds()
	p.Data = p.Records * l.Size / 1e9
	p.Billed = p.Records * (l.Size + overhead) / 1e9
	p.FirstUnits = units(min(claimSize, l.Size)) + units(l.Size)
	p.ReplayUnits = units(l.Size)
	perFirst := p.FirstUnits + l.Retries*p.ReplayUnits
	p.WriteUnits = l.Rate * perFirst
	p.MillionFirsts = p.FirstUnits * writePrice
	p.MillionReplays = p.ReplayUnits * writePrice
	p.Million = perFirst / (1 + l.Retries) * writePrice
	p.WritesAMonth = p.WriteUnits * month.Seconds() / 1e6 * writePrice
	p.StorageAMonth = p.Billed * storagePrice
	p.ScanUnits = p.Records * l.Size / readUnit / 2
	p.ScanPrice = p.ScanUnits / 1e6 * readPrice
	if l.UnknownScan > 0 {
		p.ScanRate = p.ScanUnits / l.UnknownScan.Seconds()
		p.ScansAMonth = p.ScanPrice * month.Seconds() / l.UnknownScan.Seconds()
	}
	p.Month = p.WritesAMonth + p.StorageAMonth + p.ScansAMonth
	return p
}
