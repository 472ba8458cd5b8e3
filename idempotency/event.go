package idempotency

import (
	"context"
	"log/slog"
	"time"
)

// Kind says what happened.
type Kind string

// The kinds of [Event].
const (
	KindAcquired     Kind = "acquired"      // the key was acquired, or acquired again after a release; the handler runs
	KindExpired      Kind = "expired"       // the same, over a record whose window had ended
	KindTakenOver    Kind = "taken_over"    // an unknown outcome was taken over; the handler runs again
	KindReplayed     Kind = "replayed"      // a recorded outcome was handed out
	KindCached       Kind = "cached"        // the same, out of the process's cache: the table was not asked
	KindWaited       Kind = "waited"        // the wait for a twin is over; what came of it follows
	KindInProgress   Kind = "in_progress"   // refused: another attempt owns the key
	KindMismatch     Kind = "mismatch"      // refused: another request's fingerprint
	KindCompleted    Kind = "completed"     // a result was recorded; Err says why if its body could not be
	KindFailed       Kind = "failed"        // a terminal failure was recorded
	KindReleased     Kind = "released"      // the attempt ended without effect, the next request runs
	KindUnknown      Kind = "unknown"       // the outcome is unknown: of this run, or found and refused
	KindLeaseLost    Kind = "lease_lost"    // the attempt ended when the record was no longer its own
	KindNotRecorded  Kind = "not_recorded"  // the handler ran, its outcome could not be recorded
	KindNoTime       Kind = "no_time"       // refused: too little time was left
	KindStoreFailure Kind = "store_failure" // the table could not be asked, or did not take a write
)

// Event is one step of the protocol, as [Config.Observe] is told of it.
type Event struct {
	Kind      Kind
	Operation string
	ID        string        // the record's id; never the raw key
	Ref       string        // the request's ref
	Attempt   int64         // the attempt's number; 0 where there is none
	Duration  time.Duration // since the request began; of a run's end: since its handler started; of a wait: the wait
	Err       error         // the error or refusal, where there is one

	// ReadUnits and WriteUnits are what DynamoDB says the calls since the request's last event have consumed. A failed
	// condition is billed too, by the size of the item that is there: of that its answer tells nothing, and it is computed.
	// What is not counted are calls without an answer, and cancelled transactions.
	ReadUnits, WriteUnits float64
}

// Log returns an observer for [Config.Observe] that writes every event to l: what needs a person (unknown,
// lease lost, not recorded, no time, store failure, an answer that is not stored) as a warning; a mismatch, a take-over and an acquire over an expired record
// as info; the rest as debug.
func Log(l *slog.Logger) func(context.Context, Event) {
	return func(ctx context.Context, e Event) {
		level := slog.LevelDebug
		switch e.Kind {
		case KindUnknown, KindLeaseLost, KindNotRecorded, KindNoTime, KindStoreFailure:
			level = slog.LevelWarn
		case KindMismatch, KindTakenOver, KindExpired:
			level = slog.LevelInfo
		case KindCompleted, KindFailed, KindReplayed, KindCached:
			if e.Err != nil { // its answer is lost to every retry
				level = slog.LevelWarn
			}
		default:
		}
		if !l.Enabled(ctx, level) {
			return
		}
		attrs := []slog.Attr{
			slog.String("kind", string(e.Kind)),
			slog.String("operation", e.Operation),
			slog.String("id", e.ID),
			slog.Duration("duration", e.Duration),
		}
		if e.Ref != "" {
			attrs = append(attrs, slog.String("ref", e.Ref))
		}
		if e.Attempt != 0 {
			attrs = append(attrs, slog.Int64("attempt", e.Attempt))
		}
		if e.Err != nil {
			attrs = append(attrs, slog.Any("error", e.Err))
		}
		l.LogAttrs(ctx, level, "idempotency: "+string(e.Kind), attrs...)
	}
}
