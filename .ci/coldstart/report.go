package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

// What the library may add.
const (
	maxStart = 5 * time.Millisecond
	maxSize  = 1_000_000 // bytes
)

func heading(now time.Time, runs int) string {
	return fmt.Sprintf("Cold start on %s: %s, %d cores, %s, %s/%s; medians of %d starts each.\n\n",
		now.Format(time.DateOnly), processor(), runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH, runs)
}

// processor is the model's name, where the system tells it so.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if m := regexp.MustCompile(`(?m)^model name\s*: (.+)$`).FindSubmatch(text); err == nil && m != nil {
		return string(m[1])
	}
	return "a processor of unknown model"
}

func table(all []*bootstrap) string {
	var b strings.Builder
	b.WriteString("| a function with | to its first event | half of them | added | processor time | added | size | added |\n|---|---|---|---|---|---|---|---|\n")
	base := all[0]
	for _, f := range all {
		low, high := f.quartiles()
		added := [3]string{}
		if f != base {
			added = [3]string{
				fmt.Sprintf("%+.1f ms", ms(f.wall()-base.wall())),
				fmt.Sprintf("%+.1f ms", ms(f.processor()-base.processor())),
				fmt.Sprintf("%+.2f MB", mb(f.size-base.size)),
			}
		}
		fmt.Fprintf(&b, "| %s | %.1f ms | %.1f to %.1f | %s | %.1f ms | %s | %.2f MB | %s |\n",
			f.what, ms(f.wall()), ms(low), ms(high), added[0], ms(f.processor()), added[1], mb(f.size), added[2])
	}
	return b.String()
}

// verdict holds what was added against the budgets.
func verdict(without, with *bootstrap) (string, error) {
	took, size := with.wall()-without.wall(), with.size-without.size
	text := fmt.Sprintf("\nBudgets: %+.1f of %.0f ms, %+.2f of %.0f MB.\n", ms(took), ms(maxStart), mb(size), mb(maxSize))
	var broken []error
	if took > maxStart {
		broken = append(broken, fmt.Errorf("the library adds %.1f ms to a start, more than %.0f", ms(took), ms(maxStart)))
	}
	if size > maxSize {
		broken = append(broken, fmt.Errorf("the library adds %d bytes to a bootstrap, more than %d", size, maxSize))
	}
	return text, errors.Join(broken...)
}

func (b *bootstrap) wall() time.Duration {
	return b.at(func(s start) time.Duration { return s.wall }, 2)
}

func (b *bootstrap) processor() time.Duration {
	return b.at(func(s start) time.Duration { return s.processor }, 2)
}

func (b *bootstrap) quartiles() (low, high time.Duration) {
	wall := func(s start) time.Duration { return s.wall }
	return b.at(wall, 1), b.at(wall, 3)
}

// at is the quartile of what is asked of each start: 2 is the median.
func (b *bootstrap) at(what func(start) time.Duration, quartile int) time.Duration {
	sorted := make([]time.Duration, len(b.starts))
	for i, s := range b.starts {
		sorted[i] = what(s)
	}
	slices.Sort(sorted)
	return sorted[(len(sorted)-1)*quartile/4]
}

// ms is milliseconds with one digit, and never a zero with a sign.
func ms(d time.Duration) float64 { return math.Round(d.Seconds()*1e4)/10 + 0 }
func mb(n int64) float64         { return float64(n) / 1_000_000 }
