package dynamo

import "slices"

// source is what a query or scan goes over: a table's items, or an index's entries.
type source struct {
	table  *table
	index  *index // nil: the table itself
	rows   *rows
	schema keySchema
	// fetches: what is asked for is not all in the local index, and comes from the table, item by item.
	fetches bool
}

// source is what the request reads. e.mu is held.
func (g *paging) source(e *Engine) (*source, error) {
	t, err := e.table(g.TableName)
	if err != nil {
		return nil, err
	}
	if g.IndexName == nil {
		return &source{table: t, rows: t.contents.rows, schema: t.schema}, nil
	}
	x := t.contents.index(*g.IndexName)
	if x == nil {
		return nil, invalid("The table does not have the specified index: %s", *g.IndexName)
	}
	s := &source{table: t, index: x, rows: x.entries, schema: x.schema}
	hidden := hiddenRoots(x, g.projection)
	if x.local {
		s.fetches = len(hidden) > 0 || g.Select == "ALL_ATTRIBUTES" && x.shows != nil
		return s, nil
	}
	switch {
	case g.ConsistentRead:
		return nil, invalid("Consistent reads are not supported on global secondary indexes")
	case g.Select == "ALL_ATTRIBUTES" && x.shows != nil:
		return nil, invalidParameter("Select type ALL_ATTRIBUTES is not supported for global secondary index %s because its projection type is not ALL", x.name)
	case len(hidden) > 0:
		return nil, invalidParameter("Global secondary index %s does not project [%s]", x.name, join(hidden))
	}
	return s, nil
}

// hiddenRoots are the attributes that the paths start from and that the index does not show.
func hiddenRoots(x *index, paths []path) []string {
	var hidden []string
	for _, p := range paths {
		if name := p[0].name; !x.projects(name) && !slices.Contains(hidden, name) {
			hidden = append(hidden, name)
		}
	}
	return hidden
}

// keyAttributes are those of the table's key and, in an index, of the index's key.
func (s *source) keyAttributes() []keyAttribute {
	list := s.table.schema.attributes()
	if s.index != nil {
		for _, k := range s.schema.attributes() {
			if !slices.Contains(list, k) {
				list = append(list, k)
			}
		}
	}
	return list
}

// position is the part of an item or entry by which a reader goes on behind it.
func (s *source) position(a attrs) attrs {
	out := attrs{}
	for _, k := range s.keyAttributes() {
		out[k.name] = a[k.name]
	}
	return out
}

// after is the key of a position to go on behind.
func (s *source) after(position attrs) (*key, error) {
	wanted := s.keyAttributes()
	fits := len(position) == len(wanted)
	for _, k := range wanted {
		fits = fits && position[k.name] != nil && position[k.name].kind == k.kind
	}
	if !fits {
		return nil, invalid("The provided starting key is invalid: %s", errKeySchema.message)
	}
	base, err := s.table.schema.key(position)
	if err != nil || s.index == nil {
		return &base, err
	}
	k, err := s.schema.key(position)
	k.base = &base
	return &k, err
}
