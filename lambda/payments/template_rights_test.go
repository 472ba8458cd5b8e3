package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"github.com/oncekey/oncekey/localtest"
)

// rights are the actions of each function, by the resource.
var rights = map[string]map[string][]string{
	"PaymentsFunction": {
		"IdempotencyTable": {"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"},
		"LedgerTable":      {"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"},
	},
	"ReconcileFunction": {
		"IdempotencyTable": {"dynamodb:GetItem", "dynamodb:Scan", "dynamodb:UpdateItem"},
		"LedgerTable":      {"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"},
	},
	"CommissionFunction": {
		"IdempotencyTable": {"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"},
		"LedgerTable":      {"dynamodb:GetItem", "dynamodb:PutItem"},
		"CommissionQueue":  {"sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"}, // Lambda's, by the function's role
	},
}

func TestTemplate_RightsAreThese(t *testing.T) {
	t.Parallel()
	template := readTemplate(t)
	for function, resources := range rights {
		want := map[string]string{"[0].Version": "2012-10-17"}
		for i, resource := range []string{"IdempotencyTable", "LedgerTable", "CommissionQueue"}[:len(resources)] {
			allows(want, fmt.Sprintf("[0].Statement[%d].", i), []string{"Records", "Ledger", "Messages"}[i], "!GetAtt "+resource+".Arn", resources[resource])
		}
		equal(t, function+"'s policies", below(template, "Resources."+function+".Properties.Policies"), want)
		for path, value := range below(template, "Resources."+function+".Properties.Events.") {
			if strings.HasSuffix(path, ".Type") && value == "SQS" {
				t.Errorf("%s has an event of type SQS, with which SAM lets it receive from all queues", function)
			}
		}
	}
	for path, value := range template {
		if strings.Contains(path, ".Statement[") && strings.Contains(value, "*") {
			t.Errorf("%s = %q, want no wildcard", path, value)
		}
	}
}

// Who reads or writes a table needs its key, if that is the customer's, and by nothing but DynamoDB.
func TestTemplate_RightsOnTheKey(t *testing.T) {
	t.Parallel()
	want := map[string]string{"Type": "AWS::IAM::Policy", "Condition": "HasTableKey", "Properties.PolicyName": "table-key", "Properties.PolicyDocument.Version": "2012-10-17"}
	for i, role := range []string{"PaymentsFunctionRole", "ReconcileFunctionRole", "CommissionFunctionRole", "OutboxPipeRole"} {
		want[fmt.Sprintf("Properties.Roles[%d]", i)] = "!Ref " + role
	}
	allows(want, "Properties.PolicyDocument.Statement[0].", "TableKey", "!Ref TableKey", []string{"kms:Decrypt"})
	want["Properties.PolicyDocument.Statement[0].Condition.StringEquals.kms:ViaService"] = "!Sub dynamodb.${AWS::Region}.amazonaws.com"
	equal(t, "key", below(readTemplate(t), "Resources.TableKeyPolicy."), want)
}

// allows writes a statement as readTemplate reads it.
func allows(want map[string]string, path, sid, resource string, actions []string) {
	want[path+"Sid"], want[path+"Effect"], want[path+"Resource"] = sid, "Allow", resource
	for n, action := range actions {
		want[fmt.Sprintf("%sAction[%d]", path, n)] = action
	}
}

// The functions take each right on a table, and no other, on their ways through a crash, a late owner and lost replies.
func TestTemplate_RightsAreTaken(t *testing.T) {
	t.Parallel()
	taken := &takings{by: map[string]map[string]bool{}}
	t.Run("ways", func(t *testing.T) {
		atEachDeath(t, func(s *shop, pay func() string) {
			taken.add(s, "PaymentsFunction")
			passes(2 * timeout)
			end := s.outage("UpdateItem", localtest.ReplyLost, 0)
			_, _ = s.clock.reconcile(s.t.Context(), nil)
			end()
			s.reconciles(counts{})
			taken.add(s, "ReconcileFunction")
			s.receives(pay)
			taken.add(s, "PaymentsFunction")
		})
		for _, dies := range deaths {
			inMarket(t, 2, func(m *market) {
				taken.reset(m.shop)
				dies(m.shop)
				m.delivers(0, 2)
				m.revives()
				passes(2 * timeout)
				m.delivers(2, 0)
				taken.add(m.shop, "CommissionFunction")
				m.publishes()
				taken.reset(m.shop)
				m.delivers(2, 0)
				taken.add(m.shop, "CommissionFunction")
			})
		}
	})
	for function, resources := range rights {
		var want []string
		for resource, actions := range resources {
			for _, action := range actions {
				if strings.HasPrefix(action, "dynamodb:") {
					want = append(want, action+" on "+resource)
				}
			}
		}
		slices.Sort(want)
		if got := slices.Sorted(maps.Keys(taken.by[function])); !slices.Equal(got, want) {
			t.Errorf("%s has taken\n%q\nof the rights\n%q", function, got, want)
		}
	}
}

// takings are the actions that each function has taken, as "dynamodb:GetItem on LedgerTable".
type takings struct {
	mu sync.Mutex
	by map[string]map[string]bool
}

func (t *takings) reset(s *shop) {
	s.staged.Clear()
	s.db.ResetCalls()
}

// add adds what the shop's log has since the last time. Of a transaction it does not say which action was on which table; the
// shop's client does.
func (t *takings) add(s *shop, function string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by[function] == nil {
		t.by[function] = map[string]bool{}
	}
	name := map[string]string{s.records: "IdempotencyTable", s.function.ledger.table: "LedgerTable"}
	for _, c := range s.db.Calls("") {
		if c.Operation == "TransactWriteItems" {
			continue
		}
		for _, action := range c.Actions {
			t.by[function][action+" on "+name[c.Table]] = true
		}
	}
	s.staged.Range(func(a, _ any) bool {
		action := a.(stagedAction)
		t.by[function]["dynamodb:"+action.name+" on "+name[action.table]] = true
		return true
	})
	t.reset(s)
}

// stagedAction is one within a transaction.
type stagedAction struct{ name, table string }

// watch is an option of a client that notes what its transactions do.
func (s *shop) watch(o *dynamodb.Options) {
	note := func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
		if tx, ok := in.Parameters.(*dynamodb.TransactWriteItemsInput); ok {
			for _, it := range tx.TransactItems {
				switch {
				case it.Put != nil:
					s.staged.Store(stagedAction{"PutItem", *it.Put.TableName}, true)
				case it.Update != nil:
					s.staged.Store(stagedAction{"UpdateItem", *it.Update.TableName}, true)
				case it.Delete != nil:
					s.staged.Store(stagedAction{"DeleteItem", *it.Delete.TableName}, true)
				case it.ConditionCheck != nil:
					s.staged.Store(stagedAction{"ConditionCheckItem", *it.ConditionCheck.TableName}, true)
				}
			}
		}
		return next.HandleInitialize(ctx, in)
	}
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("staged", note), middleware.Before)
	})
}
