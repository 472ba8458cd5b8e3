// Package page writes generated blocks into documents. The block NAME stands between the lines <!-- NAME:begin --> and
// <!-- NAME:end -->, which stay.
package page

import (
	"fmt"
	"os"
	"strings"
)

// Replace writes text, with an empty line before it, into the file's block.
func Replace(file, name, text string) error {
	before, _, after, err := split(file, name)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(before+"\n"+text+after), 0o644) //nolint:gosec // a document
}

// Check says that the file has such a block, for programs that work for minutes before they write.
func Check(file, name string) error {
	_, _, _, err := split(file, name)
	return err
}

// Compare returns an error that names the first line of the file's block which is not as in text.
func Compare(file, name, text string) error {
	_, block, _, err := split(file, name)
	if err != nil {
		return err
	}
	text = "\n" + text
	if block == text {
		return nil
	}
	got, want := strings.Split(block, "\n"), strings.Split(text, "\n")
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Errorf("%s: the block %s has changed: line %d of it is\n\t%s\nand should be\n\t%s", file, name, i+1, got[i], want[i])
		}
	}
	return fmt.Errorf("%s: the block %s has changed: lines are missing, or too many", file, name)
}

// split takes a document apart: what stands between the two lines, and the rest with these lines.
func split(file, name string) (before, block, after string, err error) {
	old, err := os.ReadFile(file)
	if err != nil {
		return "", "", "", err
	}
	text, begin, end := string(old), "<!-- "+name+":begin -->\n", "<!-- "+name+":end -->\n"
	from, to := strings.Index(text, begin)+len(begin), strings.Index(text, end)
	if strings.Count(text, begin) != 1 || strings.Count(text, end) != 1 || to < from {
		return "", "", "", fmt.Errorf("%s: must have one line %s, and after it one line %s", file, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return text[:from], text[from:to], text[to:], nil
}
