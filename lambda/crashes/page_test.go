package main

import (
	_ "embed"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

const page = "../../idempotency/CRASHES.md"

var write = flag.Bool("crashes.write", false, "write "+page+" anew")

// The page says what the rules say; that these are true says TestCrashMatrix.
func TestCrashes_PageIsWhatIsTested(t *testing.T) {
	t.Parallel()
	want := written()
	if *write {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the rules say: go test ./lambda/crashes -run PageIsWhatIsTested -args -crashes.write", page)
	}
}

//go:embed page.tmpl
var frame string

// written is the frame with its tables.
func written() string {
	played := func(all bool) (n int) {
		for _, p := range paths {
			n += len(cells(p, all))
		}
		return n
	}
	return strings.NewReplacer(
		"{{quick}}", fmt.Sprint(played(false)), "{{all}}", fmt.Sprint(played(true)),
		"{{scenarios}}\n", scenarioTable(), "{{matrix}}\n", matrixTable(), "{{words}}\n", wordTable(), "{{answers}}\n", answerTable(),
	).Replace(frame)
}

// row is a line of a table.
func row(fields ...string) string { return "| " + strings.Join(fields, " | ") + " |\n" }

// head is a table's first two lines.
func head(fields ...string) string {
	return row(fields...) + "|" + strings.Repeat("---|", len(fields)) + "\n"
}

func matrixTable() string {
	titles := []string{"path", "call"}
	for _, tr := range troubles {
		titles = append(titles, tr.name)
	}
	var b strings.Builder
	b.WriteString(head(titles...))
	for _, p := range paths {
		title := p.title
		for at, call := range p.calls {
			fields := []string{title, fmt.Sprintf("%s (%s)", call.what, call.operation)}
			for _, tr := range troubles {
				fields = append(fields, field(p, at, tr))
			}
			b.WriteString(row(fields...))
			title = ""
		}
	}
	return b.String()
}

// field is the story's word, and how often each effect has happened after the lease, if that is not once under both policies.
func field(p path, at int, tr trouble) string {
	c := cell{path: p, at: at, trouble: tr, late: true}
	refuse := c.effectCounts()
	c.rerun = true
	rerun := c.effectCounts()
	word := c.story().word
	if once := strings.Trim(refuse+rerun, "1+") == ""; once {
		return word
	}
	if refuse == rerun {
		return word + " " + refuse
	}
	return word + " " + refuse + "→" + rerun
}

// effectCounts are those of the message that the trouble is about.
func (c cell) effectCounts() string {
	var counts []string
	n := c.effectsOf(true)
	for _, e := range c.effects {
		counts = append(counts, fmt.Sprint(n[e.name]))
	}
	return strings.Join(counts, "+")
}

func wordTable() string {
	var b strings.Builder
	b.WriteString(head("word", "first request", "retry at once", "retry after the lease", "why"))
	for _, s := range stories {
		b.WriteString(row("**"+s.word+"**",
			byPolicy(s.refuse.after.first, s.rerun.after.first, s.refuse.atOnce.first),
			byPolicy(s.refuse.atOnce.retry, s.rerun.atOnce.retry, ""),
			byPolicy(s.refuse.after.retry, s.rerun.after.retry, ""),
			s.says))
	}
	return b.String()
}

// byPolicy says what a request gets; usual is what the first one gets if nothing overtakes it.
func byPolicy(refuse, rerun, usual class) string {
	switch {
	case usual != "" && refuse == rerun && refuse != usual:
		return fmt.Sprintf("%s; %s if it was", usual, refuse)
	case usual != "" && refuse == usual && rerun != usual:
		return fmt.Sprintf("%s; %s if it was (Rerun)", usual, rerun)
	case refuse == rerun:
		return string(refuse)
	}
	return fmt.Sprintf("%s; Rerun: %s", refuse, rerun)
}

func answerTable() string {
	var b strings.Builder
	b.WriteString(head("answer", "what it is", "HTTP API", "`errorType` of a typed handler", "SQS"))
	for _, s := range looks {
		if s.class == notStarted {
			continue
		}
		b.WriteString(row(string(s.class), s.says, code(s.http), code(s.errorType), s.queue()))
	}
	return b.String()
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// queue is what becomes of a message.
func (s seen) queue() string {
	switch {
	case s.class.isAnswer():
		return "deleted"
	case s.class == gone:
		return "the batch comes again"
	case s.sentinel != nil && s.class != noBody:
		return "comes again"
	}
	return ""
}
