package page

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func document(t *testing.T, text string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "README.md")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestReplace(t *testing.T) {
	t.Parallel()
	file := document(t, "# A\n\n<!-- a:begin -->\nold\n<!-- a:end -->\nMore.\n<!-- b:begin -->\n<!-- b:end -->\n")
	if err := Compare(file, "a", "new\n"); err == nil || !strings.Contains(err.Error(), "line 1 of it is\n\told") {
		t.Errorf("before: %v", err)
	}
	for range 2 {
		if err := Replace(file, "a", "new\n"); err != nil {
			t.Fatal(err)
		}
		if err := Compare(file, "a", "new\n"); err != nil {
			t.Error(err)
		}
	}
	got, err := os.ReadFile(file)
	if want := "# A\n\n<!-- a:begin -->\n\nnew\n<!-- a:end -->\nMore.\n<!-- b:begin -->\n<!-- b:end -->\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if err := Compare(file, "a", "new\nmore\n"); err == nil {
		t.Error("a line that is missing is no difference")
	}
}

func TestReplace_NoBlock(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- a:begin -->\n", "<!-- a:end -->\n"
	for name, text := range map[string]string{
		"empty": "", "no begin": end, "no end": begin + "text\n", "two of them": begin + end + begin + end, "backwards": end + begin, "another": "<!-- b:begin -->\n<!-- b:end -->\n",
	} {
		file := document(t, text)
		if Replace(file, "a", "new\n") == nil || Compare(file, "a", "new\n") == nil || Check(file, "a") == nil {
			t.Errorf("%s: no error", name)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != text {
			t.Errorf("%s: became %q, %v", name, got, err)
		}
	}
}
