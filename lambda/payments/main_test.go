package main

import (
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
	for variable, env := range map[string]map[string]string{
		"IDEMPOTENCY_TABLE":  {},
		"ON_UNKNOWN":         {"IDEMPOTENCY_TABLE": "records", "ON_UNKNOWN": "ignore"},
		"CARD_PROCESSOR_URL": {"IDEMPOTENCY_TABLE": "records", "CARD_PROCESSOR_URL": "localhost:8080"},
		"FRONT_DOOR":         {"IDEMPOTENCY_TABLE": "records", "FRONT_DOOR": "window"},
	} {
		t.Run(variable, func(t *testing.T) {
			t.Parallel()
			_, err := setup(t.Context(), func(name string) string { return env[name] })
			if err == nil || !strings.Contains(err.Error(), variable) {
				t.Errorf("error %v, want one that names %s", err, variable)
			}
		})
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
