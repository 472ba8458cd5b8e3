package idempotency

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
)

// Step runs fn once for the request and records its result in the record: an attempt that runs the handler again, after
// a release or under [Rerun], gets the recorded result without running fn. It is for handlers with several effects, so that
// a failure of the second one does not repeat the first.
//
//	charge, err := idempotency.Step(ctx, "charge", func(ctx context.Context) (Charge, error) {
//		return processor.Charge(ctx, idempotency.AttemptFrom(ctx).DownstreamKey("charge"), amount)
//	})
//
// Step is no fence: between fn's effect and its record a process can die, and a late attempt can run fn beside the next one.
// The effect needs the downstream key all the same. Where the other side can be asked whether it happened, use
// [StepOrFind].
//
// fn's error goes back untouched and records nothing; the step can then be tried again in the same run. If fn has run and
// its result cannot be recorded, the error is marked [Unknown]: [ErrLeaseLost] if another attempt has taken over (no later
// step of this run begins), [ErrNotRecorded] otherwise, also for a result that is too large: all of a record's steps together
// have at most 392 KB of JSON.
//
// fn stages nothing ([TxFrom] is nil in it): what it would stage is lost where the step is not run again.
//
// A handler that fails after a step as after any other effect releases the key, and if nobody asks again the rest is never
// done; an error marked [Unknown] leaves it to be found by [Runner.Unknowns].
//
// A name is at most 255 bytes of printable text and belongs to one step of the handler: renaming it runs the step again.
// A name used twice in one run, a result that cannot be read back ([Replayable]), a context that is none of a handler's, and
// a single-shot transaction, whose handler has no record yet, are refused with a [FieldError] before fn runs. Each step costs
// one write, and under [Claimed] the first one of a key another before it. Steps of one run may run side by side.
//
// In a test of a bare handler ([WithAttempt]) fn runs and nothing is recorded.
func Step[T any](ctx context.Context, name string, fn func(context.Context) (T, error)) (T, error) {
	return step(ctx, name, nil, fn)
}

// StepOrFind is [Step] for an effect that can be looked for: if an earlier attempt, or an earlier try of this one, may have
// run fn without recording it, find is asked first. What it finds is recorded as the step's result and fn does not run. An
// error of find goes back untouched, and nothing was run.
func StepOrFind[T any](ctx context.Context, name string, find func(context.Context) (T, bool, error), fn func(context.Context) (T, error)) (T, error) {
	if find == nil {
		var none T
		return none, invalid("StepOrFind's find", "nil", "a function that looks for the effect is required")
	}
	return step(ctx, name, find, fn)
}

// stepKey marks the context of a step's function.
type stepKey struct{}

// stepState is what has become of a name in this run.
type stepState int

const (
	stepFailed stepState = iota + 1 // fn has returned an error, or panicked
	stepRunning
	stepDone
)

func step[T any](ctx context.Context, name string, find func(context.Context) (T, bool, error), fn func(context.Context) (T, error)) (value T, err error) {
	run := runningFrom(ctx)
	if err := run.mayStep(name, fn == nil); err != nil {
		return value, err
	}
	if err := walkStep[T](run); err != nil {
		return value, err
	}
	data, triedBefore, err := run.enter(ctx, name)
	if err != nil {
		return value, err
	}
	if data != nil {
		if data, err = run.openStep(ctx, name, data); err == nil {
			err = undecoded(decode(data, &value))
		}
		if err != nil {
			var none T
			return none, run.stepUnreadable(name, err)
		}
		return value, nil
	}
	became := stepFailed // also if fn panics
	defer func() { run.leave(name, became) }()
	found := false
	inside := context.WithValue(ctx, stepKey{}, name)
	if find != nil && triedBefore {
		if value, found, err = find(inside); err != nil {
			return value, err
		}
	}
	if !found {
		if value, err = fn(inside); err != nil {
			return value, err
		}
	}
	became = stepDone
	same, err := recordStep(ctx, run, name, value)
	if err != nil {
		return value, err
	}
	return same, nil
}

// recordStep records what a step has returned, and returns it as it will be read back.
func recordStep[T any](ctx context.Context, run *running, name string, value T) (same T, err error) {
	var data []byte
	if _, stream := any(value).(io.Reader); stream {
		err = errStream // in an any, whose type did not tell
	} else if data, err = encode(&value); err == nil {
		err = undecoded(decode(data, &same))
	}
	run.mu.Lock()
	defer run.mu.Unlock()
	if err == nil {
		err = run.record(ctx, name, data)
	} else {
		err = run.stepNotRecorded(name, err)
	}
	run.unrecorded = run.unrecorded || err != nil
	return same, err
}

func walkStep[T any](run *running) error {
	if run.call == nil {
		return Replayable[T]()
	}
	return run.r.resultOf(reflect.TypeFor[T]()).err
}

// mayStep refuses what can be no step.
func (run *running) mayStep(name string, noFn bool) error {
	switch {
	case run == nil:
		return invalid("Step's ctx", "a context without an attempt", "must be the one that Do gave to the handler (in a test of a bare handler, use WithAttempt)")
	case noFn:
		return invalid("Step's fn", "nil", "the step's function is required")
	case run.call != nil && run.req.Tx == SingleShot:
		return invalid("Step's ctx", "that of a single-shot transaction", "must be that of a run with a claim: Tx Claimed, or Do")
	}
	return validText("Step's name", name)
}

