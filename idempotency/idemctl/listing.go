package main

import (
	"context"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/idempotency"
)

// listing writes records while they are found: a scan may take hours.
type listing struct {
	p    *program
	json bool

	mu    sync.Mutex // guards what follows, and the program's writers: a goroutine of watch's writes, too
	rows  table
	found int
}

func (l *listing) add(rec idempotency.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.found++
	now := l.p.now()
	if l.json {
		_ = document(l.p.stdout, toJSON(rec, now), "") // a reader that has gone is told of nothing
		return
	}
	if l.found == 1 {
		l.rows.row("ID", "STATUS", "AGE", "LEASE", "ATTEMPT", "REF")
	}
	lease := "over " + distance(rec.LeaseEnd, now)
	if !rec.LeaseEnd.Before(now) {
		lease = "ends " + distance(rec.LeaseEnd, now)
	}
	l.rows.row(rec.ID, rec.Status, span(now.Sub(rec.Started)), lease, strconv.FormatInt(rec.Attempt, 10), rec.Ref)
}

// damaged tells of a record that cannot be understood, once and on one line.
func (l *listing) damaged(id string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	say(l.p.stderr, "idemctl: record %s: %s\n", printable(id), printable(strings.TrimSuffix(err.Error(), ": record "+id)))
}

// tick is how often what was found is shown.
const tick = 5 * time.Second

// watch shows what was found every few seconds, and how far the scan is, until stop is called.
func (l *listing) watch(c *counter, progress bool) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	begun := time.Now()
	tell := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.rows.flush()
		if progress {
			say(l.p.stderr, "idemctl: %d records read, %d shown, in %s\n", c.read.Load(), l.found, span(time.Since(begun)))
		}
	}
	go func() {
		defer close(ended)
		ticker := time.NewTicker(tick)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				tell()
			case <-done:
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended
		tell()
	}
}

// counter counts the records that scans have read; the library hands out only those that are wanted.
type counter struct {
	idempotency.Client

	read atomic.Int64
}

// Scan passes on.
func (c *counter) Scan(ctx context.Context, in *dynamodb.ScanInput, options ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	out, err := c.Client.Scan(ctx, in, options...)
	if err == nil {
		c.read.Add(int64(out.ScannedCount))
	}
	return out, err
}

// isTerminal is true of a character device, which is a terminal, or takes anything.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
