package idempotency

import (
	"context"
	"fmt"
	"io"
)

// MaxStoredRef is the longest reference that [StoreRef] takes, in bytes.
const MaxStoredRef = 1024

// StoreRef makes the running handler's outcome a reference, such as the key of an S3 object: its result goes to this caller,
// and only ref is recorded. A replay hands ref to [Request.Rebuild], which makes the answer of it. For answers that are kept
// elsewhere anyway, are larger than 7.5 MiB, or must not be copied. ctx is that of the handler; the last call counts, and a
// handler that returns an error has stored nothing. An error of StoreRef's own is marked [Unknown]: it comes each time, and most
// often after the effect.
//
// ref is stored in clear (unless Config.Codec is set): at most [MaxStoredRef] bytes of printable text.
func StoreRef(ctx context.Context, ref string) error {
	return Unknown(runningFrom(ctx).storeRef(ref))
}

func (run *running) storeRef(ref string) error {
	switch {
	case run == nil:
		return invalid("StoreRef's ctx", "a context without an attempt", "must be the one that Do gave to the handler (in a test of a bare handler, use WithAttempt)")
	case len(ref) > MaxStoredRef:
		return invalid("StoreRef's ref", fmt.Sprintf("%d bytes long", len(ref)), fmt.Sprintf("at most %d bytes are allowed", MaxStoredRef))
	case run.call != nil && run.req.Rebuild == nil:
		return invalid("Request.Rebuild", "nil", "is required with StoreRef: without it no retry could be answered")
	}
	if err := validPrintable("StoreRef's ref", ref); err != nil {
		return err
	}
	run.mu.Lock()
	defer run.mu.Unlock()
	if run.over {
		return invalid("StoreRef's ctx", "that of a run which is over", "the reference must be stored before the handler returns")
	}
	run.ref = ref
	return nil
}

// result is what is recorded of a handler that has returned without an error.
func (run *running) result(h handler) (res result) {
	run.mu.Lock()
	ref := run.ref
	run.mu.Unlock()
	if ref != "" {
		return result{data: []byte(ref), reference: true}
	}
	res.data, res.err = h.encode()
	return res
}

// rebuild makes an answer of a reference, as JSON.
func (c *call) rebuild(ctx context.Context, ref string) ([]byte, error) {
	if c.req.Rebuild == nil {
		return nil, invalid("Request.Rebuild", "nil", "is required: the outcome was stored as a reference")
	}
	value, err := c.req.Rebuild(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("%w: Request.Rebuild: %w", ErrUnavailable, err)
	}
	if _, stream := value.(io.Reader); stream {
		return nil, fmt.Errorf("%w: Request.Rebuild returned a %T: %w", ErrBadRecord, value, errStream)
	}
	data, err := encode(value)
	if err != nil {
		return nil, fmt.Errorf("%w: what Request.Rebuild returned cannot be encoded: %w", ErrBadRecord, err)
	}
	return data, nil
}
