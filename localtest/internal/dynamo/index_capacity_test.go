package dynamo

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// Each index that a write changes is billed, by the size of its entry.
func TestIndexCapacity_Writes(t *testing.T) {
	t.Parallel()
	s := startIndexed(t)
	put := func(rest string) string { return `{'TableName':'iii','Item':` + indexed("a", 1, rest) }
	update := func(expression string) string {
		body := `{'TableName':'iii','Key':` + indexed("a", 1, "") + `,'UpdateExpression':'` + expression + `'`
		if strings.Contains(expression, ":v") {
			body += `,'ExpressionAttributeValues':{':v':{'S':'new'}}`
		}
		return body
	}
	remove := `{'TableName':'iii','Key':` + indexed("a", 1, "")
	refused := `,'ConditionExpression':'attribute_not_exists(id)'`
	big := strings.Repeat("x", 2000)
	for i, c := range []struct {
		operation, body      string
		table, all, inc, loc float64
	}{
		{"PutItem", put("v:v"), 1, 0, 0, 0},
		{"PutItem", put("g:x v:v"), 1, 1, 0, 0},
		{"PutItem", put("g:x v:v"), 1, 0, 0, 0}, // the same again
		{"PutItem", put("g:x gs:1 ls:l v:v"), 1, 1, 1, 1},
		{"PutItem", put("g:x gs:1 ls:l v:w"), 1, 1, 0, 0}, // shown by one index only
		{"PutItem", put("g:x gs:1 ls:l p:p v:w"), 1, 1, 1, 0},
		{"PutItem", put("g:x gs:2 ls:l p:p v:w"), 1, 1, 2, 0}, // another key: one deleted, one put
		{"UpdateItem", update("SET gs = gs"), 1, 0, 0, 0},
		{"UpdateItem", update("SET g = :v"), 1, 2, 2, 0},
		{"UpdateItem", update("SET ls = :v"), 1, 1, 0, 2},
		{"UpdateItem", update("SET v = :v"), 1, 1, 0, 0},
		{"UpdateItem", update("REMOVE gs"), 1, 1, 1, 0},
		{"PutItem", put("g:x") + refused, 1, 0, 0, 0},
		{"DeleteItem", remove, 1, 1, 0, 1},
		{"DeleteItem", remove, 1, 0, 0, 0},
		{"PutItem", put("g:x gs:1 ls:l v:" + big), 2, 2, 1, 1}, // entries are smaller than items
		{"PutItem", put("g:x gs:1 ls:l p:" + big), 2, 2, 2, 0},
		{"PutItem", put("g:x gs:1 ls:l p:p"), 2, 2, 2, 0}, // the larger of before and after
		{"PutItem", put("g:x gs:1 ls:l p:" + big), 2, 2, 2, 0},
		{"PutItem", put("g:y gs:1 ls:l p:p"), 2, 3, 3, 0}, // the large one deleted, a small one put
		{"BatchWriteItem", `{'RequestItems':{'iii':[{'PutRequest':{'Item':` + indexed("b", 1, "g:x ls:y") + `}},{'DeleteRequest':{'Key':` + indexed("a", 1, "") + `}}]}`, 2, 2, 1, 2},
		{"TransactWriteItems", `{'TransactItems':[{'Put':{'TableName':'iii','Item':` + indexed("a", 1, "g:x gs:1") + `}},{'Delete':{'TableName':'iii','Key':` + indexed("b", 1, "") + `}}]`, 4, 4, 2, 2},
		{"TransactWriteItems", `{'TransactItems':[{'Put':{'TableName':'iii','Item':` + indexed("a", 1, "g:y") + refused + `}}]`, 2, 0, 0, 0}, // cancelled
	} {
		r := s.do(c.operation, c.body+`,'ReturnConsumedCapacity':'INDEXES'}`)
		total := c.table + c.all + c.inc + c.loc
		if r.WriteUnits != total || r.ReadUnits != 0 {
			t.Errorf("%d: %s costs %v read and %v write units (%.120s), want %v", i, c.operation, r.ReadUnits, r.WriteUnits, r.Body, total)
		}
		if r.Code == "" {
			s.wantConsumed(fmt.Sprint(i, ": ", c.operation), r.Body, map[string]float64{"total": total, "table": c.table, "all": c.all, "inc": c.inc, "loc": c.loc})
		}
	}
}

type capacityReply struct{ CapacityUnits float64 }

