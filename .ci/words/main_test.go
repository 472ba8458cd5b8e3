package main

import (
	"strings"
	"testing"
)

// The samples are put together here, so that this file passes its own check.
func TestFind(t *testing.T) {
	t.Parallel()
	const proxies = "https://user:pass@proxy.example.org/path,direct|http://mirror.example.com:8080"
	for _, tt := range []struct {
		name, file, text string
		want             string // a part of the only line; "": nothing is found
	}{
		{"bare promise", "README.md", "runs Exactly" + " once, always", "README.md:1:"},
		{"promise with a hyphen", "a.go", "// exactly" + "-once delivery", "a.go:1:"},
		{"promise over two lines of a comment", "a.go", "package a\n\n// exactly\n// " + "once.\n", "a.go:3:"},
		{"promise with emphasis", "README.md", "exactly _" + "once_", "README.md:1:"},
		{"promise with a hard space", "README.md", "exactly&nbsp;" + "once", "README.md:1:"},
		{"promise with a hard hyphen", "README.md", "exactly\u2011" + "once", "README.md:1:"},
		{"promise in a name", "a.go", "func RunExactly" + "Once() {}", "a.go:1:"},
		{"promise at the end", "a.md", "exactly " + "once", "a.md:1:"},
		{"longer word", "a.md", "exactly " + "oncekey", ""},
		{"quoted phrase", "README.md", `We never say "exactly once" of it.`, ""},
		{"only one side quoted", "README.md", `"exactly` + ` once or twice"`, "README.md:1:"},
		{"another adverb", "README.md", "at most once", ""},
		{"working folder", "Makefile", "\tcd /" + "work/main", "Makefile:1:"},
		{"home folder", "doc.md", "/" + "Users/jane/src", "doc.md:1:"},
		{"home folder elsewhere", "doc.md", `C:\Us` + `ers\jane`, "doc.md:1:"},
		{"folder of the repository", "doc.md", "lambda/payments/main.go", ""},
		{"registry", "x.txt", "https://registry.npm" + "js.org/x", "x.txt:1:"},
		{"registry of files", "x.txt", "files.python" + "hosted.org", "x.txt:1:"},
		{"proxy", "x.txt", "GOPROXY=https://proxy." + "example.org", "x.txt:1:"},
		{"second proxy", "x.txt", "mirror." + "example.com", "x.txt:1:"},
		{"another host", "x.txt", "proxyXexample.org", ""},
		{"leftover in Go", "a.go", "// TO" + "DO(me): later", "a.go:1:"},
		{"leftover elsewhere", "a.md", "TO" + "DO", ""},
		{"part of a word", "a.go", "var mastoDON" + "TODOS int", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := find(rules(proxies), tt.file, []byte(tt.text))
			switch {
			case tt.want == "" && len(got) > 0:
				t.Errorf("found %q, want nothing", got)
			case tt.want != "" && (len(got) != 1 || !strings.Contains(got[0], tt.want)):
				t.Errorf("found %q, want one line with %q", got, tt.want)
			}
		})
	}
}

func TestRules_NoProxyHost(t *testing.T) {
	t.Parallel()
	for _, proxies := range []string{"", "off", "direct", "off\n"} {
		if got := find(rules(proxies), "x.txt", []byte("direct or off")); len(got) > 0 {
			t.Errorf("GOPROXY=%q: found %q, want nothing", proxies, got)
		}
	}
}
