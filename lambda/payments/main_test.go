package main

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/oncekey/oncekey/idempotency"
)

// The test binary is its own bootstrap: localtest runs it as the function.
func TestMain(m *testing.M) {
	if os.Getenv("AWS_LAMBDA_RUNTIME_API") != "" {
		main()
	}
	os.Exit(m.Run())
}

func TestSetup_RefusesWhatCannotBeRight(t *testing.T) {
	t.Parallel()
	right := map[string]string{"IDEMPOTENCY_TABLE": "records", "LEDGER_TABLE": "ledger"}
	for variable, value := range map[string]string{
		"IDEMPOTENCY_TABLE": "", "LEDGER_TABLE": "", "ON_UNKNOWN": "ignore", "CARD_PROCESSOR_URL": "localhost:8080",
		"FRONT_DOOR": "window", "GRACE": "soon", "GRACE ": "-1s", "SHOP_CARD": "",
	} {
		t.Run(variable, func(t *testing.T) {
			t.Parallel()
			variable := strings.TrimSpace(variable)
			env := maps.Clone(right)
			env[variable] = value
			switch variable {
			case "GRACE":
				env["FRONT_DOOR"] = "schedule"
			case "SHOP_CARD":
				env["FRONT_DOOR"] = "queue"
			}
			_, err := setup(t.Context(), func(name string) string { return env[name] })
			if err == nil || !strings.HasPrefix(err.Error(), variable) {
				t.Errorf("error %v, want one that names %s", err, variable)
			}
		})
	}
}

func TestSetup_TakesWhatIsRight(t *testing.T) {
	t.Parallel()
	for _, door := range []string{"", "http-api", "rest-api", "function-url", "alb", "schedule", "queue"} {
		env := map[string]string{"IDEMPOTENCY_TABLE": "records", "LEDGER_TABLE": "ledger", "FRONT_DOOR": door, "SHOP_CARD": "card_shop"}
		if h, err := setup(t.Context(), func(name string) string { return env[name] }); err != nil || h == nil {
			t.Errorf("%q: %v", door, err)
		}
	}
}

func TestParseOnUnknown(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]idempotency.OnUnknown{"": idempotency.Refuse, "refuse": idempotency.Refuse, "rerun": idempotency.Rerun} {
		if got, err := parseOnUnknown(s); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", s, got, err, want)
		}
	}
}