// wantConsumed compares the ConsumedCapacity of a reply; indexes that cost nothing must not be in it.
func (s *server) wantConsumed(what string, body []byte, want map[string]float64) {
	s.t.Helper()
	type consumed struct {
		capacityReply
		Table                                         capacityReply
		GlobalSecondaryIndexes, LocalSecondaryIndexes map[string]capacityReply
	}
	var one struct{ ConsumedCapacity consumed }
	if json.Unmarshal(body, &one) != nil {
		var several struct{ ConsumedCapacity []consumed }
		if err := json.Unmarshal(body, &several); err != nil || len(several.ConsumedCapacity) != 1 {
			s.t.Fatalf("%s: %s", what, body)
		}
		one.ConsumedCapacity = several.ConsumedCapacity[0]
	}
	c := one.ConsumedCapacity
	got := map[string]float64{"total": c.CapacityUnits, "table": c.Table.CapacityUnits}
	for _, m := range []map[string]capacityReply{c.GlobalSecondaryIndexes, c.LocalSecondaryIndexes} {
		for name, n := range m {
			got[name] = n.CapacityUnits
			if n.CapacityUnits == 0 {
				s.t.Errorf("%s: %s is listed at no cost", what, name)
			}
		}
	}
	for name, n := range want {
		if got[name] != n {
			s.t.Errorf("%s: %s costs %v, want %v (%.300s)", what, name, got[name], n, body)
		}
	}
	if _, local := c.GlobalSecondaryIndexes["loc"]; local {
		s.t.Errorf("%s: loc is listed as global", what)
	}
}

// Reads of an index are billed by its entries, and by the items that a local index fetches.
func TestIndexCapacity_Reads(t *testing.T) {
	t.Parallel()
	s := startIndexed(t)
	large := strings.Repeat("x", 6000)
	for i := range 3 {
		s.putIndexed("q", i, fmt.Sprintf("g:x gs:%d ls:l%d p:%s v:%s", i, i, large[:2000], large))
	}
	on := func(index string) string {
		condition, v := "g = :v", "x"
		if index == "loc" {
			condition, v = "id = :v", "q"
		}
		return fmt.Sprintf(`,'IndexName':'%s','KeyConditionExpression':'%s','ExpressionAttributeValues':{':v':{'S':'%s'}}`, index, condition, v)
	}
	for i, c := range []struct {
		operation, rest, index string
		table, units           float64
	}{
		{"Query", on("all"), "all", 0, 3},   // 3 × 8 KB
		{"Query", on("inc"), "inc", 0, 1},   // 3 × 2 KB
		{"Query", on("loc"), "loc", 0, 0.5}, // keys alone
		{"Query", on("loc") + ",'ConsistentRead':true", "loc", 0, 1},
		{"Query", on("loc") + ",'ProjectionExpression':'ls, sk'", "loc", 0, 0.5},
		{"Query", on("loc") + ",'ProjectionExpression':'v'", "loc", 3, 0.5}, // each item by itself
		{"Query", on("loc") + ",'Select':'ALL_ATTRIBUTES','ConsistentRead':true", "loc", 6, 1},
		{"Query", on("loc") + ",'Select':'ALL_ATTRIBUTES','Limit':1", "loc", 1, 0.5},
		{"Query", on("loc") + ",'Select':'COUNT'", "loc", 0, 0.5},
		{"Query", on("all") + ",'ProjectionExpression':'g'", "all", 0, 3},
		{"Scan", `,'IndexName':'inc'`, "inc", 0, 1},
		{"Scan", `,'IndexName':'loc','Select':'ALL_ATTRIBUTES','FilterExpression':'sk < :n','ExpressionAttributeValues':{':n':{'N':'2'}}`, "loc", 2, 0.5},
	} {
		r := s.do(c.operation, `{'TableName':'iii','ReturnConsumedCapacity':'INDEXES'`+c.rest+`}`)
		if r.ReadUnits != c.table+c.units || r.WriteUnits != 0 {
			t.Errorf("%d: %s costs %v read and %v write units (%.120s), want %v", i, c.operation, r.ReadUnits, r.WriteUnits, r.Body, c.table+c.units)
		}
		s.wantConsumed(fmt.Sprint(i, ": ", c.rest), r.Body, map[string]float64{"total": c.table + c.units, "table": c.table, c.index: c.units})
	}
	s.want(s.ok("Query", `{'TableName':'iii','Limit':1,'Select':'COUNT','ReturnConsumedCapacity':'TOTAL'`+on("all")+`}`),
		`{'Count':1,'ScannedCount':1,'LastEvaluatedKey':`+indexed("q", 0, "g:x")+`,'ConsumedCapacity':{'TableName':'iii','CapacityUnits':1}}`)
	s.want(s.ok("Query", `{'TableName':'iii','Select':'COUNT','ReturnConsumedCapacity':'INDEXES'`+on("inc")+`}`),
		`{'Count':3,'ScannedCount':3,'ConsumedCapacity':{'TableName':'iii','CapacityUnits':1,'Table':{'CapacityUnits':0},'GlobalSecondaryIndexes':{'inc':{'CapacityUnits':1}}}}`)
	s.want(s.ok("TransactWriteItems", `{'ReturnConsumedCapacity':'INDEXES','TransactItems':[{'Put':{'TableName':'iii','Item':`+indexed("n", 1, "ls:l")+`}}]}`),
		`{'ConsumedCapacity':[{'TableName':'iii','CapacityUnits':4,'WriteCapacityUnits':4,'Table':{'CapacityUnits':2,'WriteCapacityUnits':2},
			'LocalSecondaryIndexes':{'loc':{'CapacityUnits':2,'WriteCapacityUnits':2}}}]}`)
}

