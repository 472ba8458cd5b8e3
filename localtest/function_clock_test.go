package localtest_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/oncekey/oncekey/localtest"
	"github.com/oncekey/oncekey/localtest/internal/runtimeapi"
)

func TestNow_ClocksThatDiffer(t *testing.T) {
	t.Parallel()
	for _, offset := range []time.Duration{0, time.Hour, -90 * time.Minute} {
		f := localtest.StartFunction(t, localtest.Bootstrap{ClockOffset: offset, Timeout: longEnough})
		before := time.Now().Add(offset).Truncate(time.Second)
		r := invoke(t, f, "time", "")
		var got time.Time
		if err := json.Unmarshal(r.Payload, &got); err != nil {
			t.Fatalf("%v in %s %v", err, r.Payload, r.Error)
		}
		if after := time.Now().Add(offset); got.Before(before) || got.After(after) {
			t.Errorf("offset %v: the process has %v, want %v to %v", offset, got, before, after)
		}
	}
	before := time.Now()
	if got := localtest.Now(); got.Before(before) || got.After(time.Now()) {
		t.Errorf("in the test it is %v, want %v", got, before)
	}
}

func TestNow_BrokenVariable(t *testing.T) { // not parallel: the variable is the process's
	t.Setenv(runtimeapi.ClockVariable, "soon")
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, `is "soon", must be a duration`) {
			t.Errorf("panic %q in %v", text, os.Args[0])
		}
	}()
	localtest.Now()
}
