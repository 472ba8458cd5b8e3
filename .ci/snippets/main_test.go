package main

import (
	"strings"
	"testing"
	"testing/fstest"
)

const source = `package p

// snippet:one

import "fmt"

func hello() {
	fmt.Println("hello")
}

// snippet:end

func f() {
	// snippet:two
	if true {
		hello()

	}
	// snippet:end
}
`

func block(lang, ref, body string) string {
	return "# Title\n\n" + ref + "\n```" + lang + "\n" + body + "```\n\nText.\n"
}

func TestRender(t *testing.T) {
	t.Parallel()
	const (
		one = "import \"fmt\"\n\nfunc hello() {\n\tfmt.Println(\"hello\")\n}\n"
		two = "if true {\n\thello()\n\n}\n"
	)
	for _, tt := range []struct {
		name, text, want string
	}{
		{"equal", block("go", "<!-- snippet: p/p.go#one -->", one), block("go", "<!-- snippet: p/p.go#one -->", one)},
		{"changed", block("go", "<!-- snippet: p/p.go#one -->", "old\n"), block("go", "<!-- snippet: p/p.go#one -->", one)},
		{"empty", block("go", "<!-- snippet: p/p.go#one -->", ""), block("go", "<!-- snippet: p/p.go#one -->", one)},
		{"indented region", block("go", "<!-- snippet: p/p.go#two -->", "old\n"), block("go", "<!-- snippet: p/p.go#two -->", two)},
		{"other language", block("sh", "", "make test\n"), block("sh", "", "make test\n")},
		{"no language", block("", "", "text\n"), block("", "", "text\n")},
		{"Go fence inside a longer fence", "````\n```go\nx\n```\n````\n", "````\n```go\nx\n```\n````\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := render(tt.text, sources(source))
			if err != nil || got != tt.want {
				t.Errorf("render = %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestRender_Refuses(t *testing.T) {
	t.Parallel()
	const ref = "<!-- snippet: p/p.go#one -->"
	for _, tt := range []struct {
		name, text, source, want string
	}{
		{"no reference", block("go", "", "x\n"), source, "line 4: a block of Go needs"},
		{"no reference, Go", block("Go", "", "x\n"), source, "line 4: a block of Go needs"},
		{"no reference, golang", block("golang", "", "x\n"), source, "line 4: a block of Go needs"},
		{"blank line after the reference", block("go", ref+"\n", "x\n"), source, "a block of Go needs"},
		{"block in the first line", "```go\n```\n", source, "line 1: a block of Go needs"},
		{"no such region", block("go", "<!-- snippet: p/p.go#three -->", "x\n"), source, "p/p.go: no code in a region named three"},
		{"no such file", block("go", "<!-- snippet: q/q.go#one -->", "x\n"), source, "q/q.go"},
		{"file that is not built", block("go", "<!-- snippet: p/testdata/p.go#one -->", "x\n"), source, "does not build"},
		{"region without end", block("go", ref, "x\n"), "// snippet:one\nx\n", "region one is never ended"},
		{"end without region", block("go", ref, "x\n"), "x\n// snippet:end\n", "without a beginning"},
		{"region in a region", block("go", ref, "x\n"), "// snippet:one\n// snippet:two\n// snippet:end\n", "region two begins inside region one"},
		{"region twice", block("go", ref, "x\n"), strings.Repeat("// snippet:one\nx\n// snippet:end\n", 2), "two regions are named one"},
		{"empty region", block("go", ref, "x\n"), "// snippet:one\n\n// snippet:end\n", "no code"},
		{"open block", ref + "\n```go\nx\n", source, "never closed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := render(tt.text, sources(tt.source))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("render: %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func sources(text string) fstest.MapFS {
	return fstest.MapFS{"p/p.go": {Data: []byte(text)}}
}
