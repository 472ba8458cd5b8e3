package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/oncekey/oncekey/idempotency"
)

func costCommand() *command {
	return &command{
		name: "cost", args: "-rate 1000 [-retries 5%] [-size 2KB] [-retention 24h] [-read-first] [-unknown-scan 5m]", summary: "Say what a load costs, by DynamoDB's list prices", timeout: 0,
		more: `
It asks nobody, and needs no rights. Compare with the bill; the prices are those of us-east-1, on demand.`,
		define: func(fs *flag.FlagSet) func(context.Context, *program, []string) error {
			c := &coster{load: load{Retries: 0.05, Size: 2000, Retention: idempotency.DefaultRetention}}
			fs.Float64Var(&c.load.Rate, "rate", 0, "first requests a `second`; required")
			fs.Func("retries", "how many of them come again, as 5% or 0.05, a `share` (default 5%)", func(s string) error { return readShare(s, &c.load.Retries) })
			fs.Func("size", "of what is stored of an answer, compressed, with its record, a `size` such as 2KB or 2048 (default 2KB)", func(s string) error { return readSize(s, &c.load.Size) })
			fs.DurationVar(&c.load.Retention, "retention", c.load.Retention, "how long an outcome is kept, a `time`")
			fs.BoolVar(&c.load.ReadFirst, "read-first", false, "the requests have Request.ReadFirst: a replay is a read, and a first run has one more")
			fs.DurationVar(&c.load.UnknownScan, "unknown-scan", 0, "scan for unknown outcomes once in this `time`")
			fs.BoolVar(&c.json, "json", false, "write JSON")
			return c.run
		},
	}
}

type coster struct {
	load load
	json bool
}

func (c *coster) run(_ context.Context, p *program, args []string) error {
	l := c.load
	switch {
	case len(args) > 0:
		return usage("unknown argument %q: cost has flags only", args[0])
	case !(l.Rate > 0) || math.IsInf(l.Rate, 0):
		return usage("-rate is %v, must be more than 0 requests a second", l.Rate)
	case l.Retention < time.Second:
		return usage("-retention is %s, must be at least 1s; is the unit missing?", l.Retention)
	case l.UnknownScan < 0:
		return usage("-unknown-scan is %s, must not be negative", l.UnknownScan)
	}
	l.Hours, l.ScanMinutes = l.Retention.Hours(), l.UnknownScan.Minutes()
	if c.json {
		return document(p.stdout, struct {
			load
			price
			Assumed []string `json:"assumed"`
		}{l, l.price(), l.assumed()}, "  ")
	}
	l.write(p)
	return nil
}

func (l load) assumed() []string {
	readFirst := "no request reads its record first; -read-first says what that costs"
	if l.ReadFirst {
		readFirst = "every request reads its record first (Request.ReadFirst), eventually consistent"
	}
	return []string{
		fmt.Sprintf("us-east-1 on demand, list prices of 2025: $%v a million write units, $%v a million read units, $%v a GB and month; a month is 30 days", writePrice, readPrice, storagePrice),
		"the load is even, and every retry comes after the first answer, inside the window",
		readFirst,
		fmt.Sprintf("Config.Inline is the default: a record with its answer has up to %d bytes; a longer answer is in items of up to %d beside a record of %d", inlineRecord, besideAnswer, pointerSize),
		"an answer is compressed before that, where it saves a write unit: -size is what is left of it, with the record",
		fmt.Sprintf("a claim has at most %d bytes; KB is 1000 bytes, units are DynamoDB's: %d bytes written, %d read", claimSize, writeUnit, readUnit),
		fmt.Sprintf("records go when they expire, and what is beside them %s later; time to live may take days longer, and storage grows with it", span(besideLonger)),
		"no steps, staged writes, indexes, backups or replicas, which cost more; no cache (Config.Cache), which makes replays cheaper",
	}
}

