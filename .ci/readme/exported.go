package main

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// symbol is an exported identifier: a Name, a Type.Method or a Type.Field.
type symbol struct {
	kind       string // func, type, method, field or value
	documented bool
	types      []string // the names in its signature or type
}

// pkg is what a package exports, and what its Examples use.
type pkg struct {
	all      map[string]*symbol
	examples map[string]map[string]bool // what is selected in each
}

// index parses each package once.
type index struct {
	root string
	pkgs map[string]*pkg
}

func newIndex(root string) *index { return &index{root: root, pkgs: map[string]*pkg{}} }

func (x *index) of(folder string) (*pkg, error) {
	if p := x.pkgs[folder]; p != nil {
		return p, nil
	}
	names, err := filepath.Glob(filepath.Join(x.root, folder, "*.go"))
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	var files, tests []*ast.File
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(name, "_test.go") {
			tests = append(tests, f)
		} else {
			files = append(files, f)
		}
	}
	p := &pkg{all: map[string]*symbol{}, examples: examplesOf(tests)}
	x.pkgs[folder] = p
	if len(files) == 0 {
		return p, nil
	}
	d, err := doc.NewFromFiles(fset, files, module+"/"+folder)
	if err != nil {
		return nil, err
	}
	p.add(fset, d)
	return p, nil
}

func (p *pkg) add(fset *token.FileSet, d *doc.Package) {
	funcs := slices.Clone(d.Funcs)
	p.addValues(d.Consts, nil)
	p.addValues(d.Vars, nil)
	for _, t := range d.Types {
		p.addValues(slices.Concat(t.Consts, t.Vars), []string{t.Name})
		funcs = append(funcs, t.Funcs...)
		p.all[t.Name] = &symbol{kind: "type", documented: t.Doc != "" || t.Decl.Doc != nil}
		for _, m := range t.Methods {
			p.all[t.Name+"."+m.Name] = &symbol{kind: "method", documented: m.Doc != "", types: exportedIn(m.Decl.Type)}
		}
		p.addFields(fset, t)
	}
	for _, f := range funcs {
		p.all[f.Name] = &symbol{kind: "func", documented: f.Doc != "", types: exportedIn(f.Decl.Type)}
	}
}

// addValues adds constants and variables, of the types.
func (p *pkg) addValues(values []*doc.Value, types []string) {
	for _, v := range values {
		for _, spec := range v.Decl.Specs {
			s := spec.(*ast.ValueSpec) //nolint:forcetypeassert // go/doc has no other
			for _, name := range s.Names {
				p.all[name.Name] = &symbol{kind: "value", documented: v.Doc != "" || s.Doc != nil || s.Comment != nil, types: types}
			}
		}
	}
}

// addFields adds the fields of a struct, and the methods of an interface. A comment above a field counts for those that follow it
// without a blank line; the comment on an interface counts for its methods.
func (p *pkg) addFields(fset *token.FileSet, t *doc.Type) {
	for _, spec := range t.Decl.Specs {
		s, _ := spec.(*ast.TypeSpec)
		if s == nil || s.Name.Name != t.Name {
			continue
		}
		if body, ok := s.Type.(*ast.InterfaceType); ok {
			for _, field := range body.Methods.List {
				for _, name := range field.Names {
					p.all[t.Name+"."+name.Name] = &symbol{kind: "field", documented: true, types: exportedIn(field.Type)}
				}
			}
		}
		body, ok := s.Type.(*ast.StructType)
		if !ok {
			continue
		}
		run, last := false, 0
		for _, field := range body.Fields.List {
			run = field.Doc != nil || run && fset.Position(field.Pos()).Line == last+1
			last = fset.Position(field.End()).Line
			for _, name := range field.Names {
				if name.IsExported() {
					p.all[t.Name+"."+name.Name] = &symbol{kind: "field", documented: run || field.Comment != nil, types: exportedIn(field.Type)}
				}
			}
		}
	}
}

// exportedIn returns the exported names in a type, or a signature.
func exportedIn(t ast.Expr) (names []string) {
	ast.Inspect(t, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.IsExported() {
			names = append(names, id.Name)
		}
		return true
	})
	return names
}

// examplesOf returns what each Example selects: "x.Sel" of a plain x, and ".Sel" of everything; also in the functions of the
// tests that it calls.
func examplesOf(tests []*ast.File) map[string]map[string]bool {
	funcs := map[string]*ast.FuncDecl{}
	for _, f := range tests {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Body != nil {
				funcs[fn.Name.Name] = fn
			}
		}
	}
	found := map[string]map[string]bool{}
	for name, fn := range funcs {
		if !strings.HasPrefix(name, "Example") {
			continue
		}
		used, seen := map[string]bool{}, map[string]bool{}
		var walk func(fn *ast.FuncDecl)
		walk = func(fn *ast.FuncDecl) {
			if seen[fn.Name.Name] {
				return
			}
			seen[fn.Name.Name] = true
			ast.Inspect(fn.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					used["."+n.Sel.Name] = true
					if x, ok := n.X.(*ast.Ident); ok {
						used[x.Name+"."+n.Sel.Name] = true
					}
				case *ast.Ident:
					if called := funcs[n.Name]; called != nil {
						walk(called)
					}
				}
				return true
			})
		}
		walk(fn)
		found[name] = used
	}
	return found
}
