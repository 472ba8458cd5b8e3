package runtimeapi

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNew_Refuses(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		cfg  Config
		want string
	}{
		{Config{Path: "./no-such-bootstrap"}, "no-such-bootstrap"},
		{Config{Path: "function.go"}, "bootstrap: "},
		{Config{Processes: -1}, "Processes -1"},
		{Config{Env: []string{"A=1", "B=\x00"}}, `Env has "B=\x00", must have no NUL`},
		{Config{Args: []string{"\x00"}}, `Args has "\x00"`},
	} {
		if _, err := New(row.cfg); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%+v: error %v, want one with %q", row.cfg, err, row.want)
		}
	}
}

// What was found at the start is run, wherever the test is by then.
func TestNew_RelativePath(t *testing.T) { // not parallel: the directory is the process's
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Dir(self))
	f := start(t, Config{Path: "./" + filepath.Base(self)})
	t.Chdir(t.TempDir())
	wantPayload(t, invoke(t, f, do("echo", "here")), `"here"`)
}
