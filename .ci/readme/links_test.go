package main

import (
	"go/parser"
	"go/token"
	"testing"
)

func TestLinks(t *testing.T) {
	t.Parallel()
	docs := map[string]string{
		"README.md":           "## Table and permissions\n\n## Which `form`, [and](x) why?\n\n## A\n\n## A\n",
		"lambda/CLIENTS.md":   "# Title\n\n| <a id=\"code_1\"></a>`code_1` |\n",
		"ARCHITECTURE.md":     "",
		"lambda/SOMEWHERE.md": "",
	}
	symbols := newIndex("../..")
	for name, tt := range map[string]struct{ doc, text, want string }{
		"file":                  {"README.md", "[x](go.mod)", ""},
		"file of a folder":      {"lambda/x.md", "[x](../go.mod)", ""},
		"no such file":          {"README.md", "[x](gone.go)", "README.md: link to gone.go: there is no such file"},
		"image":                 {"README.md", "![picture](gone.png)", "README.md: link to gone.png: there is no such file"},
		"over two lines":        {"README.md", "[x\ny](gone.go)", "README.md: link to gone.go: there is no such file"},
		"defined below":         {"README.md", "[x][y]\n\n[y]: gone.go\n", "README.md: link to gone.go: there is no such file"},
		"out of the repository": {"README.md", "[x](../../go.mod)", "README.md: link to ../../go.mod: it leaves"},
		"anchor":                {"README.md", "[x](#table-and-permissions)", ""},
		"anchor of a title":     {"README.md", "[x](#which-form-and-why)", ""},
		"second of a name":      {"README.md", "[x](#a-1)", ""},
		"no third":              {"README.md", "[x](#a-2)", "README.md: link to #a-2: the document has no such heading"},
		"anchor of a source":    {"README.md", "[x](go.mod#L7)", "README.md: link to go.mod#L7: an anchor goes with a document"},
		"in code":               {"README.md", "`[x](gone.go)` and\n\n    [x](gone.go)\n\n```\n[x](gone.go)\n```\n", ""},
		"address":               {"README.md", "[x](https://docs.aws.amazon.com/lambda/latest/dg/durable-functions.html)", ""},
		"bare address":          {"README.md", "see https://example.org/a.", ""},
		"http":                  {"README.md", "[x](http://example.org)", "README.md: link to http://example.org: must be https"},
		"no host":               {"README.md", "[x](https://example/x)", "README.md: link to https://example/x: has no host"},
		"loopback":              {"README.md", "at http://127.0.0.1:8000 or http://localhost:3000", ""},
		"not an address":        {"README.md", "<https://exa%mple.org>", `README.md: link to https://exa%mple.org: parse`},
		"package":               {"README.md", "[x](https://pkg.go.dev/github.com/oncekey/oncekey/lambda)", ""},
		"method":                {"README.md", "[x](https://pkg.go.dev/github.com/oncekey/oncekey/idempotency#Attempt.DownstreamKey)", ""},
		"field":                 {"README.md", "[x](https://pkg.go.dev/github.com/oncekey/oncekey/idempotency@v1.0.0#Request.Scope)", ""},
		"no such identifier":    {"README.md", "[x](https://pkg.go.dev/github.com/oncekey/oncekey/idempotency#Attempt.Gone)", "README.md: link to https://pkg.go.dev/github.com/oncekey/oncekey/idempotency#Attempt.Gone: the package exports no Attempt.Gone"},
		"no such package":       {"README.md", "[x](https://pkg.go.dev/github.com/oncekey/oncekey/gone)", "README.md: link to https://pkg.go.dev/github.com/oncekey/oncekey/gone: the module has no such package"},
		"another module":        {"README.md", "[x](https://pkg.go.dev/net/http#Client)", ""},
	} {
		t.Run(name, func(t *testing.T) { // one after the other: they share the index
			wantLine(t, links(tt.doc, tt.text, docs, symbols), tt.want)
		})
	}
}

func TestAnchors_OfItsOwn(t *testing.T) {
	t.Parallel()
	if ids := anchors("# Title\n\n<a id=\"code_1\"></a>`code_1`\n\n```\n# no heading\n```\n"); !ids["code_1"] || !ids["title"] || ids["no-heading"] {
		t.Errorf("the anchors are %v", ids)
	}
}

func TestCommentLinks(t *testing.T) {
	t.Parallel()
	symbols := newIndex("../..")
	for name, tt := range map[string]struct{ source, want string }{
		"good":           {"package p\n\n// See https://example.org/a.\nvar x = \"http://example.org\"\n", ""},
		"http":           {"package p\n\n// See http://example.org/a.\nvar x int\n", "p.go: address http://example.org/a: must be https"},
		"a shell's line": {"package p\n\n// http://127.0.0.1:port, and then\nvar x int\n", ""},
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "p.go", tt.source, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) { wantLine(t, commentLinks("p.go", f, symbols), tt.want) })
	}
}

func TestUnknownTargets(t *testing.T) {
	t.Parallel()
	has := func(target string) bool { return target == "test" || target == "build" }
	wantLine(t, unknownTargets("README.md", "`make test build` and `make help me`... `make`", func(t string) bool { return has(t) || t == "help" }), "README.md: make me: the Makefile has no such target")
	wantLine(t, unknownTargets("README.md", "`make test` makes `make build`", has), "")
}
