package main

import (
	"fmt"
	"go/ast"
	"net/netip"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
)

const (
	module    = "github.com/oncekey/oncekey"
	reference = "https://pkg.go.dev/"
)

var (
	inline   = regexp.MustCompile(`\]\(\s*([^)\s]+)[^)]*\)`)                    // [text](target), and of images
	defined  = regexp.MustCompile(`(?m)^ {0,3}\[[^\]]+\]:\s+(\S+)`)             // [name]: target
	address  = regexp.MustCompile("https?://[^\\s<>\"'`\\])|]+")                // a bare one
	codeSpan = regexp.MustCompile("(?s)``.+?``|`[^`]+`")                        // `text`
	heading  = regexp.MustCompile(`(?m)^#{1,6}\s+(.+?)\s*#*$`)                  // ## Text
	anchorID = regexp.MustCompile(`<a\s+(?:id|name)="([^"]+)"`)                 // <a id="name">
	textLink = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)                      // [text](target), for its text
	typed    = regexp.MustCompile("`make ((?:[a-z][\\w-]*)(?: [a-z][\\w-]*)*)") // `make target`, in a sentence
)

// links returns the links of a document that lead nowhere. Other sites are not asked; their addresses have to be right in form.
func links(doc, content string, docs map[string]string, symbols *index) (found []string) {
	prose := codeSpan.ReplaceAllString(withoutBlocks(content), "")
	targets := map[string]bool{}
	for _, pattern := range []*regexp.Regexp{inline, defined} {
		for _, m := range pattern.FindAllStringSubmatch(prose, -1) {
			targets[m[1]] = true
		}
	}
	for _, m := range address.FindAllString(prose, -1) {
		targets[strings.TrimRight(m, ".,;:")] = true
	}
	for target := range targets {
		if problem := leadsNowhere(doc, target, docs, symbols); problem != "" {
			found = append(found, fmt.Sprintf("%s: link to %s: %s", doc, target, problem))
		}
	}
	return found
}

// withoutBlocks blanks what is fenced or indented, and keeps the lines.
func withoutBlocks(content string) string {
	lines := strings.Split(content, "\n")
	mark := ""
	for i, line := range lines {
		switch open := fence.FindStringSubmatch(line); {
		case mark == "" && open != nil:
			mark, lines[i] = open[1], ""
		case mark != "":
			if strings.TrimSpace(line) == mark {
				mark = ""
			}
			lines[i] = ""
		case strings.HasPrefix(line, "    "):
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}

// leadsNowhere says what is wrong with a link, or "".
func leadsNowhere(doc, target string, docs map[string]string, symbols *index) string {
	if strings.Contains(target, "://") {
		return wrongAddress(target, symbols)
	}
	file, anchor, hasAnchor := strings.Cut(target, "#")
	at := doc
	if file != "" {
		at = path.Join(path.Dir(doc), file)
	}
	switch _, err := os.Stat(filepath.Join(symbols.root, at)); {
	case strings.HasPrefix(at, "..") || path.IsAbs(file):
		return "it leaves the repository"
	case err != nil:
		return "there is no such file"
	case !hasAnchor:
		return ""
	}
	content, isDoc := docs[at]
	switch {
	case !isDoc:
		return "an anchor goes with a document"
	case !anchors(content)[anchor]:
		return "the document has no such heading, and no such id"
	}
	return ""
}

// anchors are the ids of a document: those of its headings, as GitHub makes them, and those that it gives itself.
func anchors(content string) map[string]bool {
	ids := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(withoutBlocks(content), -1) {
		id := slug(m[1])
		for n := 1; ids[id]; n++ {
			id = fmt.Sprintf("%s-%d", slug(m[1]), n)
		}
		ids[id] = true
	}
	for _, m := range anchorID.FindAllStringSubmatch(content, -1) {
		ids[m[1]] = true
	}
	return ids
}

func slug(title string) string {
	title = textLink.ReplaceAllString(title, "$1")
	return strings.Map(func(c rune) rune {
		switch {
		case c == ' ':
			return '-'
		case unicode.IsLetter(c), unicode.IsDigit(c), c == '-', c == '_':
			return unicode.ToLower(c)
		}
		return -1
	}, title)
}

// wrongAddress says what is wrong with an address of another site, or of this module's reference.
func wrongAddress(target string, symbols *index) string {
	u, err := url.Parse(target)
	switch {
	case err != nil:
		return err.Error()
	case u.Scheme == "http" && loopback(u.Hostname()):
		return ""
	case u.Scheme != "https":
		return "must be https"
	case u.User != nil || !strings.Contains(strings.Trim(u.Hostname(), "."), "."):
		return "has no host that everybody can reach"
	}
	rest, ours := strings.CutPrefix(target, reference+module)
	if !ours {
		return ""
	}
	folder, symbol, has := strings.Cut(rest, "#")
	folder, _, _ = strings.Cut(strings.TrimPrefix(folder, "/"), "@")
	names, err := symbols.of(folder)
	switch {
	case err != nil || len(names.all) == 0:
		return "the module has no such package"
	case has && symbol != "pkg-overview" && !strings.HasPrefix(symbol, "hdr-") && !strings.HasPrefix(symbol, "example-") && names.all[symbol] == nil:
		return "the package exports no " + symbol
	}
	return ""
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// commentLinks returns the addresses in a file's comments that are none.
func commentLinks(name string, file *ast.File, symbols *index) (found []string) {
	for _, group := range file.Comments {
		for _, comment := range group.List {
			for _, m := range address.FindAllString(comment.Text, -1) {
				target := strings.TrimRight(m, ".,;:")
				if strings.HasPrefix(target, "http://127.0.0.1") {
					continue // what a line of a shell has
				}
				if problem := wrongAddress(target, symbols); problem != "" {
					found = append(found, fmt.Sprintf("%s: address %s: %s", name, target, problem))
				}
			}
		}
	}
	return found
}

// unknownTargets returns what a document's sentences call a make target and the Makefile does not have.
func unknownTargets(doc, content string, has func(target string) bool) (found []string) {
	for _, m := range typed.FindAllStringSubmatch(content, -1) {
		for target := range strings.FieldsSeq(m[1]) {
			if !has(target) {
				found = append(found, fmt.Sprintf("%s: make %s: the Makefile has no such target", doc, target))
			}
		}
	}
	return found
}
