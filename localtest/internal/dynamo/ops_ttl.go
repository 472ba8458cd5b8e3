package dynamo

import (
	"strconv"
	"time"
)

type timeToLive struct {
	AttributeName string
	Enabled       *bool
}

type updateTimeToLive struct {
	TableName               string
	TimeToLiveSpecification *timeToLive
}

func (r *updateTimeToLive) describe(q *Request) {
	q.Tables = []string{r.TableName}
	q.Actions = []string{"dynamodb:UpdateTimeToLive"}
}

func (r *updateTimeToLive) check() error {
	if err := checkTableName(&r.TableName); err != nil {
		return err
	}
	s := r.TimeToLiveSpecification
	switch {
	case s == nil:
		return missing("timeToLiveSpecification")
	case s.Enabled == nil:
		return missing("timeToLiveSpecification.enabled")
	case s.AttributeName == "":
		return missing("timeToLiveSpecification.attributeName")
	}
	return checkKeyName(s.AttributeName, "timeToLiveSpecification.attributeName")
}

func (r *updateTimeToLive) run(e *Engine, _ usage) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	t := e.tables[r.TableName]
	if t == nil {
		return nil, notFound("Table: " + r.TableName + " not found")
	}
	s := r.TimeToLiveSpecification
	switch {
	case *s.Enabled && t.ttl != "":
		return nil, invalid("TimeToLive is already enabled")
	case !*s.Enabled && t.ttl == "":
		return nil, invalid("TimeToLive is already disabled")
	case !*s.Enabled && t.ttl != s.AttributeName:
		return nil, invalid("TimeToLive is active on a different AttributeName: current AttributeName is %s", t.ttl)
	case *s.Enabled:
		t.ttl = s.AttributeName
	default:
		t.ttl = ""
	}
	return struct{ TimeToLiveSpecification *timeToLive }{s}, nil
}

type describeTimeToLive struct{ TableName string }

func (r *describeTimeToLive) describe(q *Request) {
	q.Tables = []string{r.TableName}
	q.Actions = []string{"dynamodb:DescribeTimeToLive"}
}

func (r *describeTimeToLive) run(e *Engine, _ usage) (any, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	t := e.tables[r.TableName]
	if t == nil {
		return nil, notFound("Table: " + r.TableName + " not found")
	}
	type ttl struct {
		TimeToLiveStatus string
		AttributeName    string `json:",omitempty"`
	}
	d := ttl{"DISABLED", ""}
	if t.ttl != "" {
		d = ttl{"ENABLED", t.ttl}
	}
	return struct{ TimeToLiveDescription ttl }{d}, nil
}

// oldest is how long ago an expiry may lie for TTL to act on it: what is older is taken for no timestamp.
const oldest = 5 * 365 * 24 * time.Hour

// Sweep deletes what had expired by the given time, in every table that has TTL on, and says how many items that were.
func (e *Engine) Sweep(by time.Time) int {
	now := e.now()
	e.mu.Lock()
	defer e.mu.Unlock()
	n := 0
	for _, t := range e.tables {
		if t.ttl == "" {
			continue
		}
		var expired []key
		for _, it := range t.contents.scan(nil) {
			if v := it.attrs[t.ttl]; v != nil && v.kind == kindN && Expired(v.scalar(), by, now) {
				k, err := t.schema.key(it.attrs)
				if err != nil { // it was stored with this key
					panic(err)
				}
				expired = append(expired, k)
			}
		}
		for _, k := range expired {
			t.contents.put(k, nil)
		}
		n += len(expired)
	}
	return n
}

// Expired reports whether TTL, which now goes over what had expired by a time, deletes an item whose attribute is this
// number of seconds.
func Expired(number string, by, now time.Time) bool {
	seconds, err := strconv.ParseFloat(number, 64)
	return err == nil && seconds < float64(by.Unix()) && seconds > float64(now.Add(-oldest).Unix())
}

// TimeToLive is the attribute by which the items of each table expire, for the tables that have one.
func (e *Engine) TimeToLive() map[string]string {
	e.mu.RLock()
	defer e.mu.RUnlock()
	attributes := map[string]string{}
	for name, t := range e.tables {
		if t.ttl != "" {
			attributes[name] = t.ttl
		}
	}
	return attributes
}
