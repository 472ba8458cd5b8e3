package main

import (
	"flag"
	"io"
	"strings"
)

func isHelp(arg string) bool {
	return strings.HasPrefix(arg, "-") && strings.TrimLeft(arg, "-") == "help" || arg == "-h"
}

func (p *program) help(args []string) int {
	if len(args) == 0 {
		overview(p.stdout)
		return exitOK
	}
	c := find(args[0])
	if c == nil || len(args) > 1 {
		return p.fail(usage("there is no command %q: idemctl help lists them", strings.Join(args, " ")))
	}
	c.help(p.stdout)
	return exitOK
}

const overviewEnd = `
Every command has -json and -timeout. The table is -table, or IDEMPOTENCY_TABLE; region and credentials are the AWS SDK's.
Exit codes: 0 it is so, or was done; 1 refused, or a problem was found; 2 wrong command line; 3 no such record; 4 could not
be asked. "idemctl help COMMAND" tells of one: its arguments, its flags, the rights that it needs.
`

func overview(w io.Writer) {
	say(w, "idemctl shows and settles the records of an idempotency table, checks the table, and makes one.\n\n")
	t := newTable(w)
	for _, c := range commands() {
		t.row("  "+c.name, c.summary)
	}
	t.flush()
	say(w, "%s", overviewEnd)
}

// help of one command: its flags with their defaults, two dashes as well as one.
func (c *command) help(w io.Writer) {
	say(w, "idemctl %s\n\n%s.\n\n", strings.TrimSpace(c.name+" "+c.args+" [flags]"), c.summary)
	fs, _, _ := c.flags()
	t := newTable(w)
	fs.VisitAll(func(f *flag.Flag) {
		name, text := flag.UnquoteUsage(f)
		if def := f.DefValue; def != "" && def != "false" && def != "0" && def != "0s" {
			text += " (default " + def + ")"
		}
		t.row(strings.TrimRight("  -"+f.Name+" "+name, " "), text)
	})
	t.flush()
	if c.more != "" {
		say(w, "\n%s\n", strings.Trim(c.more, "\n"))
	}
}
