package idempotency

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestCases compares the tags in the module's Go files with CASES.md, in both directions.
func TestCases(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("CASES.md")
	if err != nil {
		t.Fatal(err)
	}
	listed, problems := readCatalogue(string(text))
	used, err := collectTags("..")
	if err != nil {
		t.Fatal(err)
	}
	if len(used) < 20 {
		t.Errorf("only %d tags were found: the search is broken", len(used))
	}
	for _, problem := range append(problems, compareTags(listed, used)...) {
		t.Error(problem)
	}
}

// catalogue has, for each tag that CASES.md lists, what its test waits for; "" if there has to be one.
type catalogue map[string]string

// uses has, for each tag, where it was found.
type uses map[string]struct{ tests, sources []string }

var catalogueRow = regexp.MustCompile(`^\| ([^|]+) \| ([^|]+) \|(?: ([^|]*) | )\|$`)

// readCatalogue reads the tables of CASES.md. All tags have to be there, once and in their order.
func readCatalogue(text string) (catalogue, []string) {
	listed := catalogue{}
	var order, problems []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|-") || strings.HasPrefix(line, "| tag |") {
			continue
		}
		row := catalogueRow.FindStringSubmatch(line)
		if row == nil || len(findTags(row[1])) != 1 || findTags(row[1])[0] != row[1] {
			problems = append(problems, "CASES.md: not a row of a tag, a sentence and what is waited for: "+line)
			continue
		}
		listed[row[1]] = strings.TrimSpace(row[3])
		order = append(order, row[1])
	}
	if want := allTags(); !slices.Equal(order, want) {
		for i := range max(len(order), len(want)) {
			if i >= len(order) || i >= len(want) || order[i] != want[i] {
				problems = append(problems, fmt.Sprintf("CASES.md: row %d of the tables is not as expected: has %v, want %v", i+1, order[min(i, len(order)):min(i+1, len(order))], want[min(i, len(want)):min(i+1, len(want))]))
				break
			}
		}
	}
	return listed, problems
}

func allTags() []string {
	var tags []string
	for _, kind := range []struct {
		format string
		last   int
	}{{"I%d", 11}, {"rule %d", 29}, {"H%d", 25}, {"C%02d", 55}} {
		for n := 1; n <= kind.last; n++ {
			tags = append(tags, fmt.Sprintf(kind.format, n))
		}
	}
	return tags
}

// compareTags returns what is used and not listed, listed and not used, and listed as waiting although used.
func compareTags(listed catalogue, used uses) []string {
	var problems []string
	for tag, where := range used {
		waits, ok := listed[tag]
		switch {
		case !ok:
			problems = append(problems, fmt.Sprintf("%s is not listed in CASES.md; used in %s", tag, strings.Join(append(where.tests, where.sources...), ", ")))
		case waits != "" && len(where.tests) > 0:
			problems = append(problems, fmt.Sprintf("%s has a test by now (%s): CASES.md still says that it waits for %q", tag, strings.Join(where.tests, ", "), waits))
		}
	}
	for tag, waits := range listed {
		if waits == "" && len(used[tag].tests) == 0 {
			problems = append(problems, tag+" is listed in CASES.md, and no test has it")
		}
	}
	slices.Sort(problems)
	return problems
}

// collectTags reads the comments and the tests' names of all Go files below root. Files and folders that the go
// command leaves out are left out.
func collectTags(root string) (uses, error) {
	used := uses{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		hidden := path != root && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "vendor")
		switch {
		case hidden && entry.IsDir():
			return fs.SkipDir
		case hidden, entry.IsDir(), !strings.HasSuffix(name, ".go"), name == "cases_test.go":
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		used.add(strings.TrimPrefix(filepath.ToSlash(path), root+"/"), fileTags(file))
		return nil
	})
	return used, err
}

func (u uses) add(path string, tags []string) {
	for _, tag := range tags {
		where := u[tag]
		list := &where.sources
		if strings.HasSuffix(path, "_test.go") {
			list = &where.tests
		}
		if !slices.Contains(*list, path) {
			*list = append(*list, path)
		}
		u[tag] = where
	}
}

// fileTags finds the tags in a file's comments, and in its functions' names, in which they stand between
// underscores. Strings are not searched: they hold all kinds of data.
func fileTags(file *ast.File) []string {
	var tags []string
	for _, group := range file.Comments {
		tags = append(tags, findTags(group.Text())...)
	}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok {
			tags = append(tags, findTags(strings.ReplaceAll(f.Name.Name, "_", " "))...)
		}
	}
	return tags
}

