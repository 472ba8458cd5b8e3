// Bench holds the library to its budgets: it runs the benchmarks, sets each beside its baseline of the same run, prints what
// both take, and fails if one is above its budget:
//
//	go run ./.ci/bench [-write README.md]
//
// Gated are ratios of allocations, bytes and instructions, which are the same on every machine, or nearly so; times are told.
// With -write the tables replace what stands in the file between <!-- bench:begin --> and <!-- bench:end -->.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"runtime"
	"time"

	"github.com/oncekey/oncekey/.ci/page"
)

// block is the name of the tables' place.
const block = "bench"

func main() {
	log.SetFlags(0)
	log.SetPrefix("bench: ")
	write := flag.String("write", "", "the Markdown `file` to write the tables into")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	broken, err := bench(ctx, *write)
	stop()
	if err != nil {
		log.Fatal(err)
	}
	for _, line := range broken {
		log.Print(line)
	}
	if len(broken) > 0 {
		os.Exit(1)
	}
}

// bench returns a line for each budget that is broken.
func bench(ctx context.Context, file string) (broken []string, err error) {
	if file != "" {
		if err := page.Check(file, block); err != nil { // before minutes of work
			return nil, err
		}
	}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	w := binaries{dir: dir}
	found := results{}
	for _, r := range runs {
		log.Printf("%s %s", r.pkg, r.bench)
		if err := w.measure(ctx, r, found); err != nil {
			return nil, err
		}
	}
	counter := findCounter(ctx)
	log.Printf("instructions: %s", counter)
	counted, err := w.instructions(ctx, counter, pairs)
	if err != nil {
		return nil, err
	}
	text, broken, err := render(found, counted)
	if err != nil {
		return nil, err
	}
	text = heading(w.cpu, counter) + "\n\n" + text
	fmt.Print(text)
	if file != "" {
		err = page.Replace(file, block, text)
	}
	return broken, err
}

func heading(cpu string, c counter) string {
	return fmt.Sprintf("Measured on %s: %s, %d cores, %s %s/%s; instructions: %s.",
		time.Now().Format(time.DateOnly), cpu, runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH, c)
}
