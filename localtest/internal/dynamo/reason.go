package dynamo

import (
	"errors"
	"slices"
	"strings"
)

// reason says why one action of a cancelled transaction failed; Code "None" if it did not.
type reason struct {
	Code    string
	Message string `json:",omitempty"`
	Item    attrs  `json:",omitempty"`
}

// reasonOf is an action's error as a cancellation reason, which has shorter codes.
func reasonOf(err error) reason {
	e, ok := errors.AsType[*apiError](err)
	if !ok {
		return reason{Code: "InternalServerError", Message: err.Error()}
	}
	code := map[string]string{
		"ConditionalCheckFailedException": "ConditionalCheckFailed",
		"ValidationException":             "ValidationError",
	}[e.code]
	return reason{Code: code, Message: e.message, Item: e.item}
}

// cancelled is the error of a transaction with these reasons, nil if all of them are None.
func cancelled(reasons []reason) error {
	if !slices.ContainsFunc(reasons, func(r reason) bool { return r.Code != "None" }) {
		return nil
	}
	return cancellation(reasons)
}

// misfit is the first action of a transaction whose key does not fit its table, and why; the others are not looked into.
type misfit struct {
	action int
	err    error
}

func (m *misfit) note(action int, err error) {
	if m.err == nil {
		*m = misfit{action, err}
	}
}

// cancels is the error of a transaction of so many actions, nil if all of them fit.
func (m misfit) cancels(actions int) error {
	if m.err == nil {
		return nil
	}
	return cancellation(oneReason(actions, m.action, reasonOf(m.err)))
}

// oneReason is the reasons of a transaction of which one action failed.
func oneReason(actions, failed int, why reason) []reason {
	reasons := slices.Repeat([]reason{{Code: "None"}}, actions)
	reasons[failed] = why
	return reasons
}

func cancellation(reasons []reason) *apiError {
	codes := make([]string, len(reasons))
	for i, r := range reasons {
		codes[i] = r.Code
	}
	e := newError("TransactionCanceledException", "Transaction cancelled, please refer cancellation reasons for specific reasons [%s]", strings.Join(codes, ", "))
	e.reasons = reasons
	return e
}
