// Cost prints what a request costs in DynamoDB, as Markdown: by path through the protocol, and by the size of the answer.
//
//	go run ./.ci/cost [-write FILE] [-check FILE]
//
// Each figure is the bill of requests that have just been made, by the library itself, on the embedded DynamoDB; only the
// dollars, and mixtures of paths, are computed from it. The output is the same each time.
//
// In FILE it stands between the lines <!-- cost:begin --> and <!-- cost:end -->: -write replaces what is there, -check fails
// if it is something else.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"

	"github.com/oncekey/oncekey/.ci/page"
	"github.com/oncekey/oncekey/localtest"
)

// block is the name of the tables' place.
const block = "cost"

func main() {
	log.SetFlags(0)
	log.SetPrefix("cost: ")
	write := flag.String("write", "", "the `file` in which to replace the tables")
	check := flag.String("check", "", "the `file` whose tables must be these")
	flag.Parse()
	if flag.NArg() > 0 || *write != "" && *check != "" {
		log.Fatal("usage: cost [-write FILE | -check FILE]")
	}
	if err := run(*write, *check); err != nil {
		log.Fatal(err)
	}
}

func run(write, check string) error {
	var text string
	ok := localtest.Program("cost", log.Default(), func(tb localtest.TB) {
		var err error
		if text, err = report(tb, sizes); err != nil {
			tb.Fatalf("%v", err)
		}
	})
	if !ok { // it has said why
		return errors.New("no tables: figures of which something is wrong are none")
	}
	switch {
	case write != "":
		return page.Replace(write, block, text)
	case check != "":
		return page.Compare(check, block, text)
	}
	fmt.Print(text)
	return nil
}