// enter begins a step, unless its result is there. tried says that fn may have run before, without being recorded.
func (run *running) enter(ctx context.Context, name string) (recorded []byte, tried bool, err error) {
	run.mu.Lock()
	defer run.mu.Unlock()
	cause := context.Cause(ctx)
	switch state := run.names[name]; {
	case run.over:
		return nil, false, invalid("Step's ctx", "that of a run which is over", "a step must end before its handler returns")
	case run.lost != nil:
		return nil, false, run.lost
	case state == stepRunning || state == stepDone:
		return nil, false, invalid("Step's name", fmt.Sprintf("%q", name), "was used in this run before: each step has a name of its own")
	case cause != nil:
		return nil, false, fmt.Errorf("idempotency: step %q has not begun: %w", name, cause)
	default:
		tried = state == stepFailed || run.own.attempt.Prior != nil || run.own.attempt.Number > 1
	}
	if run.names == nil {
		run.names = map[string]stepState{}
	}
	if data, ok := run.steps[name]; ok {
		run.names[name] = stepDone
		return data, false, nil
	}
	if err := run.begin(ctx, name); err != nil {
		run.names[name] = stepFailed
		return nil, false, err
	}
	run.names[name] = stepRunning
	return nil, tried, nil
}

// begin makes the record say that a step begins, once in a record whose owner promises that its effects are steps and staged
// writes. Nothing has run if it fails. It is for holders of run.mu.
func (run *running) begin(ctx context.Context, name string) error {
	if run.call == nil || run.req.Tx == 0 || run.own.begun {
		return nil
	}
	rep, err := run.r.table.persist(ctx, &run.meter, run.r.table.beginSteps(run.own), fewSends)
	switch {
	case err != nil:
		return run.stateError(fmt.Errorf("%w: step %q has not begun: %w", ErrUnavailable, name, err), nil)
	case rep.applied, run.owns(rep.rec):
		run.own.begun = true
		return nil
	}
	return run.loses(rep.rec, name, "has not begun")
}

// owns says that the record is still this attempt's.
func (run *running) owns(rec *record) bool {
	return rec != nil && rec.token == run.own.attempt.Token && rec.status == inProgress
}

// loses ends the steps of a run whose record is another's, or gone.
func (run *running) loses(rec *record, name, what string) error {
	if rec != nil && run.match(rec) != nil {
		rec = nil // another request's state is none of this caller's business
	}
	run.lost = Unknown(run.stateError(fmt.Errorf("%w: step %q %s", ErrLeaseLost, name, what), rec))
	return run.lost
}

func (run *running) leave(name string, became stepState) {
	run.mu.Lock()
	defer run.mu.Unlock()
	run.names[name] = became
}

// record writes a step's result. The effect has happened: it is sent while there is time, whatever became of the handler's
// context.
func (run *running) record(ctx context.Context, name string, data []byte) error {
	data, err := run.sealStep(ctx, name, data)
	if err != nil {
		return run.stepNotRecorded(name, err)
	}
	size := len(name) + len(data)
	for n, d := range run.steps {
		size += len(n) + len(d)
	}
	switch {
	case size > maxInline:
		return run.stepNotRecorded(name, fmt.Errorf("the record's steps would have %d bytes, at most %d are stored", size, maxInline))
	case run.call == nil:
		return nil // a test of a bare handler
	}
	rep, err := run.r.table.persist(run.r.endingFirst(ctx, run.own.times), &run.meter, run.r.table.step(run.own, name, data), allSends)
	switch {
	case err != nil:
		return run.stepNotRecorded(name, err)
	case rep.applied, run.owns(rep.rec) && rep.rec.steps[name] != nil:
		if run.steps == nil {
			run.steps = map[string][]byte{}
		}
		run.steps[name] = data
		return nil
	case rep.rec == nil:
		return run.stepNotRecorded(name, errGone)
	}
	return run.loses(rep.rec, name, "has run and is not recorded")
}

// sealed marks the result of a step that is sealed. No JSON begins with it.
const sealedStep = 1

func (run *running) sealStep(ctx context.Context, name string, data []byte) ([]byte, error) {
	if run.call == nil || run.r.cfg.Codec == nil {
		return data, nil
	}
	ending, cancel := limitCall(run.r.ending(ctx, run.own.times))
	defer cancel()
	sealed, err := run.r.cfg.Codec.Seal(ending, stepName(run.own.attempt.id, name), bytes.Clone(data))
	if err != nil {
		return nil, fmt.Errorf("its result could not be sealed: %w", err)
	}
	return append([]byte{sealedStep}, sealed...), nil
}

func (run *running) openStep(ctx context.Context, name string, data []byte) ([]byte, error) {
	switch {
	case len(data) == 0 || data[0] != sealedStep:
		return data, nil
	case run.call == nil || run.r.cfg.Codec == nil:
		return nil, errors.New("it is sealed, and read with a Config.Codec")
	}
	return run.r.cfg.Codec.Open(ctx, stepName(run.own.attempt.id, name), data[1:])
}

// stepNotRecorded: the effect may have happened, so that the run must not be released.
func (run *running) stepNotRecorded(name string, cause error) error {
	err := fmt.Errorf("%w: step %q: %w", ErrNotRecorded, name, cause)
	if run.call == nil {
		return Unknown(err)
	}
	state := run.stateError(err, nil)
	state.Attempt = run.own.attempt.Number
	return Unknown(state)
}

// stepUnreadable: a deploy has changed the result's type. What the step has done stays done, and recorded.
func (run *running) stepUnreadable(name string, cause error) error {
	return Unknown(run.stateError(fmt.Errorf("%w: the result of step %q cannot be read: %w", ErrBadRecord, name, cause), nil))
}