func (l load) write(p *program) {
	c := l.price()
	t := newTable(p.stdout)
	t.row("requests", grouped(c.Requests)+" a second")
	t.row("records", grouped(c.RecordsADay)+" a day, "+grouped(c.Records)+" in the table, "+c.answers())
	t.row("storage", fmt.Sprintf("%s GB, billed as %s GB", short(c.Data), short(c.Billed)))
	t.row("write units", perRequest(c.FirstUnits, c.ReplayUnits, c.WriteUnits))
	if c.ReadUnits > 0 {
		t.row("read units", perRequest(c.FirstReads, c.ReplayReads, c.ReadUnits))
	}
	t.row("a scan", fmt.Sprintf("%s read units, for unknown outcomes%s", grouped(c.ScanUnits), l.pace(c)))
	t.row()
	t.row("a million first runs", dollars(c.MillionFirsts))
	t.row("a million replays", dollars(c.MillionReplays))
	t.row("a million requests", dollars(c.Million)+" of this mixture")
	t.row("a scan", dollars(c.ScanPrice))
	t.row()
	t.row("writes", dollars(c.WritesAMonth)+" a month")
	if c.ReadUnits > 0 {
		t.row("reads", dollars(c.ReadsAMonth)+" a month")
	}
	t.row("storage", dollars(c.StorageAMonth)+" a month")
	if l.UnknownScan > 0 {
		t.row("scans", dollars(c.ScansAMonth)+" a month")
	}
	t.row("together", dollars(c.Month)+" a month")
	t.flush()
	say(p.stdout, "\nAssumed:\n")
	for _, a := range l.assumed() {
		say(p.stdout, "  - %s\n", a)
	}
}

// answers says where they are.
func (c price) answers() string {
	switch c.Items {
	case 1:
		return "with their answers"
	case 2:
		return "each with its answer in an item beside it"
	}
	return fmt.Sprintf("each with its answer in %v items beside it", c.Items-1)
}

func perRequest(first, replay, second float64) string {
	return fmt.Sprintf("%s a first run, %s a replay; %s a second%s", short(first), short(replay), grouped(second), overQuota(second))
}

func (l load) pace(c price) string {
	if l.UnknownScan == 0 {
		return ""
	}
	return fmt.Sprintf("; one each %s: %s a second%s", span(l.UnknownScan), grouped(c.ScanRate), overQuota(c.ScanRate))
}

func overQuota(units float64) string {
	if units <= tableUnits {
		return ""
	}
	return fmt.Sprintf(", more than the %s that a table has by default", grouped(tableUnits))
}

func dollars(d float64) string {
	if d < 0.995 {
		return "$" + rounded(d, 2)
	}
	whole, cents, _ := strings.Cut(strconv.FormatFloat(d, 'f', 2, 64), ".")
	return "$" + inGroups(whole) + "." + cents
}

// grouped is a whole number, or two digits of one that is small.
func grouped(f float64) string {
	if f < 10 {
		return rounded(f, 2)
	}
	return inGroups(strconv.FormatFloat(f, 'f', 0, 64))
}

// short is a whole number, or three digits of one that is small.
func short(f float64) string {
	if f < 100 {
		return rounded(f, 3)
	}
	return grouped(f)
}

// rounded is a number with that many digits, as 0.0079.
func rounded(f float64, digits int) string {
	f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'g', digits, 64), 64)
	return strconv.FormatFloat(f, 'f', -1, 64)
}

func inGroups(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// readShare reads 5%, or 0.05. More than all can come again: each retry counts.
func readShare(s string, to *float64) error {
	number, percent := strings.CutSuffix(s, "%")
	f, err := strconv.ParseFloat(number, 64)
	if percent {
		f /= 100
	}
	if err != nil || !(f >= 0 && f <= 1000) {
		return fmt.Errorf("must be a share such as 5%% or 0.05")
	}
	*to = f
	return nil
}

// readSize reads 2KB (2000 bytes), 2KiB (2048), the same with M, or bytes.
func readSize(s string, to *float64) error {
	number := strings.TrimRight(s, "kKMiB")
	unit, ok := map[string]float64{"": 1, "B": 1, "KB": 1000, "kB": 1000, "KiB": 1 << 10, "MB": 1e6, "MiB": 1 << 20}[s[len(number):]]
	f, err := strconv.ParseFloat(number, 64)
	if f *= unit; err != nil || !ok || !(f >= 1 && f <= maxAnswer) {
		return fmt.Errorf("must be a size from 1 byte to %v MiB, the most that is stored of an answer, such as 2KB or 2048", float64(maxAnswer)/(1<<20))
	}
	*to = f
	return nil
}
