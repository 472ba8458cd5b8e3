package main

import (
	"slices"
	"strings"
	"testing"
)

func TestCommands(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"indented":            {"Text:\n\n    make test   # a minute\n    make demo\n\nMore.\n", []string{"make test", "make demo"}},
		"first line":          {"    make test\n", []string{"make test"}},
		"fenced":              {"```sh\nmake test\n\nmake demo\n```\n", []string{"make test", "make demo"}},
		"another language":    {"```go\nfunc f() {}\n\n    x\n```\n", nil},
		"wrapped list":        {"- a\n    list\n", nil},
		"continued":           {"\n    curl \\\n      -d x \\\n      y   # z\n", []string{"curl -d x y"}},
		"blank line between":  {"\n    make test\n\n    make demo\n", []string{"make test", "make demo"}},
		"# in quotes":         {"\n    echo 'a # b' \"c # d\" e#f # g\n", []string{`echo 'a # b' "c # d" e#f`}},
		"comment alone":       {"\n    # first\n    make test\n", []string{"make test"}},
		"text":                {"\n    openapi: 3.1.0\n    info: x\n\n    paths: y\n\nMore.\n", []string{"openapi: 3.1.0"}},
		"fence never closed":  {"```sh\nmake test\n", []string{"make test"}},
		"fence within a text": {"```\n\n    make test\n```\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, c := range commands("README.md", tt.text, func(line string) bool { return strings.HasPrefix(line, "openapi") }) {
				if c.text != strings.Join(strings.Fields(uncomment(c.text)), " ") {
					t.Errorf("line %d is %q", c.line, c.text)
				}
				got = append(got, c.text)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("commands are %q, want %q", got, tt.want)
			}
		})
	}
}

func TestUnheld(t *testing.T) {
	t.Parallel()
	const readme = "# Title\n\n## A\n\n    make test\n\n## B\n\nNot yet run on AWS.\n\n    sam deploy\n"
	both := []held{{doc: "README.md", command: "make test", how: tested, by: "make cover"}, {doc: "README.md", command: "sam deploy", how: account}}
	for name, tt := range map[string]struct {
		text string
		hs   []held
		want string // the beginning of the only line; "" for none
	}{
		"all held":                {readme, both, ""},
		"unknown":                 {readme + "    make more\n", both, "README.md:12: make more: nothing holds"},
		"known, elsewhere":        {readme, []held{{doc: "OTHER.md", command: "make test", how: runs}, both[1]}, "README.md:5: make test: nothing holds"},
		"stands no longer":        {readme, append(both[:2:2], held{doc: "README.md", command: "make gone", how: runs}), "table.go: make gone: stands no longer"},
		"held by nothing":         {readme, []held{{doc: "README.md", command: "make test", how: tested, by: "make gone"}, both[1]}, `table.go: make test: is held by "make gone"`},
		"account, not said so":    {strings.ReplaceAll(readme, "Not yet", "Often"), both, "README.md:11: sam deploy: needs an account"},
		"account, said elsewhere": {strings.ReplaceAll(readme, "## B\n\nNot yet run on AWS.", "Not yet run on AWS.\n\n## B"), both, "README.md:11: sam deploy: needs an account"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := unheld(map[string]string{"README.md": tt.text}, tt.hs, func(by string) bool { return by == "make cover" })
			if name == "known, elsewhere" { // and the other document does not have it
				got = slices.DeleteFunc(got, func(line string) bool {
					return strings.HasPrefix(line, "table.go: make test: stands no longer in OTHER.md")
				})
			}
			wantLine(t, got, tt.want)
		})
	}
}

// wantLine wants one line that begins so, or none.
func wantLine(t *testing.T, got []string, want string) {
	t.Helper()
	switch {
	case want == "" && len(got) > 0:
		t.Errorf("found %q, want nothing", got)
	case want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], want)):
		t.Errorf("found %q, want one line: %q", got, want)
	}
}

func TestMakefile(t *testing.T) {
	t.Parallel()
	r, err := makefile("../..")
	if err != nil {
		t.Fatal(err)
	}
	for by, want := range map[string]bool{
		"make check":              true,
		"make cover":              true, // check needs it
		"make emulator":           true,
		"make fuzz":               false, // .ci/run does not come to it
		"make nonsense":           false,
		"lambda.TestClientsPage":  true,
		"lambda.TestNoSuchThing":  false,
		"nowhere.TestClientsPage": false,
		"":                        false,
	} {
		if got := r.exists(by); got != want {
			t.Errorf("exists(%q) = %v", by, got)
		}
	}
}
