package main

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary is its own bootstrap: its argument says how it behaves.
func TestMain(m *testing.M) {
	api := os.Getenv("AWS_LAMBDA_RUNTIME_API")
	if api == "" {
		os.Exit(m.Run())
	}
	switch os.Args[1] {
	case "asks":
		_, _ = http.Get("http://" + api + "/2018-06-01/runtime/invocation/next") //nolint:noctx // it is killed
	case "ends":
		println("no table")
		os.Exit(1)
	case "hangs":
		select {}
	}
}

func TestStart(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		does, want string // want is in the error; "": there is none
		within     time.Duration
	}{
		{"asks", "", patience},
		{"ends", "exit status 1\nno table", patience},
		{"hangs", "asked for no event", time.Second},
	} {
		t.Run(tt.does, func(t *testing.T) {
			t.Parallel()
			api, err := listen(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer api.close()
			ctx, cancel := context.WithTimeout(t.Context(), tt.within)
			defer cancel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], tt.does)
			s, err := api.start(ctx, cmd)
			switch {
			case tt.want == "" && err != nil:
				t.Fatal(err)
			case tt.want == "" && (s.wall <= 0 || s.processor <= 0):
				t.Errorf("start = %+v", s)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
			if err := cmd.Process.Signal(syscall.Signal(0)); err == nil {
				t.Error("the process is still there")
			}
		})
	}
}

func TestMeasure_EachAsOften(t *testing.T) {
	t.Parallel()
	// A bootstrap has no arguments; this one's name is its behaviour.
	dir := t.TempDir()
	all := []*bootstrap{{name: "one"}, {name: "two"}}
	for _, b := range all {
		b.path = dir + "/" + b.name
		script := "#!/bin/sh\nexec " + os.Args[0] + " asks\n"
		if err := os.WriteFile(b.path, []byte(script), 0o700); err != nil { //nolint:gosec // it is executed
			t.Fatal(err)
		}
	}
	if err := measure(t.Context(), all, 3); err != nil {
		t.Fatal(err)
	}
	for _, b := range all {
		if len(b.starts) != 3 {
			t.Errorf("%s: %d starts, want 3", b.name, len(b.starts))
		}
	}
}

func starts(times ...float64) (list []start) {
	for _, ms := range times {
		list = append(list, start{time.Duration(ms * float64(time.Millisecond)), time.Millisecond})
	}
	return list
}

// The budget is held by the median, whatever single starts took.
func TestVerdict(t *testing.T) {
	t.Parallel()
	without := &bootstrap{name: "without", size: 8_000_000, starts: starts(4, 90, 5)}
	for name, tt := range map[string]struct {
		with bootstrap
		want string // in the error; "": there is none
	}{
		"within":    {bootstrap{size: 9_000_000, starts: starts(10, 99, 1)}, ""},
		"slow":      {bootstrap{size: 8_500_000, starts: starts(10.2, 10.1, 10.3)}, "adds 5.2 ms"},
		"large":     {bootstrap{size: 9_000_001, starts: starts(5, 5, 5)}, "adds 1000001 bytes"},
		"both":      {bootstrap{size: 9_500_000, starts: starts(20, 20, 20)}, "bytes"},
		"less even": {bootstrap{size: 7_000_000, starts: starts(3, 3, 3)}, ""},
	} {
		_, err := verdict(without, &tt.with)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: error %v, want %q", name, err, tt.want)
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	without := &bootstrap{what: "nothing", size: 8_000_000, starts: starts(4, 5, 6, 7, 90)}
	with := &bootstrap{what: "all", size: 8_630_000, starts: starts(6, 6.96, 6, 6, 7)}
	got := table([]*bootstrap{without, with})
	for _, want := range []string{
		"\n| nothing | 6.0 ms | 5.0 to 7.0 |  | 1.0 ms |  | 8.00 MB |  |\n",
		"\n| all | 6.0 ms | 6.0 to 7.0 | +0.0 ms | 1.0 ms | +0.0 ms | 8.63 MB | +0.63 MB |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if h := heading(time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), 25); !strings.HasPrefix(h, "Cold start on 2026-03-04: ") || !strings.Contains(h, "25 starts") {
		t.Errorf("heading = %s", h)
	}
}

// What is measured is built as functions are.
func TestBuild_AsTheMakefile(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^BUILD +:= (.*)$`).FindSubmatch(makefile)
	if m == nil {
		t.Fatal("the Makefile has no BUILD")
	}
	want := strings.Join(buildEnv, " ") + " go build"
	for _, f := range buildFlags {
		if strings.Contains(f, " ") {
			f = "'" + f + "'"
		}
		want += " " + f
	}
	if got := string(m[1]); got != want {
		t.Errorf("the Makefile has %s, this program %s", got, want)
	}
}
