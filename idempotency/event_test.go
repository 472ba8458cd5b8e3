package idempotency

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestLog_LevelOfEachKind(t *testing.T) {
	t.Parallel()
	levels := map[Kind]slog.Level{
		KindAcquired: slog.LevelDebug, KindExpired: slog.LevelInfo, KindTakenOver: slog.LevelInfo, KindReplayed: slog.LevelDebug,
		KindWaited: slog.LevelDebug, KindInProgress: slog.LevelDebug, KindMismatch: slog.LevelInfo, KindCompleted: slog.LevelDebug,
		KindFailed: slog.LevelDebug, KindReleased: slog.LevelDebug, KindUnknown: slog.LevelWarn, KindLeaseLost: slog.LevelWarn,
		KindNotRecorded: slog.LevelWarn, KindNoTime: slog.LevelWarn, KindStoreFailure: slog.LevelWarn,
	}
	for kind, level := range levels {
		for _, enabled := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
			var out bytes.Buffer
			log := Log(slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: enabled})))
			log(t.Context(), Event{Kind: kind, Operation: "op", ID: "op#1"})
			if (out.Len() > 0) != (level >= enabled) {
				t.Errorf("%s at %s wrote %q", kind, enabled, out.String())
			}
			if out.Len() > 0 && !strings.Contains(out.String(), `"level":"`+level.String()+`"`) {
				t.Errorf("%s wrote %q, want level %s", kind, out.String(), level)
			}
		}
	}
}

func TestLog_WritesWhatIsThere(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := Log(slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	read := func() map[string]any {
		t.Helper()
		line := map[string]any{}
		if err := json.Unmarshal(out.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		out.Reset()
		delete(line, "time")
		return line
	}
	log(t.Context(), Event{Kind: KindUnknown, Operation: "op", ID: "op#1", Ref: "order 17", Attempt: 2, Duration: time.Second, Err: errors.New("reset")})
	for name, want := range map[string]any{
		"msg": "idempotency: unknown", "operation": "op", "id": "op#1", "ref": "order 17", "attempt": 2.0, "duration": 1e9, "error": "reset",
	} {
		line := map[string]any{}
		if err := json.Unmarshal(out.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if line[name] != want {
			t.Errorf("%s is %v, want %v", name, line[name], want)
		}
	}
	out.Reset()
	log(t.Context(), Event{Kind: KindReplayed, Operation: "op", ID: "op#1"})
	line := read()
	for _, absent := range []string{"ref", "attempt", "error"} {
		if _, ok := line[absent]; ok {
			t.Errorf("%s is there: %v", absent, line)
		}
	}
}

// I11: whatever happens to a request, neither its key nor its scope nor its input is in an event or a log line.
func TestObserve_ShowsNoKey(t *testing.T) {
	t.Parallel()
	const key, scope, input = "ann@example.com", "tenant-4711", "card-4111"
	own := func(change func(item)) item {
		it := unitItem(inProgress)
		it[attrLease], it["expiration"] = numberValue(4_000_000_000_000), numberValue(4_000_000_000)
		delete(it, attrValidation)
		change(it)
		return it
	}
	for name, answer := range map[string]func(any) (item, error){
		"a run":       nil,
		"table down":  func(any) (item, error) { return nil, answered(400, "AccessDeniedException") },
		"in progress": func(any) (item, error) { return nil, conditionFailed(own(func(item) {})) },
		"mismatch": func(any) (item, error) {
			return nil, conditionFailed(own(func(it item) { it[attrValidation] = textValue("v1:" + strings.Repeat("0", 64)) }))
		},
		"bad record": func(any) (item, error) {
			return nil, conditionFailed(own(func(it item) { it[attrStatus] = textValue("?") }))
		},
		"unknown": func(any) (item, error) {
			return nil, conditionFailed(own(func(it item) { it[attrStatus] = textValue("UNKNOWN") }))
		},
		"other finger": func(any) (item, error) {
			return nil, conditionFailed(own(func(it item) { it[attrValidation] = textValue("v9:1") }))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			log := Log(slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
			var kinds []Kind
			r, err := New(&unitClient{answer: answer}, Config{Table: "records", Observe: func(ctx context.Context, e Event) {
				kinds = append(kinds, e.Kind)
				if e.Operation != "op" || !strings.HasPrefix(e.ID, "op#") || e.Ref != "order 17" || e.Duration < 0 {
					t.Errorf("event %+v", e)
				}
				log(ctx, e)
			}})
			if err != nil {
				t.Fatal(err)
			}
			_, err = Do(t.Context(), r, Request{Operation: "op", Scope: scope, Key: key, Input: input, Ref: "order 17"},
				func(context.Context) (string, error) { return "done", nil })
			if len(kinds) == 0 || out.Len() == 0 {
				t.Fatal("nothing was observed")
			}
			if name == "a run" && !slices.Equal(kinds, []Kind{KindAcquired, KindCompleted}) {
				t.Errorf("observed %v", kinds)
			}
			for _, raw := range []string{key, scope, input} {
				if strings.Contains(out.String(), raw) || err != nil && strings.Contains(err.Error(), raw) {
					t.Errorf("%q is in %s or in %v", raw, out.String(), err)
				}
			}
		})
	}
}

// An answer that no retry will get is a warning, at the run that has lost it and at each retry.
func TestLog_WarnsOfLostAnswers(t *testing.T) {
	t.Parallel()
	for _, kind := range []Kind{KindCompleted, KindFailed, KindReplayed, KindCached} {
		var out bytes.Buffer
		Log(slog.New(slog.NewJSONHandler(&out, nil)))(t.Context(), Event{Kind: kind, Err: ErrNoBody})
		if !strings.Contains(out.String(), `"level":"WARN"`) {
			t.Errorf("%s wrote %q", kind, out.String())
		}
	}
}
