package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// block is the name of the table's place in a document.
const block = "peers"

// heads are the columns' titles and how a figure is written: in which unit, and whether its ratio to the first library's
// follows.
var heads = [...]struct {
	title  string
	unit   float64
	format string
	ratio  bool
}{
	perSecond: {"operations/s", 1, "%.0f", true},
	p50:       {"p50, ms", 1e-3, "%.2f", true},
	p99:       {"p99, ms", 1e-3, "%.2f", true},
	cpu:       {"client's CPU, µs/operation", 1e-6, "%.0f", true},
	calls:     {"calls", 1, "%.4g", false},
	writes:    {"write units", 1, "%.4g", false},
	reads:     {"read units", 1, "%.4g", false},
	resident:  {"client's memory, MB", 1e6, "%.0f", true},
}

// notes say what the table means, and what it does not.
const notes = `
Medians of %d rounds of %d operations of each kind, in which the libraries take turns; in brackets the ratio to %s.
An operation takes an event of 1 KB and answers with 0.5 KB of JSON; the handler does nothing but return them. Payload
validation is on and a missing key an error everywhere, local caches are off, and all else is as the libraries and SDKs
have it, save that each client may keep as many connections as operations are in flight: goroutines, promises, threads.
Every replay was seen to bring the recorded answer, and every handler to have run once. Calls and units are an
operation's, as the database counts them; memory is what is resident afterwards, answers that are to be checked included.

What the table does not say: the database is the embedded one, on loopback, in a process that shares the cores with the
client. Latencies and operations per second are therefore not those of a Lambda function, where DynamoDB takes
milliseconds and most functions have less than one core: here Go may use several, Node.js and Python about one. The
client's CPU is nearest to what a function pays for; it is that of languages and SDKs as much as of the libraries. There is
no Lambda runtime around: neither cold starts nor the decoding of events are in it.

What differs in the work: all write twice for a first run, and replay out of the item that a refused put brings back.
oncekey completes under the condition that the attempt still owns the record, and hashes canonical JSON with SHA-256;
Powertools completes without a condition, and hashes sorted JSON with MD5, its default.
`

// report is the table, with what was measured where above it and what it means below it.
func report(workers []*worker, p plan, now time.Time, machine string) string {
	var b strings.Builder
	var versions []string
	for _, w := range workers {
		versions = append(versions, w.Library+" "+w.Versions)
	}
	fmt.Fprintf(&b, "Measured on %s on %s: %s.\n\n", now.Format("2 January 2006"), machine, strings.Join(versions, "; "))

	b.WriteString("| | in flight | library |")
	for _, h := range heads {
		b.WriteString(" " + h.title + " |")
	}
	b.WriteString("\n|---|---:|---|" + strings.Repeat("---:|", len(heads)) + "\n")
	for _, k := range kinds {
		ours := median(workers[0].measured[k])
		for i, w := range workers {
			fmt.Fprintf(&b, "| %s | %d | %s |", k, k.lanes, w.Library)
			theirs := median(w.measured[k])
			for column, h := range heads {
				fmt.Fprintf(&b, " "+h.format, theirs[column]/h.unit)
				if h.ratio && i > 0 {
					fmt.Fprintf(&b, " (%.2f)", theirs[column]/ours[column])
				}
				b.WriteString(" |")
			}
			b.WriteString("\n")
		}
	}
	fmt.Fprintf(&b, notes, p.rounds, p.operations, workers[0].Library)
	return b.String()
}

var modelName = regexp.MustCompile(`(?m)^model name\s*: (.+)$`)

// machine says what this one is: its processor's name where it can be found out.
func machine(ctx context.Context) string {
	name := "an unnamed processor"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if m := modelName.FindSubmatch(text); m != nil {
			name = string(m[1])
		}
	} else if out, err := exec.CommandContext(ctx, "sysctl", "-n", "machdep.cpu.brand_string").Output(); err == nil {
		name = strings.TrimSpace(string(out))
	}
	return fmt.Sprintf("%s, %d cores (%s/%s)", name, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
}
