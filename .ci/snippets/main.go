// Snippets keeps README.md's Go code equal to code that is compiled.
//
// In the README a comment stands before each block of Go:
//
//	<!-- snippet: lambda/payments/main.go#quickstart -->
//
// and in the Go file the region lies between two comments of their own lines, `// snippet:quickstart` and
// `// snippet:end`. Indentation common to all of the region's lines is not part of the snippet.
// A difference, and a block of Go without such a comment, is an error; with -fix the blocks are rewritten.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path"
	"regexp"
	"strings"
)

var (
	fence     = regexp.MustCompile("^\\s*(```+|~~~+)\\s*(\\w*)")
	reference = regexp.MustCompile(`^<!-- snippet: (\S+\.go)#(\S+) -->$`)
	marker    = regexp.MustCompile(`^\s*// snippet:(\S+)$`)
)

// render returns text with each referenced block of Go replaced by its region of the sources,
// and what is wrong with the references.
func render(text string, sources fs.FS) (string, error) {
	var out []string
	var problems []error
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		out = append(out, lines[i])
		open := fence.FindStringSubmatch(lines[i])
		if open == nil {
			continue
		}
		end := closing(lines, i, open[1])
		body := lines[i+1 : end]
		if lang := strings.ToLower(open[2]); lang == "go" || lang == "golang" {
			snippet, err := referenced(lines, i, sources)
			if err != nil {
				problems = append(problems, fmt.Errorf("line %d: %w", i+1, err))
			} else {
				body = snippet
			}
		}
		out = append(out, body...)
		if end < len(lines) {
			out = append(out, lines[end])
		} else {
			problems = append(problems, fmt.Errorf("line %d: the block is never closed", i+1))
		}
		i = end
	}
	return strings.Join(out, "\n"), errors.Join(problems...)
}

// closing returns the index of the line that closes the block opened at lines[open], or len(lines).
func closing(lines []string, open int, mark string) int {
	for i := open + 1; i < len(lines); i++ {
		if strings.TrimSpace(lines[i]) == mark {
			return i
		}
	}
	return len(lines)
}

// referenced returns the region named by the line before the block that opens at lines[open].
func referenced(lines []string, open int, sources fs.FS) ([]string, error) {
	var ref []string
	if open > 0 {
		ref = reference.FindStringSubmatch(lines[open-1])
	}
	if ref == nil {
		return nil, errors.New("a block of Go needs a line `<!-- snippet: file.go#region -->` before it")
	}
	file, name := ref[1], ref[2]
	if !compiled(file) {
		return nil, fmt.Errorf("%s: the go command does not build files in such folders", file)
	}
	source, err := fs.ReadFile(sources, file)
	if err != nil {
		return nil, err
	}
	snippet, err := region(string(source), name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return snippet, nil
}

// compiled reports whether `go build ./...` or `go vet ./...` looks at a file of that name.
func compiled(file string) bool {
	for elem := range strings.SplitSeq(path.Clean(file), "/") {
		if elem == "testdata" || elem == "vendor" || strings.HasPrefix(elem, ".") || strings.HasPrefix(elem, "_") {
			return false
		}
	}
	return true
}

// region returns the lines of the named region, without blank lines at its ends and without common indentation.
func region(source, name string) ([]string, error) {
	var found []string
	var in string
	seen := false
	for line := range strings.SplitSeq(source, "\n") {
		m := marker.FindStringSubmatch(line)
		switch {
		case m == nil:
			if in == name {
				found = append(found, line)
			}
		case m[1] == "end":
			if in == "" {
				return nil, errors.New("a `snippet:end` without a beginning")
			}
			in = ""
		default:
			if in != "" {
				return nil, fmt.Errorf("region %s begins inside region %s", m[1], in)
			}
			if in = m[1]; in == name {
				if seen {
					return nil, fmt.Errorf("two regions are named %s", name)
				}
				seen = true
			}
		}
	}
	if in != "" {
		return nil, fmt.Errorf("region %s is never ended", in)
	}
	found = dedent(trimBlank(found))
	if len(found) == 0 {
		return nil, fmt.Errorf("no code in a region named %s", name)
	}
	return found, nil
}

func trimBlank(lines []string) []string {
	for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// dedent takes as many tabs from each line as all lines begin with; blank lines don't count.
func dedent(lines []string) []string {
	common := -1
	for _, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		tabs := len(line) - len(strings.TrimLeft(line, "\t"))
		if common < 0 || tabs < common {
			common = tabs
		}
	}
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = line[min(max(common, 0), len(line)):]
	}
	return out
}

// difference names the first line in which two texts differ.
func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d is\n\t%s\nthe source has\n\t%s", i+1, g[i], w[i])
		}
	}
	return "lines are missing, or too many"
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("snippets: ")
	fix := flag.Bool("fix", false, "rewrite the blocks from the sources")
	readme := flag.String("readme", "README.md", "the file to check")
	flag.Parse()

	text, err := os.ReadFile(*readme)
	if err != nil {
		log.Fatal(err)
	}
	want, err := render(string(text), os.DirFS("."))
	if err != nil {
		log.Fatalf("%s:\n%v", *readme, err)
	}
	switch {
	case bytes.Equal(text, []byte(want)):
	case *fix:
		if err := os.WriteFile(*readme, []byte(want), 0o644); err != nil {
			log.Fatal(err)
		}
	default:
		log.Fatalf("%s differs from the sources (make fix rewrites it): %s", *readme, difference(string(text), want))
	}
}
