package main

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestRun(t *testing.T) {
	t.Parallel()
	w := &world{repository: t.TempDir(), module: t.TempDir(), bin: "/bin", database: "127.0.0.1:4711", records: []string{"pay#1", "pay#2"}, operator: []string{"TABLE=records"}}
	for name, tt := range map[string]struct {
		h    held
		want string // a part of what is wrong; "" if nothing is
	}{
		"as wanted":              {held{command: "echo done", says: "done"}, ""},
		"on stderr":              {held{command: "echo done >&2", says: "done"}, ""},
		"says something else":    {held{command: "echo done", says: "gone"}, `does not say "gone"`},
		"fails":                  {held{command: "exit 3"}, "exit status 3, want exit code 0"},
		"a part of a pipe fails": {held{command: "false | true"}, "exit status 1"},
		"unset variable":         {held{command: `echo "$NOTHING_OF_THE_KIND"`}, "unbound"},
		"fails as wanted":        {held{command: "exit 3", code: 3}, ""},
		"does not fail":          {held{command: "true", code: 3}, "want exit code 3"},
		"never ends":             {held{command: "echo so far; sleep 60", limit: 200 * time.Millisecond}, "has not ended after 200ms:\nso far"},
		"record":                 {held{command: `echo "$ID"`, where: operator, record: 1, says: "pay#2"}, ""},
		"operator":               {held{command: `read -r answer; echo "$answer $TABLE"`, where: operator, says: "y records"}, ""},
		"another port":           {held{command: "echo 127.0.0.1:8000", where: newModule, says: "127.0.0.1:4711"}, ""},
		"nothing is fetched":     {held{command: `echo "$GOPROXY"`, where: newModule, says: "off"}, ""},
		"in the repository":      {held{command: "pwd", says: w.repository}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := w.run(t.Context(), tt.h)
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}

func TestStart(t *testing.T) {
	t.Parallel()
	w := &world{repository: t.TempDir()}
	s, address, err := w.start(t.Context(), held{command: "echo at http://127.0.0.1:4711; sleep 60; true"})
	if err != nil || address != "127.0.0.1:4711" {
		t.Fatalf("address %q, %v", address, err)
	}
	if err := s.end(); err != nil {
		t.Error(err)
	}
	if err := syscall.Kill(-s.cmd.Process.Pid, 0); err == nil {
		t.Error("something of it still runs")
	}
	if _, _, err := w.start(t.Context(), held{command: "echo port is taken; exit 1"}); err == nil || !strings.Contains(err.Error(), "has ended:\nport is taken") {
		t.Errorf("a server that ends at once: %v", err)
	}
	s, _, err = w.start(t.Context(), held{command: "echo http://127.0.0.1:4711; sleep 0.5"})
	if err != nil {
		t.Fatal(err)
	}
	<-s.ended
	if err := s.end(); err == nil || !strings.Contains(err.Error(), "has ended by itself") {
		t.Errorf("a server that does not stay: %v", err)
	}
}
