package idempotency

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A number without its unit is a number of nanoseconds: a window of none, in which every retry would run again.
func TestRetention_WithoutUnit(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{1, 24, 3600, time.Microsecond, time.Millisecond, time.Second - 1} {
		for field, set := range map[string]func(*Config){
			"Config.Retention":        func(c *Config) { c.Retention = d },
			"Config.UnknownRetention": func(c *Config) { c.UnknownRetention = d },
		} {
			cfg := Config{Table: "records"}
			set(&cfg)
			_, err := New(&unitClient{}, cfg)
			wantField(t, err, field, d.String(), "unit missing")
		}
		_, err := unitRunner(t, Config{}).begin(good(func(r *Request) { r.Retention = d }))
		wantField(t, err, "Request.Retention", d.String(), "unit missing")
	}
	for field, cfg := range map[string]Config{"Config.Lease": {Lease: 5}, "Config.Reserve": {Reserve: 5}, "Config.Wait": {Wait: 5}} {
		cfg.Table = "records"
		_, err := New(&unitClient{}, cfg)
		wantField(t, err, field, "5ns", "unit missing")
	}
	// A request's wait may be computed from what time is left.
	if _, err := unitRunner(t, Config{}).begin(good(func(r *Request) { r.Wait = 5 })); err != nil {
		t.Errorf("a short wait of a request: %v", err)
	}

	if _, err := New(&unitClient{}, Config{Table: "records", Retention: time.Second, UnknownRetention: time.Second}); err != nil {
		t.Errorf("a second: %v", err)
	}
	if _, err := unitRunner(t, Config{}).begin(good(func(r *Request) { r.Retention = time.Second })); err != nil {
		t.Errorf("a second: %v", err)
	}
}

func TestConfig_TableNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ab", "my table", "table/1", "tablé", "a#b", "table:1", strings.Repeat("t", 256), "Arn:aws:dynamodb"} {
		_, err := New(&unitClient{}, Config{Table: name})
		wantField(t, err, "Config.Table", strconv.Quote(name), "3 to 255")
	}
	for _, name := range []string{"abc", "A_b-c.9", "09z", strings.Repeat("t", 255), "arn:aws:dynamodb:eu-central-1:123456789012:table/records"} {
		if _, err := New(&unitClient{}, Config{Table: name}); err != nil {
			t.Errorf("%.40s: %v", name, err)
		}
	}
}

var errNoAmount = errors.New("there is no amount")

type unwritable struct{}

func (unwritable) MarshalJSON() ([]byte, error) { return nil, errNoAmount }

// An input without a fingerprint is refused like any other argument, and the cause can be found.
func TestRequest_InputWithoutFingerprint(t *testing.T) {
	t.Parallel()
	r := unitRunner(t, Config{})
	_, err := r.begin(good(func(r *Request) { r.Input = map[string]any{"order": unwritable{}} }))
	wantField(t, err, "Request.Input", "a map[string]interface {}", "MarshalJSON failed")
	if !errors.Is(err, errNoAmount) {
		t.Errorf("%v does not lead to its cause", err)
	}
	_, err = r.begin(good(func(r *Request) { r.Input = struct{ A chan int }{} }))
	wantField(t, err, "Request.Input", "a struct { A chan int }", "Input.A")
}

// C23: JSON does not tell -0 from 0, so a retry may have either.
func TestFingerprint_NegativeZero(t *testing.T) {
	t.Parallel()
	type order struct {
		Discount float64
		Weight   float32
		Amount   int
	}
	minus := math.Copysign(0, -1)
	want, err := fingerprint(struct{ Amount int }{5})
	if err != nil {
		t.Fatal(err)
	}
	for _, input := range []order{{0, 0, 5}, {minus, 0, 5}, {0, float32(minus), 5}, {minus, float32(minus), 5}} {
		if got, err := fingerprint(input); err != nil || got != want {
			t.Errorf("%v: got %s, %v; want %s", input, got, err, want)
		}
	}
}

// I11: an error text shows the place in the program's own words. What could be data, such as a map's key, is not shown.
func TestFingerprint_ErrorsShowNoData(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"4111111111111111", "card 4111111111111111", "a@example.org", "42", "müller", "x=1"} {
		for _, input := range []any{
			map[string]any{name: func() {}},
			map[string]any{"items": []any{map[string]any{name: math.NaN()}}},
			json.RawMessage(fmt.Sprintf(`{"order":{%q:1,%q:2}}`, name, name)),
		} {
			_, err := canonicalText(input)
			if err == nil {
				t.Fatalf("%T has a fingerprint", input)
			}
			if strings.Contains(err.Error(), name) {
				t.Errorf("error %q shows %q", err, name)
			}
		}
	}
	_, err := canonicalText(map[string]any{"order": map[string]any{"unit_price-2": math.NaN()}})
	if err == nil || !strings.Contains(err.Error(), "Input.order.unit_price-2") {
		t.Errorf("a program's own names are not shown: %v", err)
	}
}
