package idempotency

import "time"

// What a resolution writes over an unknown, under take-over's condition: it meets the late owner, a request under Rerun and
// other resolvers, and one of them wins. The token is a fresh one, or the late owner would take the outcome for its own (H18,
// rule 23); the prior is settled with it.
const (
	resolveUpdate = newTokenUpdate + "#status = :status, #expiry = :expiry"

	resolveOutcome = resolveUpdate + ", #completed = :at, #data = :data" + outcomeRemove
	resolveNotDone = resolveUpdate + " REMOVE #prior_no, #prior_started, #prior_lease"
)

func (t *table) resolve(found Record, as Resolution, now time.Time, cfg Config, token string) (write, error) {
	update, expires := resolveNotDone, now.Add(max(cfg.UnknownRetention, cfg.Retention))
	values := item{
		":seen": textValue(found.Token), ":mine": textValue(token), ":one": numberValue(1), ":now": timeValue(now),
		":unknown": textValue(string(unknown)), ":inprogress": textValue(string(inProgress)), ":status": textValue(string(as.status)),
	}
	if as.status != released {
		body, err := t.bodyValue(as.data)
		if err != nil {
			return write{}, err
		}
		update, expires = resolveOutcome, now.Add(cfg.Retention)
		values[":at"], values[":data"] = timeValue(now), body
	}
	// Never sooner than the record's own end, which may be that of a request with a longer retention.
	values[":expiry"] = numberValue(max(upToSecond(expires), found.Expires.Unix()))
	w := t.update(found.ID, newExpression(t.schema, takeOverCondition, update), values)
	w.pending = func(rec *record) bool {
		return rec != nil && rec.token == found.Token && !rec.live(now) && !rec.finished()
	}
	return w, nil
}
