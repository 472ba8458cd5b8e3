package main

import (
	"os"
	"path/filepath"
	"testing"
)

const library = `// Package lib is a library.
package lib

// Kind is a type with constants.
type Kind int

// A is one.
const A Kind = 1

const Bare = 2

// Config has fields.
type Config struct {
	// Name is the name.
	Name string
	Also string

	Alone int
	Said  int // here
	kept  int
}

// Thing is made by New.
type Thing struct{}

// New makes a Thing.
func New(c Config) *Thing { return nil }

// Do does it.
func (t *Thing) Do() {}

func (t *Thing) Error() string { return "" }

// Other is not shown.
func Other() {}

// Client is what others have.
type Client interface {
	Get() string
}
`

const examples = `package lib_test

func ExampleNew() { helper() }

func helper() { t := lib.New(lib.Config{}); t.Do(); _ = lib.A }

func ExampleThing_late() { lib.Other() }
`

func TestExported(t *testing.T) {
	t.Parallel()
	pkgs := func(t *testing.T, tests string) map[string]*pkg {
		t.Helper()
		folder := t.TempDir()
		if err := os.MkdirAll(filepath.Join(folder, "lib"), 0o700); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"lib.go": library, "lib_test.go": tests} {
			if err := os.WriteFile(filepath.Join(folder, "lib", name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		p, err := newIndex(folder).of("lib")
		if err != nil {
			t.Fatal(err)
		}
		return map[string]*pkg{"lib": p}
	}
	all := pkgs(t, examples)
	rest := exemption{name: "lib.Client", why: "users bring one"}
	for name, tt := range map[string]struct {
		got  []string
		want string
	}{
		"no comment":            {undocumented(all, []string{"lib.Config.Alone"}), "lib: value Bare has no comment"},
		"no comment on a field": {undocumented(all, []string{"lib.Bare"}), "lib: field Config.Alone has no comment"},
		"all said":              {undocumented(all, []string{"lib.Bare", "lib.Config.Alone"}), ""},
		"plain, with a comment": {undocumented(all, []string{"lib.Bare", "lib.Config.Alone", "lib.Config.Name"}), "examples.go: lib.Config.Name is no field without"},
		"plain, and gone":       {undocumented(all, []string{"lib.Bare", "lib.Config.Alone", "lib.Gone"}), "examples.go: lib.Gone is no field"},

		"no Example of its own": {unshown(all, []exemption{rest}), "lib: no Example shows Other"},
		"shown by another":      {unshown(all, []exemption{rest, {"lib.Other", "ExampleThing_late", "why"}}), ""},
		"exempt":                {unshown(all, []exemption{rest, {"lib.Other", "", "why"}}), ""},
		"not shown there":       {unshown(all, []exemption{rest, {"lib.Other", "ExampleNew", "why"}}), "examples.go: ExampleNew does not show lib.Other"},
		"no reason":             {unshown(all, []exemption{rest, {"lib.Other", "", ""}}), "examples.go: lib.Other has no reason"},
		"exempt, and gone":      {unshown(all, []exemption{rest, {"lib.Other", "", "why"}, {"lib.Gone", "", "why"}}), "examples.go: lib.Gone is not exported"},
		"exempt for nothing":    {unshown(all, []exemption{rest, {"lib.Other", "", "why"}, {"lib.New", "", "why"}}), "examples.go: lib.New has an Example"},
		"an unused type":        {unshown(all, []exemption{{"lib.Other", "", "why"}}), "lib: no Example shows Client"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantLine(t, tt.got, tt.want)
		})
	}
	if got := unshown(pkgs(t, "package lib_test\n"), nil); len(got) != 7 {
		t.Errorf("without Examples found are %q", got)
	}
}
