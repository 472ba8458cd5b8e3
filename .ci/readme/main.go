// Readme holds the documents against the code: every command line that they tell their reader to type is known, and held by
// something that runs it (table.go); every link leads somewhere; what the packages export has a comment, and an Example.
//
//	go run ./.ci/readme          # looks, and runs nothing
//	go run ./.ci/readme -run     # runs the command lines, in a new module where a user would
package main

import (
	"context"
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("readme: ")
	running := flag.Bool("run", false, "run the command lines, instead of looking whether they are known")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	var problems []string
	var err error
	if *running {
		problems, err = runAll(ctx)
	} else {
		problems, err = look(".")
	}
	for _, p := range problems {
		fmt.Println(p)
	}
	switch {
	case err != nil:
		log.Fatal(err)
	case len(problems) > 0:
		os.Exit(1)
	}
}

// look returns everything that is wrong and can be seen without running anything.
func look(root string) ([]string, error) {
	docs, sources, err := files(root)
	if err != nil {
		return nil, err
	}
	targets, err := makefile(root)
	if err != nil {
		return nil, err
	}
	symbols := newIndex(root)
	problems := unheld(docs, holdings, targets.exists)
	for doc, content := range docs {
		problems = append(problems, links(doc, content, docs, symbols)...)
		problems = append(problems, unknownTargets(doc, content, func(t string) bool { return targets.needs[t] != nil })...)
	}
	for _, name := range sources {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		problems = append(problems, commentLinks(name, file, symbols)...)
	}
	pkgs := map[string]*pkg{}
	for _, folder := range libraries {
		p, err := symbols.of(folder)
		if err != nil {
			return nil, err
		}
		pkgs[folder] = p
	}
	problems = slices.Concat(problems, undocumented(pkgs, plain), unshown(pkgs, exemptions))
	slices.Sort(problems)
	return problems, nil
}

// files returns the documents with their content, and the names of the Go files.
func files(root string) (docs map[string]string, sources []string, err error) {
	docs = map[string]string{}
	err = fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && name != ".":
			return fs.SkipDir
		case strings.HasSuffix(name, ".go"):
			sources = append(sources, name)
		case strings.HasSuffix(name, ".md"):
			text, err := os.ReadFile(filepath.Join(root, name))
			if err != nil {
				return err
			}
			docs[name] = string(text)
		}
		return nil
	})
	return docs, sources, err
}
