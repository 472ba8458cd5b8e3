package idempotency

// Class is what an error of the handler means for its record.
type Class int

const (
	// Released says that nothing happened, or what happened is safe to repeat. The next request runs the handler.
	Released Class = iota + 1

	// Recorded says that it is a terminal failure: it is recorded, and every retry gets it back.
	Recorded

	// Ambiguous says that the effect may have happened. The outcome is unknown, and [OnUnknown] decides.
	Ambiguous
)

// Terminal marks err as the final answer: it is recorded and replayed as a [Failure]. For "card declined",
// "insufficient funds", and whatever else will be the same next time. Terminal(nil) is nil.
//
// The caller of this very run gets err itself, without the mark. Mark the error that callers are to know, not one
// that wraps it: its outermost type is what is recorded, and what [Config.Failure] can rebuild.
func Terminal(err error) error { return marked(err, Recorded) }

// Unknown marks err as one that leaves open whether the effect happened. Return it for every error after an
// effect that is not made safe to repeat. Unknown(nil) is nil.
//
// The caller of this very run gets err itself, without the mark. (A mark that is wrapped further in stays in the
// error: an operation around this one that returns it as it is will be judged by it.)
func Unknown(err error) error { return marked(err, Ambiguous) }

// Safe marks err as one before which nothing happened, whatever it looks like: a time-out of a read that the
// handler makes before its effect, for example. The key is released. Safe(nil) is nil.
//
// The caller of this very run gets err itself, without the mark.
func Safe(err error) error { return marked(err, Released) }

// markedError carries the handler's own verdict. It shows the error's text and hides nothing of its chain.
type markedError struct {
	err   error
	class Class
}

func (e *markedError) Error() string { return e.err.Error() }
func (e *markedError) Unwrap() error { return e.err }

func marked(err error, class Class) error {
	if err == nil {
		return nil
	}
	return &markedError{err: err, class: class}
}

// unmarked gives the user's error back as it was before it was marked. A mark further inside was wrapped by
// the user and stays: taking it out would need a copy of the user's error.
func unmarked(err error) error {
	for {
		m, ok := err.(*markedError) //nolint:errorlint // only the outermost layer is ours
		if !ok {
			return err
		}
		err = m.err
	}
}

// classify tells what an error of the handler means: its own mark, then the user's Classify, then the table.
func (c *Config) classify(err error) Class {
	class, marked := classOf(err)
	if !marked && c.Classify != nil {
		switch own := c.Classify(err); own {
		case Released, Recorded, Ambiguous:
			return own
		}
	}
	return class
}
