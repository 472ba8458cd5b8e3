package dynamo

// maxPage is how many bytes of items one page of a query or scan goes over.
const maxPage = 1 << 20

// paging are the parameters that queries and scans have in common.
type paging struct {
	TableName                 string
	IndexName                 *string
	FilterExpression          *string
	ProjectionExpression      *string
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues rawItem
	ExclusiveStartKey         rawItem
	Limit                     *int
	Select                    string
	ConsistentRead            bool
	ReturnConsumedCapacity    string

	filter     condition
	filtered   map[string]bool // the attributes that the filter mentions
	projection []path
	start      attrs
}

// check reads the common parameters. keyCondition is the text of a query's, nil for a scan.
func (g *paging) check(keyCondition *string) (condition, error) {
	if err := checkTableName(&g.TableName); err != nil {
		return nil, err
	}
	if g.Limit != nil && *g.Limit < 1 {
		return nil, invalid("1 validation error detected: Value '%d' at 'limit' failed to satisfy constraint: Member must have value greater than or equal to 1", *g.Limit)
	}
	if g.IndexName != nil {
		if err := checkIndexName(*g.IndexName, "indexName"); err != nil {
			return nil, err
		}
	}
	if err := g.checkSelect(); err != nil {
		return nil, err
	}
	if err := checkReturnConsumedCapacity(g.ReturnConsumedCapacity); err != nil {
		return nil, err
	}
	if g.ExclusiveStartKey != nil {
		var err error
		if g.start, err = g.ExclusiveStartKey.decode(checkName, nil); err != nil {
			return nil, err
		}
	}
	return g.parse(keyCondition)
}

// index is the name of the index that is read, "" if it is the table.
func (g *paging) index() string {
	if g.IndexName == nil {
		return ""
	}
	return *g.IndexName
}

func (g *paging) checkSelect() error {
	switch g.Select {
	case "":
	case "ALL_ATTRIBUTES", "COUNT", "ALL_PROJECTED_ATTRIBUTES":
		if g.Select == "ALL_PROJECTED_ATTRIBUTES" && g.IndexName == nil {
			return invalid("ALL_PROJECTED_ATTRIBUTES can be used only when Querying using an IndexName")
		}
		if g.ProjectionExpression != nil {
			return invalid("Cannot specify the ProjectionExpression when choosing to get %s", g.Select)
		}
	case "SPECIFIC_ATTRIBUTES":
		if g.ProjectionExpression == nil {
			return invalid("Must specify the ProjectionExpression when choosing to get SPECIFIC_ATTRIBUTES")
		}
	default:
		return violation(g.Select, "select", "Member must satisfy enum value set: [SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES]")
	}
	return nil
}

func (g *paging) parse(keyCondition *string) (condition, error) {
	expressions := g.FilterExpression != nil || g.ProjectionExpression != nil || keyCondition != nil
	ph, err := newPlaceholders(g.ExpressionAttributeNames, g.ExpressionAttributeValues, expressions, "FilterExpression is")
	if err != nil {
		return nil, err
	}
	var keys condition
	if keyCondition != nil {
		if keys, err = parseCondition("KeyConditionExpression", *keyCondition, ph); err != nil {
			return nil, err
		}
	}
	if g.FilterExpression != nil {
		if g.filter, g.filtered, err = parseFilter(*g.FilterExpression, ph); err != nil {
			return nil, err
		}
	}
	if g.ProjectionExpression != nil {
		if g.projection, err = parseProjection(*g.ProjectionExpression, ph); err != nil {
			return nil, err
		}
	}
	return keys, ph.checkUsed()
}

// page collects one page of results.
type page struct {
	Items            *[]attrs `json:",omitempty"`
	Count            int
	ScannedCount     int
	LastEvaluatedKey attrs     `json:",omitempty"`
	ConsumedCapacity *consumed `json:",omitempty"`

	bytes   int     // of what the page went over
	fetched int     // of what was fetched from the table besides
	units   float64 // the price of what was fetched
}

// newPage is an empty page; one that only counts has no items.
func (g *paging) newPage() *page {
	p := &page{}
	if g.Select != "COUNT" {
		p.Items = &[]attrs{}
	}
	return p
}

// add goes over one item or entry and reports whether the page is full.
func (g *paging) add(p *page, s *source, it *item) bool {
	p.ScannedCount++
	p.bytes += it.size
	if g.filter == nil || g.filter.holds(it.attrs) {
		p.Count++
		if p.Items != nil {
			*p.Items = append(*p.Items, g.shown(p, s, it))
		}
	}
	full := p.bytes+p.fetched >= maxPage || g.Limit != nil && p.ScannedCount >= *g.Limit
	if full {
		p.LastEvaluatedKey = s.position(it.attrs)
	}
	return full
}

// shown is what the page shows of an item or entry.
func (g *paging) shown(p *page, s *source, it *item) attrs {
	if s.fetches {
		it = s.table.contents.get(s.table.schema.of(it.attrs))
		p.fetched += it.size
		p.units += readUnits(it.size, g.ConsistentRead)
	}
	if g.projection != nil {
		return project(it.attrs, g.projection)
	}
	return it.attrs
}

// bill is for all bytes that the page went over, whether or not the filter let them through.
func (g *paging) bill(p *page, s *source, used usage) {
	used.read(g.TableName, p.units)
	used.add(g.TableName, s.index, units{read: readUnits(p.bytes, g.ConsistentRead)})
	p.ConsumedCapacity = used.reportOne(g.ReturnConsumedCapacity)
}
