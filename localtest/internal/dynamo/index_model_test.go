package dynamo

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// modelItem is an item of table iii as the model has it; an attribute that it lacks is "".
type modelItem struct {
	id           string
	sk           int
	g, gs, ls, p string
}

func (m modelItem) key() string { return fmt.Sprint(m.id, "/", m.sk) }

// json is the item, or as much of it as an index shows: that of all is everything.
func (m modelItem) json(shown string) string {
	rest := ""
	for name := range strings.FieldsSeq(shown) {
		value := map[string]string{"g": m.g, "gs": m.gs, "ls": m.ls, "p": m.p}[name]
		if value != "" {
			rest += " " + name + ":" + value
		}
	}
	return indexed(m.id, m.sk, rest)
}

const everything = "g gs ls p"

var indexSeed = flag.Uint64("index-seed", 0, "what TestIndex_Model does; 0: something else each time")

// Whatever is written, in whatever way, an index has what a look at all items of its table would find.
func TestIndex_Model(t *testing.T) {
	t.Parallel()
	seed := *indexSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	random := rand.New(rand.NewPCG(seed, 0))
	s := startIndexed(t)
	model := map[string]modelItem{}
	for step := range 3000 {
		randomWrite(s, random, model)
		if step%100 == 99 {
			compareWithModel(s, random, model)
		}
		if t.Failed() {
			t.Fatalf("after %d writes; again with -index-seed=%d", step+1, seed)
		}
	}
}

func pick(random *rand.Rand, from ...string) string { return from[random.IntN(len(from))] }

func randomItem(random *rand.Rand) modelItem {
	return modelItem{
		id: pick(random, "a", "b", "c"), sk: random.IntN(5),
		g: pick(random, "", "x", "y"), gs: pick(random, "", "1", "2", "-10"), ls: pick(random, "", "l", "m"), p: pick(random, "", "p", "q"),
	}
}

// randomWrite does the same to table and model: one write, or several in a transaction, which may be cancelled.
func randomWrite(s *server, random *rand.Rand, model map[string]modelItem) {
	s.t.Helper()
	after := map[string]*modelItem{} // nil: deleted
	var verbs, bodies []string
	for range 1 + random.IntN(3) {
		m, verb := randomItem(random), pick(random, "Put", "Update", "Delete")
		if _, twice := after[m.key()]; twice {
			continue
		}
		after[m.key()] = &m
		switch verb {
		case "Update": // of gs and ls
			old, found := model[m.key()]
			m.g, m.p = old.g, old.p
			if !found && m.gs == "" && m.ls == "" { // nothing to remove from
				after[m.key()] = nil
			}
		case "Delete":
			after[m.key()] = nil
		}
		verbs, bodies = append(verbs, verb), append(bodies, `{'TableName':'iii',`+m.write(verb)+`}`)
	}
	if len(bodies) == 1 {
		s.ok(verbs[0]+"Item", bodies[0])
	} else if !transactRandomly(s, random, verbs, bodies) {
		return
	}
	for key, m := range after {
		if m == nil {
			delete(model, key)
		} else {
			model[key] = *m
		}
	}
}

// transactRandomly reports whether the transaction was committed.
func transactRandomly(s *server, random *rand.Rand, verbs, bodies []string) bool {
	s.t.Helper()
	var actions []string
	for i, verb := range verbs {
		actions = append(actions, `{'`+verb+`':`+bodies[i]+`}`)
	}
	if random.IntN(4) > 0 {
		s.ok("TransactWriteItems", transaction("", actions...))
		return true
	}
	actions = append(actions, `{'ConditionCheck':{'TableName':'iii','Key':`+indexed("z", 0, "")+`,'ConditionExpression':'attribute_exists(id)'}}`)
	s.wantError("TransactWriteItems", transaction("", actions...), "TransactionCanceledException", "ConditionalCheckFailed")
	return false
}

// write are the members of a write after which the item is m; an update sets gs and ls.
func (m modelItem) write(verb string) string {
	key := `'Key':` + indexed(m.id, m.sk, "")
	switch verb {
	case "Put":
		return `'Item':` + m.json(everything)
	case "Delete":
		return key
	}
	var set, remove, values []string
	for _, a := range [][3]string{{"gs", "N", m.gs}, {"ls", "S", m.ls}} {
		if a[2] == "" {
			remove = append(remove, a[0])
			continue
		}
		set = append(set, a[0]+" = :"+a[0])
		values = append(values, fmt.Sprintf(`':%s':{'%s':'%s'}`, a[0], a[1], a[2]))
	}
	expression := ""
	if set != nil {
		expression += "SET " + strings.Join(set, ", ") + " "
	}
	if remove != nil {
		expression += "REMOVE " + strings.Join(remove, ", ")
	}
	body := key + `,'UpdateExpression':'` + expression + `'`
	if values != nil {
		body += `,'ExpressionAttributeValues':{` + strings.Join(values, ",") + `}`
	}
	return body
}

// modelIndex is an index as the model has it.
type modelIndex struct {
	name, hash, shown string
	values            []string               // of hash
	has               func(modelItem) string // the item's hash, "" of one that is not in the index
	order             func(a, b modelItem) int
}