var (
	// A tag is a word of its own: not a part of a number, a name, a path or a longer code such as "C11-7".
	plainTag = regexp.MustCompile(`(?:^|[^\w#.+/-])(C\d\d|[HI]\d{1,2})(?:(?:–|-)(C\d\d|[HI]\d{1,2}))?(?:$|[^\w#+/-])`)
	oneRule  = regexp.MustCompile(`(?i)\brule\s+(\d{1,2})\b`)
	someRule = regexp.MustCompile(`(?i)\brules\s+(\d{1,2}(?:(?:\s*,\s*and\s+|\s*,\s*|\s+and\s+|\s*–\s*|\s*-\s*)\d{1,2})*)\b`)
	ruleList = regexp.MustCompile(`(\d{1,2})(?:\s*[–-]\s*(\d{1,2}))?`)
)

// findTags returns the tags in a text: "I1–I3" and "rules 1, 12–14" count as each of them.
func findTags(text string) []string {
	if !strings.ContainsAny(text, "0123456789") {
		return nil
	}
	var tags []string
	for from := 0; ; {
		m := plainTag.FindStringSubmatchIndex(text[from:])
		if m == nil {
			break
		}
		first, last := text[from+m[2]:from+m[3]], ""
		end := m[3]
		if m[4] >= 0 {
			last, end = text[from+m[4]:from+m[5]], m[5]
		}
		tags = append(tags, between(first, last)...)
		from += end // the character after a tag may be the one before the next
	}
	for _, m := range oneRule.FindAllStringSubmatch(text, -1) {
		tags = append(tags, between("rule "+m[1], "")...)
	}
	for _, m := range someRule.FindAllStringSubmatch(text, -1) {
		for _, part := range ruleList.FindAllStringSubmatch(m[1], -1) {
			last := ""
			if part[2] != "" {
				last = "rule " + part[2]
			}
			tags = append(tags, between("rule "+part[1], last)...)
		}
	}
	return tags
}

// between returns the tags from first to last. A range that is none counts as its two ends.
func between(first, last string) []string {
	split := func(tag string) (kind string, n int) {
		kind = strings.TrimRight(tag, "0123456789")
		n, _ = strconv.Atoi(tag[len(kind):])
		return kind, n
	}
	kind, n := split(first)
	lastKind, m := split(last)
	switch {
	case last == "":
		return []string{first}
	case kind != lastKind || n > m:
		return []string{first, last}
	}
	format := kind + "%d"
	if kind == "C" {
		format = kind + "%02d"
	}
	var tags []string
	for ; n <= m; n++ {
		tags = append(tags, fmt.Sprintf(format, n))
	}
	return tags
}

// The search finds what it has to, and nothing else.
func TestFindTags(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"C17":                               "C17",
		"(C16).":                            "C16",
		"H7, H11 and I3":                    "H7 H11 I3",
		"I1–I3":                             "I1 I2 I3",
		"C08-C10: x":                        "C08 C09 C10",
		"rule 9":                            "rule 9",
		"Rule 7, 24 h":                      "rule 7",
		"(rules 1, 5)":                      "rule 1 rule 5",
		"rules 1, 5 and 12–14.":             "rule 1 rule 5 rule 12 rule 13 rule 14",
		"rules 1, 5, and 9":                 "rule 1 rule 5 rule 9",
		"the rule\n29 says":                 "rule 29",
		"H12, rule 11: x":                   "H12 rule 11",
		"H2: x (I5)":                        "H2 I5",
		"TestX C17":                         "C17",
		"C1 and C2 are controls":            "",
		"C123, H123, I123, rule 123":        "",
		"0xC17, #C17, AC17, C17F, c17":      "",
		"U+C117, SHA-H7, x/H7, H7/2, v1.I3": "",
		"ruler 9, rules, h2, i3":            "",
		"C60":                               "C60", // found, so that it is reported as not listed
	} {
		if got := strings.Join(findTags(text), " "); got != want {
			t.Errorf("in %q: %q, want %q", text, got, want)
		}
	}
}

// Each of the three faults is reported.
func TestCompareTags(t *testing.T) {
	t.Parallel()
	used := uses{}
	used.add("a_test.go", []string{"C01", "C47", "C99"})
	used.add("a.go", []string{"I1", "I10"})
	got := strings.Join(compareTags(catalogue{"C01": "", "C02": "", "C47": "transactions", "I1": "", "I10": "transactions"}, used), "\n")
	want := "C02 is listed in CASES.md, and no test has it\n" +
		"C47 has a test by now (a_test.go): CASES.md still says that it waits for \"transactions\"\n" +
		"C99 is not listed in CASES.md; used in a_test.go\n" +
		"I1 is listed in CASES.md, and no test has it"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, problems := readCatalogue("| I1 | a |  |\n| I1 | b | c |\n"); len(problems) == 0 {
		t.Error("a catalogue with a tag twice, and without the others, is accepted")
	}
	if _, problems := readCatalogue("| I1 or so | a | |\n"); len(problems) < 2 {
		t.Errorf("a row without a tag: %v", problems)
	}
}
