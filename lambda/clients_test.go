package lambda_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// The page for clients has each code that there is, in its table, with its anchor, and in its OpenAPI document.
func TestClientsPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("CLIENTS.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("httpproblem.go")
	if err != nil {
		t.Fatal(err)
	}
	all := func(expression string, text []byte) (found []string) {
		for _, m := range regexp.MustCompile(expression).FindAllSubmatch(text, -1) {
			found = append(found, string(m[1]))
		}
		slices.Sort(found)
		return found
	}
	want := all(`problem\{http\.Status\w+, "(\w+)"`, code)
	if table := all("<a id=\"\\w+\"></a>`(\\w+)`", page); len(want) < 10 || !slices.Equal(table, want) {
		t.Errorf("the table has %v, the code %v", table, want)
	}
	if anchors := all(`<a id="(\w+)">`, page); !slices.Equal(anchors, want) {
		t.Errorf("the anchors are %v, the codes %v", anchors, want)
	}

	_, block, _ := strings.Cut(string(page), "## OpenAPI\n")
	var document struct {
		Paths      map[string]map[string]any
		Components struct {
			Responses map[string]any
			Schemas   map[string]struct {
				Properties struct{ Code struct{ Enum []string } }
			}
		}
	}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(block, "\n    ", "\n")), &document); err != nil {
		t.Fatal(err)
	}
	enum := slices.Sorted(slices.Values(document.Components.Schemas["IdempotencyProblem"].Properties.Code.Enum))
	if !slices.Equal(enum, want) || document.Paths["/payments"]["get"] == nil || document.Components.Responses["IdempotencyProblem"] == nil {
		t.Errorf("the OpenAPI document has %v, the code %v", enum, want)
	}
}