var modelIndexes = []modelIndex{
	{
		"all", "g", everything,
		[]string{"x", "y"},
		func(m modelItem) string { return m.g },
		func(modelItem, modelItem) int { return 0 },
	},
	{
		"inc", "g", "g gs p",
		[]string{"x", "y"},
		func(m modelItem) string { return ifThere(m.gs, m.g) },
		func(a, b modelItem) int { return cmp.Compare(number64(a.gs), number64(b.gs)) },
	},
	{
		"loc", "id", "ls",
		[]string{"a", "b", "c"},
		func(m modelItem) string { return ifThere(m.ls, m.id) },
		func(a, b modelItem) int { return cmp.Compare(a.ls, b.ls) },
	},
}

func ifThere(attribute, then string) string {
	if attribute == "" {
		return ""
	}
	return then
}

func number64(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// under are the items of one hash key in order.
func (x modelIndex) under(hash string, model map[string]modelItem) []modelItem {
	var list []modelItem
	for _, m := range model {
		if x.has(m) == hash {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b modelItem) int {
		return cmp.Or(x.order(a, b), cmp.Compare(a.id, b.id), cmp.Compare(a.sk, b.sk))
	})
	return list
}

// compareWithModel reads every index in pages of a random size.
func compareWithModel(s *server, random *rand.Rand, model map[string]modelItem) {
	s.t.Helper()
	limit := fmt.Sprintf(`,'Limit':%d`, 1+random.IntN(20))
	for _, x := range modelIndexes {
		on := `{'TableName':'iii','IndexName':'` + x.name + `'`
		var whole []string
		for _, hash := range x.values {
			items := x.under(hash, model)
			keys := make([]string, len(items))
			shown := make([]string, len(items))
			for i, m := range items {
				keys[i], shown[i] = m.key(), m.json(x.shown)
			}
			query := on + `,'KeyConditionExpression':'` + x.hash + ` = :h','ExpressionAttributeValues':{':h':{'S':'` + hash + `'}}`
			if got := s.paged("Query", query+limit); !slices.Equal(got, keys) {
				s.t.Errorf("%s%s: %v, want %v", query, limit, got, keys)
			}
			s.want(s.ok("Query", query+`}`), fmt.Sprintf(`{'Items':[%s],'Count':%d,'ScannedCount':%[2]d}`, strings.Join(shown, ","), len(items)))
			whole = append(whole, keys...)
		}
		got := s.all(on + limit)
		slices.Sort(got)
		slices.Sort(whole)
		if !slices.Equal(got, whole) {
			s.t.Errorf("scan of %s: %v, want %v", x.name, got, whole)
		}
		if n := s.tables["iii"].contents.index(x.name).entries.items; n != len(whole) {
			s.t.Errorf("%s says it has %d entries, want %d", x.name, n, len(whole))
		}
	}
}

// Readers of an index meet no half of a write, whoever writes.
func TestIndex_Concurrent(t *testing.T) {
	t.Parallel()
	s := startIndexed(t)
	// Two items change places: at any time one is under x, the other under y.
	swap := func(x, y string) string {
		set := func(id, g string) string {
			return `{'Put':{'TableName':'iii','Item':` + indexed(id, 0, "g:"+g+" gs:1 ls:"+g) + `}}`
		}
		return transaction("", set("a", x), set("b", y))
	}
	s.ok("TransactWriteItems", swap("x", "y"))
	var work sync.WaitGroup
	for range 2 {
		work.Go(func() {
			for i := range 200 {
				pair := [2]string{"x", "y"}
				r := s.do("TransactWriteItems", swap(pair[i%2], pair[1-i%2]))
				if r.Code != "" {
					t.Errorf("swap: %s", r.Body)
				}
			}
		})
	}
	for _, index := range []string{"all", "inc"} {
		work.Go(func() {
			for range 400 {
				r := s.do("Query", `{'TableName':'iii','IndexName':'`+index+`','KeyConditionExpression':'g = :x','ExpressionAttributeValues':{':x':{'S':'x'}}}`)
				if strings.Count(string(r.Body), `"id":`) != 1 {
					t.Errorf("%s: %s", index, r.Body)
				}
				r = s.do("Scan", `{'TableName':'iii','IndexName':'`+index+`','Select':'COUNT'}`)
				if string(r.Body) != `{"Count":2,"ScannedCount":2}` {
					t.Errorf("%s: %s", index, r.Body)
				}
			}
		})
	}
	work.Go(func() {
		for range 200 {
			r := s.do("Query", `{'TableName':'iii','IndexName':'loc','Select':'ALL_ATTRIBUTES','KeyConditionExpression':'id = :a','ExpressionAttributeValues':{':a':{'S':'a'}}}`)
			if body := string(r.Body); strings.Count(body, `"S":"x"`) != 2 && strings.Count(body, `"S":"y"`) != 2 {
				t.Errorf("loc: %s", body) // g and ls are the same
			}
		}
	})
	work.Wait()
}
