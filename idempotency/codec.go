package idempotency

import "context"

// Codec seals what a Runner stores of its callers' data: answers, recorded failures, references and the results of steps.
// [NewSealer] is one; a user's own can keep its keys elsewhere. Keys, fingerprints, [Request.Ref], operations and what a
// handler stages are not its business.
//
// The methods must be safe for concurrent use. They are called with time left for them; an answer that Seal refuses is done
// and not stored ([ErrNoBody]), one that Open refuses is a record that is not understood ([ErrBadRecord]). What was recorded
// before a Codec was set is read as it is.
type Codec interface {
	// Seal must return bytes of which Open makes data again. name says whose they are and must be bound to them: what was
	// sealed under another name must not open. Seal must not keep data.
	Seal(ctx context.Context, name string, data []byte) ([]byte, error)

	// Open must return what was sealed under that name, or an error. It must not keep or change sealed.
	Open(ctx context.Context, name string, sealed []byte) ([]byte, error)
}

// The names under which a record's parts are sealed: one must not be taken for the other, nor be read as anything else than it
// was sealed as, an answer as a failure or as a reference.
func outcomeName(id string, s status, e packing) string {
	e.sealed = false
	return id + "/outcome/" + string(s) + "/" + e.String()
}

func stepName(id, step string) string { return id + "/step/" + step }
