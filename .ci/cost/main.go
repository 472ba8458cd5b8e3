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
	"os"
)

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
	text, err := report(sizes)
	if err != nil {
		return err
	}
	switch {
	case write != "":
		return replaceIn(write, text)
	case check != "":
		return compareWith(check, text)
	}
	fmt.Print(text)
	return nil
}

func replaceIn(file, text string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, _, after, err := split(string(old))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, []byte(before+"\n"+text+after), 0o644)
}

func compareWith(file, text string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	_, block, _, err := split(string(old))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if block != "\n"+text {
		return errors.New(difference(file, block, "\n"+text))
	}
	return nil
}
