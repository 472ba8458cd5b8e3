package idempotency_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// model/README.md says which function makes each transition of the model. Whoever renames or adds one has to look at the model.
func TestModel_TransitionsAreTheCodes(t *testing.T) {
	t.Parallel()
	readme := read(t, "model/README.md")
	checkFunctions(t, readme)

	var rows, inlines []string
	const not = "not modelled, since " // and the reason
	for _, row := range tableOf(t, readme, "## Transitions") {
		for name := range strings.SplitSeq(row[0], ", ") {
			rows = append(rows, name)
		}
		inlines = append(inlines, quoted(row[1])...)
		if len(quoted(row[1])) == 0 && !strings.HasPrefix(row[1], not) {
			t.Errorf("the row of %s names no transition of the model, nor says why not", row[0])
		}
		if len(functionsIn(row[2])) == 0 || len(functionsIn(row[3])) == 0 {
			t.Errorf("the row of %s names no function in one of its columns", row[0])
		}
	}
	sameNames(t, "the package comment's transitions and the table's", transitionsOf(t, read(t, "doc.go")), rows)

	_, after, found := strings.Cut(read(t, "model/record.pml"), "/* r: 1 applied")
	if !found {
		t.Fatal("record.pml has no part for the transitions")
	}
	var inModel []string
	for _, m := range regexp.MustCompile(`(?m)^inline (\w+)\(`).FindAllStringSubmatch(after, -1) {
		inModel = append(inModel, m[1])
	}
	slices.Sort(inlines)
	sameNames(t, "the model's transitions and the table's", inModel, slices.Compact(inlines))
}

// The comment above the model's conditions has the code's, word for word: whoever changes the one has to look at the other.
func TestModel_ConditionsAreTheCodes(t *testing.T) {
	t.Parallel()
	in := map[string]string{}
	name := ""
	comment, _, _ := strings.Cut(read(t, "model/record.pml"), "*/")
	for line := range strings.Lines(comment) {
		line = strings.TrimPrefix(strings.TrimSuffix(line, "\n"), " * ")
		if n, text, found := strings.Cut(line, " = "); found && regexp.MustCompile(`^\w+$`).MatchString(n) {
			name, in[n] = n, text
		} else if strings.HasPrefix(line, "  ") {
			in[name] += " " + strings.TrimSpace(line)
		}
	}
	code := conditionsOf(t, "transition*.go")
	sameNames(t, "the code's conditions and updates, and the model's", slices.Collect(maps.Keys(code)), slices.Collect(maps.Keys(in)))
	for name, text := range code {
		if text = strings.TrimSpace(text); text != in[name] {
			t.Errorf("%s is\n\t%s\nand in the model\n\t%s", name, text, in[name])
		}
	}
}

// A guard without a configuration that fails without it would be one that the model does not check.
func TestModel_EachGuardIsRemovedOnce(t *testing.T) {
	t.Parallel()
	settings := map[string]bool{} // by name: it is a guard
	for _, m := range regexp.MustCompile(`(?m)^#ifndef (\w+)`).FindAllStringSubmatch(read(t, "model/settings.pml"), -1) {
		settings[m[1]] = strings.HasPrefix(m[1], "G_")
	}
	parts, err := filepath.Glob("model/*.pml")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, part := range parts {
		if part != filepath.Join("model", "settings.pml") {
			text.WriteString(read(t, part))
		}
	}
	for name := range settings {
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(text.String()) {
			t.Errorf("no part of the model has the setting %s", name)
		}
	}

	removes := map[string][]string{} // the guards, by a configuration that fails without them
	seen := map[string]bool{}
	for line := range strings.Lines(read(t, "model/matrix.txt")) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		if len(words) < 4 || words[1] != "q" && words[1] != "-" {
			t.Fatalf("matrix.txt has the line %q", line)
		}
		name, want := words[0], words[2]
		if seen[name] {
			t.Errorf("matrix.txt has %s twice", name)
		}
		seen[name] = true
		for _, set := range words[3:] {
			setting, value, _ := strings.Cut(strings.TrimPrefix(set, "-D"), "=")
			guard, known := settings[setting]
			if !known {
				t.Errorf("%s has %s, which settings.pml does not know", name, set)
			}
			if guard && want != "holds" {
				removes[name] = append(removes[name], setting)
			}
			if guard && value != "0" {
				t.Errorf("%s has %s, where a guard can only be removed", name, set)
			}
		}
	}

	var told, guards []string
	for _, row := range tableOf(t, read(t, "model/README.md"), "## Guards") {
		told = append(told, quoted(row[1])...)
		for _, name := range quoted(row[3]) {
			for _, guard := range quoted(row[1]) {
				if !slices.Contains(removes[name], guard) {
					t.Errorf("README.md says of %s that it fails without %s, and matrix.txt does not", name, guard)
				}
			}
			delete(removes, name)
		}
	}
	for name, guard := range settings {
		if guard {
			guards = append(guards, name)
		}
	}
	slices.Sort(told)
	sameNames(t, "the model's guards and the table's", guards, slices.Compact(told))
	if len(removes) > 0 {
		t.Errorf("README.md does not tell of %v", removes)
	}
}

