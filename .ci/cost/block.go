package main

import (
	"errors"
	"fmt"
	"strings"
)

// The lines between which the tables stand.
const (
	begin = "<!-- cost:begin -->\n"
	end   = "<!-- cost:end -->\n"
)

// split takes a document apart: what stands between the two lines, and the rest with these lines.
func split(text string) (before, block, after string, err error) {
	if strings.Count(text, begin) != 1 || strings.Count(text, end) != 1 {
		return "", "", "", errors.New("must have one line " + strings.TrimSpace(begin) + " and one line " + strings.TrimSpace(end))
	}
	from, to := strings.Index(text, begin)+len(begin), strings.Index(text, end)
	if to < from {
		return "", "", "", errors.New(strings.TrimSpace(end) + " stands before " + strings.TrimSpace(begin))
	}
	return text[:from], text[from:to], text[to:], nil
}

// difference names the first line in which a file's block is not what it should be.
func difference(file, got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("%s: the tables have changed (make cost writes them):\nline %d of them is\n\t%s\nand should be\n\t%s", file, i+1, g[i], w[i])
		}
	}
	return file + ": the tables have changed (make cost writes them): lines are missing, or too many"
}