// A page of a local index ends at 1 MB of what it goes over, entries and fetched items together.
func TestIndex_PageSize(t *testing.T) {
	t.Parallel()
	s := startIndexed(t)
	for i := range 5 {
		s.putIndexed("q", i, "ls:l g:x v:"+strings.Repeat("v", 300_000))
	}
	const query = `{'TableName':'iii','IndexName':'loc','KeyConditionExpression':'id = :v','ExpressionAttributeValues':{':v':{'S':'q'}}`
	for rest, want := range map[string]string{`}`: "01234", `,'Select':'ALL_ATTRIBUTES'}`: "0123"} {
		if p := s.page("Query", query+rest); p.sorts() != want {
			t.Errorf("%s: %s, want %s", rest, p.sorts(), want)
		}
	}
	if p := s.page("Scan", `{'TableName':'iii','IndexName':'all'}`); p.sorts() != "0123" {
		t.Errorf("scan: %s", p.sorts())
	}
}

func TestItemCollectionMetrics(t *testing.T) {
	t.Parallel()
	s := startIndexed(t)
	const ask = `,'ReturnItemCollectionMetrics':'SIZE'}`
	metrics := func(id string) string {
		return `{'ItemCollectionKey':{'id':{'S':'` + id + `'}},'SizeEstimateRangeGB':[0,1]}`
	}
	want := `{'ItemCollectionMetrics':` + metrics("a") + `}`
	s.want(s.ok("PutItem", `{'TableName':'iii','Item':`+indexed("a", 1, "")+ask), want)
	s.want(s.ok("UpdateItem", `{'TableName':'iii','Key':`+indexed("a", 1, "")+`,'UpdateExpression':'SET v = sk'`+ask), want)
	s.want(s.ok("DeleteItem", `{'TableName':'iii','Key':`+indexed("a", 1, "")+ask), want)
	s.want(s.ok("PutItem", `{'TableName':'iii','Item':`+indexed("a", 1, "")+`}`), `{}`)
	s.want(s.ok("BatchWriteItem", `{'RequestItems':{'iii':[{'PutRequest':{'Item':`+indexed("a", 1, "")+`}},{'PutRequest':{'Item':`+indexed("a", 2, "")+`}},{'DeleteRequest':{'Key':`+indexed("b", 2, "")+`}}]}`+ask),
		`{'UnprocessedItems':{},'ItemCollectionMetrics':{'iii':[`+metrics("a")+`,`+metrics("b")+`]}}`)
	s.want(s.ok("TransactWriteItems", `{'TransactItems':[{'Put':{'TableName':'iii','Item':`+indexed("a", 1, "")+`}},`+putK+`,
		{'ConditionCheck':{'TableName':'iii','Key':`+indexed("c", 1, "")+`,'ConditionExpression':'attribute_not_exists(id)'}}]`+ask),
		`{'ItemCollectionMetrics':{'iii':[`+metrics("a")+`]}}`)
	s.want(s.ok("PutItem", `{'TableName':'hhh','Item':{'id':{'S':'k'}}`+ask), `{}`) // no local index, no collections

	// The size is that of items and entries together.
	table := s.tables["iii"]
	a := attrs{"id": stringValue("big"), "sk": intValue(1), "ls": stringValue("l")}
	k := table.schema.of(a)
	table.contents.put(k, &item{attrs: a, size: gigabyte - 1})
	if got := table.collection(k, a).SizeEstimateRangeGB; got != [2]int{1, 2} {
		t.Errorf("1 GB is estimated as %v", got)
	}
}
