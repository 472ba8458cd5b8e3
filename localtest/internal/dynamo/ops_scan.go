package dynamo

const maxSegments = 1_000_000

type scan struct {
	paging
	Segment, TotalSegments *int
}

func (r *scan) describe(q *Request) {
	q.Tables = []string{bareName(r.TableName)}
	q.Actions = []string{"dynamodb:Scan"}
	q.Index = r.index()
}

func (r *scan) check() error {
	if _, err := r.paging.check(nil); err != nil {
		return err
	}
	switch {
	case r.Segment == nil && r.TotalSegments == nil:
		return nil
	case r.Segment == nil:
		return invalid("The Segment parameter is required but was not present in the request when parameter TotalSegments is present")
	case r.TotalSegments == nil:
		return invalid("The TotalSegments parameter is required but was not present in the request when Segment parameter is present")
	case *r.TotalSegments < 1 || *r.TotalSegments > maxSegments:
		return invalid("1 validation error detected: Value '%d' at 'totalSegments' failed to satisfy constraint: Member must have value from 1 to %d", *r.TotalSegments, maxSegments)
	case *r.Segment < 0 || *r.Segment >= *r.TotalSegments:
		return invalid("The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: %d is not less than TotalSegments: %d", *r.Segment, *r.TotalSegments)
	}
	return nil
}

func (r *scan) run(e *Engine, used usage) (any, error) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	from, err := r.source(e)
	if err != nil {
		return nil, err
	}
	var after *key
	if r.start != nil {
		if after, err = from.after(r.start); err != nil {
			return nil, err
		}
		if r.Segment != nil && placeOf(after.hash).segment(*r.TotalSegments) != *r.Segment {
			return nil, invalid("The provided starting key is invalid: Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. TotalSegments: %d Segment: %d", *r.TotalSegments, *r.Segment)
		}
	}
	p := r.newPage()
	for at, it := range from.rows.scan(after) {
		if r.Segment != nil {
			if s := at.segment(*r.TotalSegments); s < *r.Segment {
				continue
			} else if s > *r.Segment {
				break // segments follow each other in the table's order
			}
		}
		if r.add(p, from, it) {
			break
		}
	}
	r.bill(p, from, used)
	return p, nil
}
