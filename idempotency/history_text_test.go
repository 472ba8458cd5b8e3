package idempotency_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/oncekey/oncekey/idempotency"
)

// What a history that fails is to its reader.

// describe says what was asked and what came of it.
func describe(in, out any) string {
	i, o := in.(input), out.(output)
	what := "asks " + i.request
	switch {
	case i.resolves:
		what = "resolves"
	case i.lookup:
		what = "looks up " + i.request
	case i.shot:
		what = "single shot " + i.request
	case i.tx != 0:
		what = "claimed transaction " + i.request
	}
	if token := cmp.Or(o.token, i.token); token != "" {
		what += " (attempt " + tokenText(token) + ")"
	}
	what += ": " + string(o.said)
	if o.prior {
		what += ", told of an earlier one"
	}
	if o.value != "" {
		what += fmt.Sprintf(" %q", o.value)
	}
	return what
}

// tokenText is what tells a token from the others.
func tokenText(token string) string {
	rest, isGhost := strings.CutPrefix(token, ghost)
	switch {
	case strings.HasPrefix(rest, "worker"):
		return token
	case isGhost:
		return ghost + rest[:4]
	}
	return rest[:4]
}

// String is the history, in the order of the calls, and the writes of its clients. "!" marks the operations that are missing from
// the longest part of the history for which there is an order: it goes wrong at the first of these, or shortly before. The tests
// with broken clients show some: go test -v -run TestHistory_BrokenClients -history.show.
func (h *history) String() string {
	_, info := porcupine.CheckOperationsVerbose(keyModel(h.policy), h.operations(), checkPatience)
	var longest []porcupine.Operation
	for _, orders := range info.PartialLinearizationsOperations() {
		for _, order := range orders {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	placed := map[string]bool{}
	for _, op := range longest {
		placed[operationText(op)] = true
	}
	policy := map[idempotency.OnUnknown]string{idempotency.Refuse: "Refuse", idempotency.Rerun: "Rerun"}[h.policy]
	lines := []string{
		fmt.Sprintf("policy %s. Made from seed %d, which makes the same requests and faults, but not the same order of goroutines:", policy, h.seed),
		fmt.Sprintf("  go test ./idempotency -run 'TestHistory$' -history.seed=%d", h.seed),
		"A run is two operations, its begin and its end. What is perhaps so, its caller was not told; a ghost is an attempt that",
		"nobody has seen begin. Up to the first line that is marked with \"!\" there is an order that explains this.",
	}
	operations := slices.Clone(h.operations())
	slices.SortStableFunc(operations, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	for _, op := range operations {
		mark := " "
		if !placed[operationText(op)] {
			mark = "!"
		}
		lines = append(lines, mark+operationText(op))
	}
	lines = append(lines, "The writes:")
	return strings.Join(append(lines, h.writes...), "\n")
}

func operationText(op porcupine.Operation) string {
	return fmt.Sprintf("%9.3f – %9.3f ms  worker %d  %s", float64(op.Call)/1e6, float64(op.Return)/1e6, op.ClientId, describe(op.Input, op.Output))
}

// writeText is one write of a client.
func writeText(at time.Duration, worker int, what string, values item, answer string) string {
	text := fmt.Sprintf(" %9.3f ms  worker %d  %s", float64(at)/1e6, worker, what)
	for _, v := range []struct{ word, value string }{{"by", values.text(":mine")}, {"over", values.text(":seen")}, {"to", values.text(":status")}} {
		if v.value == "" {
			continue
		}
		if v.word != "to" {
			v.value = v.value[:4]
		}
		text += " " + v.word + " " + v.value
	}
	return text + ": " + answer
}
