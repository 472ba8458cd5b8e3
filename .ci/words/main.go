// Words looks for what has no place in the repository's text files: promises that do not hold, leftovers, and
// traces of the machine a change was made on.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

// rule is one thing that must not occur. A match of allowed is blanked before the search.
type rule struct {
	pattern *regexp.Regexp
	allowed *regexp.Regexp
	goOnly  bool
	why     string
}

// rules may span lines: a wrapped comment hides nothing. The patterns are written so that they don't match themselves.
func rules(proxies string) []rule {
	rs := []rule{
		{
			pattern: regexp.MustCompile(`(?i)exactly(?:[-\s/*#>_\x{a0}\x{2011}]|&nbsp;)*once(?:[^a-z]|\z)`),
			allowed: regexp.MustCompile(`"exactly once"`),
			why:     `say at most once, and in which window; the bare phrase promises too much (in double quotes it may be talked about)`,
		},
		{
			pattern: regexp.MustCompile(`/(?:work|root|home|Users)/|[\\]Users[\\]`),
			why:     "a path of one machine",
		},
		{
			pattern: regexp.MustCompile(`(?i)\b[a-z.-]*(?:npmjs|pypi|pythonhosted)\.(?:org|com|io)\b`),
			why:     "a package registry's host: name the package",
		},
		{
			pattern: regexp.MustCompile(`\b(?:TOD[O]|FIXM[E])\b`),
			goOnly:  true,
			why:     "finish it, or open an issue",
		},
	}
	if hosts := hostNames(proxies); len(hosts) > 0 {
		rs = append(rs, rule{
			pattern: regexp.MustCompile(`(?i)\b(?:` + strings.Join(hosts, "|") + `)\b`),
			why:     "a module proxy's host: the go command knows it",
		})
	}
	return rs
}

// hostNames returns the hosts in a GOPROXY list, quoted for a regular expression.
func hostNames(proxies string) []string {
	var hosts []string
	for _, m := range regexp.MustCompile(`://(?:[^/@,|\s]*@)?([\w-]+(?:\.[\w-]+)+)`).FindAllStringSubmatch(proxies, -1) {
		hosts = append(hosts, regexp.QuoteMeta(m[1]))
	}
	return hosts
}

// find returns one line, as compilers print them, for each match of a rule in a file.
func find(rs []rule, name string, text []byte) []string {
	var found []string
	for _, r := range rs {
		if r.goOnly && !strings.HasSuffix(name, ".go") {
			continue
		}
		searched := text
		if r.allowed != nil {
			searched = r.allowed.ReplaceAllFunc(text, func(m []byte) []byte { return bytes.Repeat([]byte("."), len(m)) })
		}
		for _, at := range r.pattern.FindAllIndex(searched, -1) {
			line := 1 + bytes.Count(text[:at[0]], []byte("\n"))
			found = append(found, fmt.Sprintf("%s:%d: %q: %s", name, line, text[at[0]:at[1]], r.why))
		}
	}
	return found
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("words: ")
	ctx := context.Background()
	proxies, err := exec.CommandContext(ctx, "go", "env", "GOPROXY").Output()
	if err != nil {
		log.Fatal("go env: ", err)
	}
	// Files that git tracks or would track: a new file is checked before it is added.
	names, err := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		log.Fatal("git ls-files: ", err)
	}
	rs := rules(string(proxies))
	failed := false
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		info, err := os.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue // deleted, not yet in a commit; or a link, whose target is checked if it is one of ours
		}
		text, err := os.ReadFile(name)
		if err != nil {
			log.Fatal(err)
		}
		if strings.HasSuffix(name, "go.sum") || bytes.IndexByte(text, 0) >= 0 {
			continue
		}
		for _, line := range find(rs, name, text) {
			fmt.Println(line)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}
