package main

import (
	"regexp"
	"slices"
	"strings"
)

// command is what a document tells its reader to type: one command line, without its comment. Of a block of text it is the
// first line.
type command struct {
	doc  string
	line int
	text string
}

var fence = regexp.MustCompile("^\\s*(```+|~~~+)\\s*(\\w*)")

// shells are the languages of fenced blocks whose lines are typed.
var shells = []string{"sh", "bash", "shell", "console"}

// blocks returns the blocks of a document that are indented by four spaces, or fenced for a shell, each as its lines, and the
// number of the first line.
func blocks(text string) (found [][]string, at []int) {
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if open := fence.FindStringSubmatch(lines[i]); open != nil {
			end := i + 1
			for end < len(lines) && strings.TrimSpace(lines[end]) != open[1] {
				end++
			}
			if slices.Contains(shells, strings.ToLower(open[2])) {
				found, at = append(found, lines[i+1:end]), append(at, i+2)
			}
			i = end
			continue
		}
		if !strings.HasPrefix(lines[i], "    ") || i > 0 && strings.TrimSpace(lines[i-1]) != "" {
			continue // a wrapped line of a list or a paragraph
		}
		end := i
		for j := i; j < len(lines) && (strings.HasPrefix(lines[j], "    ") || strings.TrimSpace(lines[j]) == ""); j++ {
			if strings.TrimSpace(lines[j]) != "" {
				end = j + 1
			}
		}
		found, at = append(found, lines[i:end]), append(at, i+1)
		i = end - 1
	}
	return found, at
}

// commands returns what a document tells its reader to type. Of a block whose first line isText it is that line alone.
func commands(doc, text string, isText func(line string) bool) (found []command) {
	all, at := blocks(text)
	for n, block := range all {
		if isText(strings.TrimSpace(block[0])) {
			found = append(found, command{doc, at[n], strings.TrimSpace(block[0])})
			continue
		}
		for i := 0; i < len(block); i++ {
			c := command{doc: doc, line: at[n] + i}
			line := uncomment(block[i])
			for strings.HasSuffix(line, `\`) && i+1 < len(block) {
				i++
				line = strings.TrimSpace(strings.TrimSuffix(line, `\`)) + " " + uncomment(block[i])
			}
			if c.text = line; c.text != "" {
				found = append(found, c)
			}
		}
	}
	return found
}

// uncomment returns a command line without the comment at its end, and without space around it. A # in quotation marks, or within
// a word, begins none.
func uncomment(line string) string {
	var quote rune
	before := ' '
	for i, c := range line {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '#' && before == ' ':
			return strings.TrimSpace(line[:i])
		}
		before = c
	}
	return strings.TrimSpace(line)
}
