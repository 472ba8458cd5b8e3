package idempotency

import "maps"

// What a resolution writes over an unknown, under take-over's condition: it meets the late owner, a request under Rerun and
// other resolvers, and one of them wins. The token is a fresh one, or the late owner would take the outcome for its own (H18,
// rule 23); the prior is settled with it.
const (
	resolveUpdate = newTokenUpdate + "#status = :status, #expiry = :expiry"

	resolveOutcome = resolveUpdate + ", #completed = :at"
	resolveNotDone = resolveUpdate + " REMOVE #prior_no, #prior_started, #prior_lease"
)

// resolve writes an outcome, or a released record where as has none.
func (t *table) resolve(found Record, as ended, cfg Config, token string) write {
	now := as.at
	update, expires := resolveNotDone, now.Add(max(cfg.UnknownRetention, cfg.Retention))
	values, shape := item{}, 0
	if as.status != released {
		shape = as.body.put(values, bodyValues)
		update, expires = resolveOutcome+setStored(shape)+outcomeRemove, now.Add(cfg.Retention)
		values[":at"] = timeValue(now)
	}
	maps.Copy(values, item{
		":seen": textValue(found.Token), ":mine": textValue(token), ":one": t.val.one, ":now": timeValue(now),
		":unknown": t.val.unknown, ":inprogress": t.val.inProgress, ":status": t.val.status(as.status),
	})
	// Never sooner than the record's own end, which may be that of a request with a longer retention.
	values[":expiry"] = numberValue(max(upToSecond(expires), found.Expires.Unix()))
	e := newExpression(t.schema, takeOverCondition, update)
	w := t.update(found.ID, &e, values)
	w.pending = func(rec *record) bool {
		return rec != nil && rec.token == found.Token && !rec.live(now) && !rec.finished()
	}
	return w
}
