package dynamo

// Limits of items and keys, in bytes.
const (
	maxItem = 400 << 10
	maxHash = 2048
	maxSort = 1024

	maxName    = 65535 // of an attribute
	maxKeyName = 255   // of an attribute that a table is told of
)

var errLongName = invalid("1 validation error detected: Attribute name is too large, must be less than 65536 bytes")

// checkName checks the name of an item's attribute.
func checkName(name string) error {
	if name == "" {
		return invalidParameter("The name of an attribute is empty: must have a length of 1 to %d bytes", maxName)
	}
	return checkMember(name)
}

// checkMember checks the name of a map's member.
func checkMember(name string) error {
	if len(name) > maxName {
		return errLongName
	}
	return nil
}

// checkKeyName checks a name that a table is told of, which is the request's member of that name.
func checkKeyName(name, member string) error {
	switch {
	case name == "":
		return violation(name, member, "Member must have length greater than or equal to 1")
	case len(name) > maxKeyName:
		return violation(name, member, "Member must have length less than or equal to 255")
	}
	return nil
}

// item is a stored item. It is never changed: a write stores another one.
type item struct {
	attrs attrs
	size  int
}

func newItem(a attrs) *item { return &item{attrs: a, size: a.size()} }

// of is the stored item's attributes; an absent item has none.
func (i *item) of() attrs {
	if i == nil {
		return nil
	}
	return i.attrs
}

func (i *item) bytes() int {
	if i == nil {
		return 0
	}
	return i.size
}

// keyAttribute is a key attribute of a table or an index: its name and type.
type keyAttribute struct {
	name string
	kind kind
}

// keySchema is the key of a table or an index; sort has no name where there is no sort key.
type keySchema struct{ hash, sort keyAttribute }

func (s keySchema) attributes() []keyAttribute {
	if s.sort.name == "" {
		return []keyAttribute{s.hash}
	}
	return []keyAttribute{s.hash, s.sort}
}

func (s keySchema) has(name string) bool { return name == s.hash.name || name == s.sort.name }

// key is a primary key: the partition's identity and the sort value, nil where there is no sort key.
type key struct {
	hash string
	sort *value
	base *key // the table's key, in the key of an index's entry: it tells entries of equal keys apart
}

// itemID tells the items of all tables apart.
type itemID struct{ table, hash, sort string }

// items are those that a request is about.
type items map[itemID]bool

// add reports whether the item is a new one among them.
func (s items) add(t *table, k key) bool {
	id := itemID{table: t.name, hash: k.hash}
	if k.sort != nil {
		id.sort = k.sort.scalar()
	}
	known := s[id]
	s[id] = true
	return !known
}

// fitsItem checks that an item to be stored has the key attributes.
func (s keySchema) fitsItem(a attrs) error {
	for _, k := range s.attributes() {
		v := a[k.name]
		if v == nil {
			return invalidParameter("Missing the key %s in the item", k.name)
		}
		if v.kind != k.kind {
			return invalidParameter("Type mismatch for key %s expected: %s actual: %s", k.name, k.kind, v.kind)
		}
	}
	return nil
}

var errKeySchema = invalid("The provided key element does not match the schema")

// fitsKey checks that a request's key has the key attributes and no others.
func (s keySchema) fitsKey(a attrs) error {
	if len(a) != len(s.attributes()) || s.fitsItem(a) != nil {
		return errKeySchema
	}
	return nil
}

// ofKey is the key that a request gives.
func (s keySchema) ofKey(a attrs) (key, error) {
	if err := s.fitsKey(a); err != nil {
		return key{}, err
	}
	return s.key(a)
}

// key makes the key of attributes that fit the schema, and checks their lengths.
func (s keySchema) key(a attrs) (key, error) {
	for _, k := range s.attributes() {
		if what, empty := a[k.name].empty(); empty {
			return key{}, invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty %s value. Key: %s", what, k.name)
		}
	}
	if a[s.hash.name].size() > maxHash {
		return key{}, invalidParameter("Size of hashkey has exceeded the maximum size limit of%d bytes", maxHash)
	}
	k := s.of(a)
	if k.sort != nil && k.sort.size() > maxSort {
		return key{}, invalidParameter("Aggregated size of all range keys has exceeded the size limit of %d bytes", maxSort)
	}
	return k, nil
}

// of is the key of attributes that are known to be in order.
func (s keySchema) of(a attrs) key {
	k := key{hash: a[s.hash.name].str}
	if s.hash.kind == kindN {
		k.hash = a[s.hash.name].scalar()
	}
	if s.sort.name != "" {
		k.sort = a[s.sort.name]
	}
	return k
}
