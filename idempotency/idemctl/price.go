package main

import "time"

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
	readUnit   = 4096   // bytes of an item, begun ones counting whole, at half a unit; a scan adds up what it reads
	overhead   = 100    // bytes of each item that storage is billed for besides
	tableUnits = 40_000 // read units, and write units, that a table on demand has a second, unless a quota is raised
	day        = 24 * time.Hour
	month      = 30 * day
)

// load is what is asked of a table.
type load struct {
	Rate        float64       `json:"rate"`           // first requests a second
	Retries     float64       `json:"retries"`        // of these, how many come again
	Size        float64       `json:"sizeBytes"`      // of an answer as it is stored, with its record
	Retention   time.Duration `json:"-"`              // of an outcome
	UnknownScan time.Duration `json:"-"`              // between two scans for unknowns; 0: none
	ReadFirst   bool          `json:"readFirst"`      // as Request.ReadFirst
	Hours       float64       `json:"retentionHours"` // Retention, for a program
	ScanMinutes float64       `json:"unknownScanMinutes,omitempty"`
}

// price is what a load costs.
type price struct {
	Requests       float64 `json:"requestsPerSecond"`
	RecordsADay    float64 `json:"recordsPerDay"`
	Records        float64 `json:"records"`        // in the table, once as many expire as are made
	Items          float64 `json:"itemsPerRecord"` // itself, and those beside it
	Data           float64 `json:"storageGB"`
	Billed         float64 `json:"billedStorageGB"` // with DynamoDB's overhead
	FirstUnits     float64 `json:"writeUnitsFirstRun"`
	ReplayUnits    float64 `json:"writeUnitsReplay"`
	WriteUnits     float64 `json:"writeUnitsPerSecond"`
	FirstReads     float64 `json:"readUnitsFirstRun"`
	ReplayReads    float64 `json:"readUnitsReplay"`
	ReadUnits      float64 `json:"readUnitsPerSecond"`
	MillionFirsts  float64 `json:"dollarsPerMillionFirstRuns"`
	MillionReplays float64 `json:"dollarsPerMillionReplays"`
	Million        float64 `json:"dollarsPerMillionRequests"` // of the mixture
	WritesAMonth   float64 `json:"dollarsPerMonthWrites"`
	ReadsAMonth    float64 `json:"dollarsPerMonthReads"`
	StorageAMonth  float64 `json:"dollarsPerMonthStorage"`
	ScanUnits      float64 `json:"readUnitsPerScan"`
	ScanPrice      float64 `json:"dollarsPerScan"`
	ScanRate       float64 `json:"readUnitsPerSecondOfScans,omitempty"` // to end before the next one begins
	ScansAMonth    float64 `json:"dollarsPerMonthScans,omitempty"`
	Month          float64 `json:"dollarsPerMonth"`
}

// price computes. A first run writes the claim, what is beside the record, and the outcome; each write is billed by the larger
// of the item before and after. A replay is one write whose condition fails, billed by the record that is there, or one read of
// the record; and a read of what is beside.
func (l load) price() price {
	var p price
	in := layoutOf(l.Size)
	p.FirstUnits = writeUnits(min(claimSize, in.record)) + in.sum(writeUnits) + writeUnits(in.record)
	p.ReplayUnits = writeUnits(in.record)
	p.ReplayReads = in.sum(readUnits)
	if l.ReadFirst {
		p.FirstReads = readUnits(0)
		p.ReplayUnits = 0
		p.ReplayReads += readUnits(in.record)
	}
	p.Requests = l.Rate * (1 + l.Retries)
	p.WriteUnits = l.Rate * (p.FirstUnits + l.Retries*p.ReplayUnits)
	p.ReadUnits = l.Rate * (p.FirstReads + l.Retries*p.ReplayReads)
	p.MillionFirsts = p.FirstUnits*writePrice + p.FirstReads*readPrice
	p.MillionReplays = p.ReplayUnits*writePrice + p.ReplayReads*readPrice
	p.Million = (p.MillionFirsts + l.Retries*p.MillionReplays) / (1 + l.Retries)

	p.RecordsADay = l.Rate * day.Seconds()
	p.Records = l.Rate * l.Retention.Seconds()
	answers := l.Rate * (l.Retention + besideLonger).Seconds() // in the table, of those that are beside their records
	p.Items = float64(1 + len(in.beside))
	p.Data = (p.Records*in.record + answers*in.sum(func(size float64) float64 { return size })) / 1e9
	p.Billed = p.Data + (p.Records+answers*float64(len(in.beside)))*overhead/1e9
	p.ScanUnits = p.Data * 1e9 / readUnit / 2
	p.ScanPrice = p.ScanUnits / 1e6 * readPrice

	p.WritesAMonth = p.WriteUnits * month.Seconds() / 1e6 * writePrice
	p.ReadsAMonth = p.ReadUnits * month.Seconds() / 1e6 * readPrice
	p.StorageAMonth = p.Billed * storagePrice
	if l.UnknownScan > 0 {
		p.ScanRate = p.ScanUnits / l.UnknownScan.Seconds()
		p.ScansAMonth = p.ScanPrice * month.Seconds() / l.UnknownScan.Seconds()
	}
	p.Month = p.WritesAMonth + p.ReadsAMonth + p.StorageAMonth + p.ScansAMonth
	return p
}
