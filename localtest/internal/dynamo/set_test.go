package dynamo

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Sets are what their members are, in whatever order they come.
func TestSet_AgreesWithMaps(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) (*value, map[string]bool) {
			members := rapid.SliceOfNDistinct(rapid.IntRange(-9, 9), 1, 12, rapid.ID).Draw(t, label)
			v, m := &value{kind: kindNS}, map[string]bool{}
			for _, n := range members {
				v.list = append(v.list, intValue(n))
				m[fmt.Sprint(n)] = true
			}
			if err := v.arrange(); err != nil {
				t.Fatal(err)
			}
			return v, m
		}
		a, inA := draw("a")
		b, inB := draw("b")
		united, rest := union(a.list, b.list), less(a.list, b.list)
		both, equal := 0, len(inA) == len(inB)
		for n := -9; n <= 9; n++ {
			text, v := fmt.Sprint(n), intValue(n)
			if a.has(v) != inA[text] || isMember(united, v) != (inA[text] || inB[text]) || isMember(rest, v) != (inA[text] && !inB[text]) {
				t.Fatalf("%d: %s, %s: union %s, less %s", n, a.append(nil), b.append(nil), (&value{kind: kindNS, list: united}).append(nil), (&value{kind: kindNS, list: rest}).append(nil))
			}
			if inA[text] && inB[text] {
				both++
			}
			equal = equal && inA[text] == inB[text]
		}
		if len(united) != len(inA)+len(inB)-both || len(rest) != len(inA)-both || a.equal(b) != equal {
			t.Fatalf("%d united, %d left, equal %v", len(united), len(rest), a.equal(b))
		}
		if !slices.IsSortedFunc(united, compareMembers) || a.has(stringValue("1")) {
			t.Fatalf("union %s", (&value{kind: kindNS, list: united}).append(nil))
		}
	})
}

// bigSets is what is asked of a set of n members, in either order. It must not go over one set for each member of the
// other.
func bigSets(s *server, n int) {
	s.t.Helper()
	const first = 10_000_000
	numbers := func(from, step, n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf("'%d'", from+step*i)
		}
		return `{'NS':[` + strings.Join(list, ",") + `]}`
	}
	up, down := numbers(first, 1, n), numbers(first+n-1, -1, n)
	s.ok("PutItem", putBody(`{'id':{'S':'k'},'v':`+up+`}`))
	with := func(update, values string) string {
		return `{'TableName':'hhh','Key':{'id':{'S':'k'}},` + update + `,'ExpressionAttributeValues':{` + values + `}}`
	}
	s.ok("UpdateItem", with(`'UpdateExpression':'ADD v :down','ConditionExpression':'v = :down'`, `':down':`+down))
	s.ok("UpdateItem", with(`'UpdateExpression':'SET l = :l','ConditionExpression':'contains(v, :n)'`, `':n':{'N':'10000007'},':l':{'L':[{'S':'x'}]}`))
	s.ok("UpdateItem", with(`'UpdateExpression':'DELETE v :some'`, `':some':`+numbers(first+n-1, -1, n-1)))
	s.want(s.ok("GetItem", `{'TableName':'hhh','Key':{'id':{'S':'k'}},'ProjectionExpression':'v'}`), `{'Item':{'v':{'NS':['10000000']}}}`)
}

func TestSet_Large(t *testing.T) {
	t.Parallel()
	bigSets(start(t), 10_000)
}

// BenchmarkSet is the time for each member, which must not grow with the set: 60,000 are the most that fit into an item.
func BenchmarkSet(b *testing.B) {
	for _, n := range []int{6_000, 60_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := start(b)
			for b.Loop() {
				bigSets(s, n)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/member")
		})
	}
}