// transitionsOf reads the names out of the package comment's table.
func transitionsOf(t *testing.T, doc string) (names []string) {
	t.Helper()
	_, after, found := strings.Cut(doc, "Every transition is one conditional\n// write:\n")
	table, _, ends := strings.Cut(after, "\n// Re-acquire and take over are updates")
	if !found || !ends {
		t.Fatal("doc.go has no table of transitions")
	}
	for _, m := range regexp.MustCompile(`(?m)^//\t(\w[\w -]*?)  +\S`).FindAllStringSubmatch(table, -1) {
		names = append(names, m[1])
	}
	return names
}

// tableOf returns the cells of the first table behind a heading.
func tableOf(t *testing.T, page, heading string) (rows [][]string) {
	t.Helper()
	_, after, found := strings.Cut(page, "\n"+heading+"\n")
	if !found {
		t.Fatalf("no heading %q", heading)
	}
	section, _, _ := strings.Cut(after, "\n## ")
	for line := range strings.Lines(section) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "|") {
			rows = append(rows, strings.Split(strings.Trim(line, "| "), " | "))
		}
	}
	if len(rows) < 3 {
		t.Fatalf("no table behind %q", heading)
	}
	for _, row := range rows {
		if len(row) != 4 && !strings.HasPrefix(row[0], "---") {
			t.Fatalf("the row %q has not four cells", row)
		}
	}
	return rows[2:]
}

func quoted(cell string) (names []string) {
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
		names = append(names, m[1])
	}
	return names
}

// functionsIn reads "`a.b`, `c.d` and `e.f` in `file.go`" as file.go and the functions.
func functionsIn(text string) (named [][2]string) {
	functions := "((?:`[\\w.]+`(?:,| and)?\\s+)+)in\\s+`(\\w+\\.go)`"
	for _, m := range regexp.MustCompile(functions).FindAllStringSubmatch(text, -1) {
		for _, name := range quoted(m[1]) {
			named = append(named, [2]string{m[2], name})
		}
	}
	return named
}

// checkFunctions looks for every function that the page names in the file that it names.
func checkFunctions(t *testing.T, page string) {
	t.Helper()
	declared := map[string][]string{}
	for file, tree := range parse(t, "*.go") {
		for _, d := range tree.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				declared[file] = append(declared[file], receiver(f)+f.Name.Name)
			}
		}
	}
	named := functionsIn(page)
	if len(named) < 50 {
		t.Errorf("the page names %d functions only: it is not read as it is meant", len(named))
	}
	for _, n := range named {
		if file, name := n[0], n[1]; !slices.Contains(declared[file], name) {
			t.Errorf("%s has no function %s", file, name)
		}
	}
}

// receiver is "type." of a method.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	typ := f.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if name, ok := typ.(*ast.Ident); ok {
		return name.Name + "."
	}
	return ""
}

// conditionsOf returns the string constants that the files declare, put together.
func conditionsOf(t *testing.T, pattern string) map[string]string {
	t.Helper()
	values := map[string]ast.Expr{}
	for _, tree := range parse(t, pattern) {
		for _, d := range tree.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
				for _, spec := range g.Specs {
					v := spec.(*ast.ValueSpec)
					values[v.Names[0].Name] = v.Values[0]
				}
			}
		}
	}
	var text func(ast.Expr) string
	text = func(e ast.Expr) string {
		switch e := e.(type) {
		case *ast.BasicLit:
			s, err := strconv.Unquote(e.Value)
			if err != nil {
				t.Fatal(err)
			}
			return s
		case *ast.BinaryExpr:
			return text(e.X) + text(e.Y)
		case *ast.Ident:
			return text(values[e.Name])
		}
		t.Fatalf("a constant is made of a %T", e)
		return ""
	}
	found := map[string]string{}
	for name, e := range values {
		found[name] = text(e)
	}
	return found
}

func parse(t *testing.T, pattern string) map[string]*ast.File {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	trees := map[string]*ast.File{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		if trees[file], err = parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution); err != nil {
			t.Fatal(err)
		}
	}
	return trees
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// sameNames compares two lists of names, whatever their order.
func sameNames(t *testing.T, what string, a, b []string) {
	t.Helper()
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	if !slices.Equal(a, b) {
		t.Errorf("%s differ:\n%v\n%v", what, a, b)
	}
}
