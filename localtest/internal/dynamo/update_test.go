package dynamo

import (
	"fmt"
	"strings"
	"testing"
)

func updateItemBody(update, rest string) string {
	return fmt.Sprintf(`{'TableName':'hhh','Key':{'id':{'S':'k'}},'UpdateExpression':%s%s%s}`, quote(update), placeholdersIn(update), rest)
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	// The attributes that changed, as UPDATED_NEW gives them, and as UPDATED_OLD does.
	for update, want := range map[string][2]string{
		"SET n = :one":                          {`{'n':{'N':'1'}}`, `{'n':{'N':'5'}}`},
		"set n = n + :one":                      {`{'n':{'N':'6'}}`, `{'n':{'N':'5'}}`},
		"SET n = :one - n":                      {`{'n':{'N':'-4'}}`, `{'n':{'N':'5'}}`},
		"SET n = (n + :half)":                   {`{'n':{'N':'5.5'}}`, `{'n':{'N':'5'}}`},
		"SET n = n - n":                         {`{'n':{'N':'0'}}`, `{'n':{'N':'5'}}`},
		"SET gone = n":                          {`{'gone':{'N':'5'}}`, `{}`},
		"SET s = e, e = s":                      {`{'s':{'S':''},'e':{'S':'hello world'}}`, `{'s':{'S':'hello world'},'e':{'S':''}}`},
		"SET gone = if_not_exists(gone, :one)":  {`{'gone':{'N':'1'}}`, `{}`},
		"SET n = if_not_exists(n, :one)":        {`{'n':{'N':'5'}}`, `{'n':{'N':'5'}}`},
		"SET n = if_not_exists(gone, n) + :one": {`{'n':{'N':'6'}}`, `{'n':{'N':'5'}}`},
		"SET n = if_not_exists(gone, if_not_exists(gone2, :one))":   {`{'n':{'N':'1'}}`, `{'n':{'N':'5'}}`},
		"SET gone = list_append(:list, :none)":                      {`{'gone':{'L':[{'S':'c'}]}}`, `{}`},
		"SET gone = list_append(if_not_exists(gone, :none), :list)": {`{'gone':{'L':[{'S':'c'}]}}`, `{}`},
		"SET l = list_append(m.y, :list)":                           {`{'l':{'L':[{'M':{'q':{'S':'in'}}},{'S':'c'}]}}`, `{'l':{'L':[{'S':'a'},{'N':'2'},{'L':[{'S':'deep'}]}]}}`},
		"SET m.x = :map":                                            {`{'m':{'M':{'x':{'M':{'k':{'S':'v'}}}}}}`, `{'m':{'M':{'x':{'N':'1'}}}}`},
		"SET m.gone = :one, m.y[0].q = :half":                       {`{'m':{'M':{'gone':{'N':'1'},'y':{'L':[{'M':{'q':{'N':'0.5'}}}]}}}}`, `{'m':{'M':{'y':{'L':[{'M':{'q':{'S':'in'}}}]}}}}`},
		"SET l[0] = :one, l[2][0] = :half":                          {`{'l':{'L':[{'N':'1'},{'L':[{'N':'0.5'}]}]}}`, `{'l':{'L':[{'S':'a'},{'L':[{'S':'deep'}]}]}}`},
		"SET m.#d = :one":                                           {`{'m':{'M':{'dot.ted':{'N':'1'}}}}`, `{'m':{'M':{'dot.ted':{'S':'d'}}}}`},
		"REMOVE n":                                                  {`{}`, `{'n':{'N':'5'}}`},
		"REMOVE gone":                                               {`{}`, `{}`},
		"REMOVE m.gone, l[9]":                                       {`{}`, `{}`},
		"REMOVE m.x":                                                {`{}`, `{'m':{'M':{'x':{'N':'1'}}}}`},
		"ADD n :half":                                               {`{'n':{'N':'5.5'}}`, `{'n':{'N':'5'}}`},
		"ADD gone :one":                                             {`{'gone':{'N':'1'}}`, `{}`},
		"ADD m.x :one":                                              {`{'m':{'M':{'x':{'N':'2'}}}}`, `{'m':{'M':{'x':{'N':'1'}}}}`},
		"ADD ss :set":                                               {`{'ss':{'SS':['p','q','r']}}`, `{'ss':{'SS':['p','q']}}`},
		"ADD ns :nset":                                              {`{'ns':{'NS':['1','2.5','7']}}`, `{'ns':{'NS':['1','2.5']}}`},
		"ADD gone :set":                                             {`{'gone':{'SS':['q','r']}}`, `{}`},
		"DELETE ss :set":                                            {`{'ss':{'SS':['p']}}`, `{'ss':{'SS':['p','q']}}`},
		"DELETE ss :all":                                            {`{}`, `{'ss':{'SS':['p','q']}}`},
		"DELETE ns :nset":                                           {`{'ns':{'NS':['2.5']}}`, `{'ns':{'NS':['1','2.5']}}`},
		"DELETE bs :bset":                                           {`{'bs':{'BS':['Ag==']}}`, `{'bs':{'BS':['AQ==','Ag==']}}`},
		"DELETE gone :set":                                          {`{}`, `{}`},
		"SET gone = :one REMOVE s ADD n :one DELETE ss :set":        {`{'gone':{'N':'1'},'n':{'N':'6'},'ss':{'SS':['p']}}`, `{'s':{'S':'hello world'},'n':{'N':'5'},'ss':{'SS':['p','q']}}`},
		"SET gone = if_not_exists(gone, list_append(:list, :none))": {`{'gone':{'L':[{'S':'c'}]}}`, `{}`},
		"REMOVE s SET e = s": {`{'e':{'S':'hello world'}}`, `{'s':{'S':'hello world'},'e':{'S':''}}`},
	} {
		for i, mode := range []string{"UPDATED_NEW", "UPDATED_OLD"} {
			s := start(t)
			s.put()
			got := s.ok("UpdateItem", updateItemBody(update, `,'ReturnValues':'`+mode+`'`))
			w := `{'Attributes':` + want[i] + `}`
			if want[i] == "{}" {
				w = `{}`
			}
			if normal(t, got) != normal(t, strings.ReplaceAll(w, "'", `"`)) {
				t.Errorf("%s, %s:\n got %s\nwant %s", update, mode, got, w)
			}
		}
	}
}

// What only takes away makes no item, whatever its paths are. Any other update does.
func TestUpdate_OfNothing(t *testing.T) {
	t.Parallel()
	none := `{}`
	for update, want := range map[string]string{
		"REMOVE n":                none,
		"REMOVE n, s":             none,
		"REMOVE m.x":              none,
		"REMOVE l[0], m.y[0].q":   none,
		"DELETE ss :set":          `{'id':{'S':'k'}}`,
		"DELETE ss :set REMOVE n": `{'id':{'S':'k'}}`,
		"SET n = :one REMOVE s":   `{'id':{'S':'k'},'n':{'N':'1'}}`,
		"ADD n :one REMOVE s":     `{'id':{'S':'k'},'n':{'N':'1'}}`,
		"":                        `{'id':{'S':'k'}}`,
	} {
		body := func(rest string) string {
			if update == "" {
				return `{'TableName':'hhh','Key':{'id':{'S':'k'}}` + rest + `}`
			}
			return updateItemBody(update, rest)
		}
		member := func(name string) string {
			if want == none {
				return `{}`
			}
			return `{'` + name + `':` + want + `}`
		}
		s := start(t)
		s.want(s.ok("UpdateItem", body(`,'ReturnValues':'ALL_NEW'`)), member("Attributes"))
		s.want(s.item(), member("Item"))
		s = start(t)
		s.want(s.ok("UpdateItem", body(`,'ReturnConsumedCapacity':'TOTAL'`)), `{'ConsumedCapacity':{'TableName':'hhh','CapacityUnits':1}}`)
		if update != "" {
			s = start(t)
			s.ok("TransactWriteItems", transaction("", `{'Update':`+body("")+`}`))
			s.want(s.item(), member("Item"))
		}
		s = start(t)
		s.wantError("UpdateItem", body(`,'ConditionExpression':'attribute_exists(id)'`), "ConditionalCheckFailedException", "")
		s.ok("UpdateItem", body(`,'ConditionExpression':'attribute_not_exists(id)'`))
		s.want(s.item(), member("Item"))
	}
	s := start(t)
	for mode, want := range map[string]string{"ALL_OLD": none, "UPDATED_OLD": none, "UPDATED_NEW": none} {
		s.want(s.ok("UpdateItem", updateItemBody("REMOVE m.x", `,'ReturnValues':'`+mode+`'`)), want)
	}
	s.wantError("UpdateItem", updateItemBody("REMOVE id", ""), "ValidationException", "part of the key")
	s.want(s.ok("Scan", `{'TableName':'hhh'}`), `{'Items':[],'Count':0,'ScannedCount':0}`)
}

// Lists: what is set beyond the end is appended in the order of the indexes, and removals mean the old indexes.
func TestUpdate_Lists(t *testing.T) {
	t.Parallel()
	for update, want := range map[string]string{
		"SET l[9] = :half, l[5] = :one":                    `[{'S':'a'},{'N':'2'},{'L':[{'S':'deep'}]},{'N':'1'},{'N':'0.5'}]`,
		"REMOVE l[0], l[2]":                                `[{'N':'2'}]`,
		"REMOVE l[2], l[0], l[1]":                          `[]`,
		"REMOVE l[2][0], l[0]":                             `[{'N':'2'},{'L':[]}]`,
		"SET l[1] = :one REMOVE l[0]":                      `[{'N':'1'},{'L':[{'S':'deep'}]}]`,
		"SET l[7] = :one REMOVE l[0]":                      `[{'N':'2'},{'L':[{'S':'deep'}]},{'N':'1'}]`,
		"SET l[2][3] = :one":                               `[{'S':'a'},{'N':'2'},{'L':[{'S':'deep'},{'N':'1'}]}]`,
		"SET l[9] = :one REMOVE l[3]":                      `[{'S':'a'},{'N':'2'},{'L':[{'S':'deep'}]},{'N':'1'}]`, // l[3] is nothing
		"SET l[9] = :one ADD l[3] :half":                   `[{'S':'a'},{'N':'2'},{'L':[{'S':'deep'}]},{'N':'0.5'},{'N':'1'}]`,
		"SET l[9] = :one ADD l[7] :half, l[8] :set":        `[{'S':'a'},{'N':'2'},{'L':[{'S':'deep'}]},{'N':'0.5'},{'SS':['q','r']},{'N':'1'}]`,
		"SET l[2][7] = :one REMOVE l[2][1], l[0], l[2][0]": `[{'N':'2'},{'L':[{'N':'1'}]}]`,
		"SET l[1] = l[0], l[0] = l[1]":                     `[{'N':'2'},{'S':'a'},{'L':[{'S':'deep'}]}]`,
	} {
		s := start(t)
		s.put()
		s.ok("UpdateItem", updateItemBody(update, ""))
		got := s.ok("GetItem", `{'TableName':'hhh','Key':{'id':{'S':'k'}},'ProjectionExpression':'l'}`)
		if normal(t, got) != normal(t, strings.ReplaceAll(`{'Item':{'l':{'L':`+want+`}}}`, "'", `"`)) {
			t.Errorf("%s: %s, want %s", update, got, want)
		}
	}
}

func TestUpdate_Rejected(t *testing.T) {
	t.Parallel()
	const expression = "Invalid UpdateExpression: "
	s := start(t)
	s.put()
	before := s.item()
	for update, want := range map[string]string{
		"":                               expression + "The expression can not be empty;",
		"n = :one":                       expression + `Syntax error; token: "n", near: "n ="`,
		"SET":                            expression + `Syntax error; token: "<EOF>", near: "SET"`,
		"SET n":                          expression + `Syntax error; token: "<EOF>", near: "n"`,
		"SET n = :one,":                  expression + "Syntax error",
		"SET n = :one + :one + :one":     expression + `Syntax error; token: "+"`,
		"SET n = :one * :one":            expression + "Syntax error",
		"SET n = 1":                      expression + "Syntax error",
		"REMOVE n = :one":                expression + "Syntax error",
		"ADD n = :one":                   expression + "Syntax error",
		"ADD n n":                        expression + "Syntax error",
		"DELETE ss n":                    expression + "Syntax error",
		"PUT n = :one":                   expression + "Syntax error",
		"SET n = :one SET s = :one":      expression + `The "SET" section can only be used once in an update expression;`,
		"REMOVE n remove s":              expression + `The "REMOVE" section can only be used once in an update expression;`,
		"SET status = :one":              expression + "Attribute name is a reserved keyword; reserved keyword: status",
		"SET n = data":                   expression + "Attribute name is a reserved keyword; reserved keyword: data",
		"SET n = :undefined":             expression + "An expression attribute value used in expression is not defined; attribute value: :undefined",
		"REMOVE #undefined":              expression + "An expression attribute name used in the document path is not defined; attribute name: #undefined",
		"SET n = :one, n = :half":        expression + "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [n], path two: [n]",
		"SET m.x = :one REMOVE m":        expression + "Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [m, x], path two: [m]",
		"SET l[0] = :one, l[0].q = :one": expression + "Two document paths overlap",
		"SET m.x = :one, m[0] = :one":    expression + "Two document paths conflict with each other; must remove or rewrite one of these paths; path one: [m, x], path two: [m, [0]]",
		"SET n = :s + :one":              expression + "Incorrect operand type for operator or function; operator or function: +, operand type: S",
		"SET n = n - :s":                 expression + "Incorrect operand type for operator or function; operator or function: -, operand type: S",
		"SET l = list_append(l, :s)":     expression + "Incorrect operand type for operator or function; operator or function: list_append, operand type: S",
		"SET l = list_append(list_append(:list, :none), :list)": expression + "The function is not allowed to be used this way in an expression; function: list_append",
		"SET l = list_append(l, (list_append(:list, :none)))":   expression + "The function is not allowed to be used this way in an expression; function: list_append",
		"SET n = dog(n)":                 expression + "Invalid function name; function: dog",
		"SET n = size(n)":                expression + "The function is not allowed in an update expression; function: size",
		"SET n = if_not_exists(n)":       expression + "Incorrect number of operands for operator or function; operator or function: if_not_exists, number of operands: 1",
		"SET n = if_not_exists(:one, n)": expression + "Operator or function requires a document path; operator or function: if_not_exists",
		"SET n = ((n))":                  expression + "The expression has redundant parentheses;",
		"ADD n :s":                       expression + "Incorrect operand type for operator or function; operator: ADD, operand type: STRING, typeSet: ALLOWED_FOR_ADD_OPERAND",
		"ADD l :list":                    expression + "Incorrect operand type for operator or function; operator: ADD, operand type: LIST, typeSet: ALLOWED_FOR_ADD_OPERAND",
		"DELETE n :one":                  expression + "Incorrect operand type for operator or function; operator: DELETE, operand type: NUMBER, typeSet: ALLOWED_FOR_DELETE_OPERAND",

		"SET id = :s":                     "Cannot update attribute id. This attribute is part of the key",
		"REMOVE id":                       "Cannot update attribute id. This attribute is part of the key",
		"ADD id :one":                     "Cannot update attribute id. This attribute is part of the key",
		"SET n = gone":                    "The provided expression refers to an attribute that does not exist in the item",
		"SET n = gone + :one":             "The provided expression refers to an attribute that does not exist in the item",
		"SET n = m.gone":                  "The provided expression refers to an attribute that does not exist in the item",
		"SET n = s + :one":                "An operand in the update expression has an incorrect data type",
		"SET l = list_append(n, l)":       "An operand in the update expression has an incorrect data type",
		"ADD s :one":                      "An operand in the update expression has an incorrect data type",
		"ADD ss :nset":                    "An operand in the update expression has an incorrect data type",
		"DELETE s :set":                   "An operand in the update expression has an incorrect data type",
		"SET gone.x = :one":               "The document path provided in the update expression is invalid for update",
		"SET m.gone.x = :one":             "The document path provided in the update expression is invalid for update",
		"SET s.x = :one":                  "The document path provided in the update expression is invalid for update",
		"SET m[0] = :one":                 "The document path provided in the update expression is invalid for update",
		"SET l.x = :one":                  "The document path provided in the update expression is invalid for update",
		"SET l[7].x = :one":               "The document path provided in the update expression is invalid for update",
		"SET l[9] = :map REMOVE l[3].k":   "The document path provided in the update expression is invalid for update",
		"SET l[9] = :list REMOVE l[3][0]": "The document path provided in the update expression is invalid for update",
		"SET l[9] = :map ADD l[3].n :one": "The document path provided in the update expression is invalid for update",
		"REMOVE gone.x":                   "The document path provided in the update expression is invalid for update",
		"ADD gone.x :one":                 "The document path provided in the update expression is invalid for update",
		"SET n = :big + :big":             "Number overflow",
		"SET s = :one, n = gone":          "The provided expression refers to an attribute that does not exist in the item",
		"SET s = :one, gone.x = :one":     "The document path provided in the update expression is invalid for update",
	} {
		s.wantError("UpdateItem", updateItemBody(update, ""), "ValidationException", want)
		s.want(s.item(), before)
	}
}

func TestUpdate_ReturnValues(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := `{'TableName':'hhh','Key':{'id':{'S':'k'}},`
	// An update of what is not there makes it, from its key alone if there is no expression.
	s.want(s.ok("UpdateItem", key+`'ReturnValues':'ALL_OLD'}`), `{}`)
	s.want(s.item(), `{'Item':{'id':{'S':'k'}}}`)
	set := `'UpdateExpression':'SET a = :a','ExpressionAttributeValues':{':a':{'N':'1'}},`
	s.want(s.ok("UpdateItem", key+set+`'ReturnValues':'ALL_OLD'}`), `{'Attributes':{'id':{'S':'k'}}}`)
	s.want(s.ok("UpdateItem", key+set+`'ReturnValues':'ALL_NEW'}`), `{'Attributes':{'id':{'S':'k'},'a':{'N':'1'}}}`)
	s.want(s.ok("UpdateItem", key+set+`'ReturnValues':'NONE'}`), `{}`)
	s.wantError("UpdateItem", key+set+`'ReturnValues':'SOME'}`, "ValidationException", "Value 'SOME' at 'returnValues'")
	put := `{'TableName':'hhh','Item':{'id':{'S':'k'},'b':{'N':'2'}},`
	s.want(s.ok("PutItem", put+`'ReturnValues':'ALL_OLD'}`), `{'Attributes':{'id':{'S':'k'},'a':{'N':'1'}}}`)
	s.want(s.ok("PutItem", put+`'ReturnValues':'NONE'}`), `{}`)
	s.wantError("PutItem", put+`'ReturnValues':'ALL_NEW'}`, "ValidationException", "ReturnValues can only be ALL_OLD or NONE")
	s.wantError("DeleteItem", key+`'ReturnValues':'UPDATED_OLD'}`, "ValidationException", "ReturnValues can only be ALL_OLD or NONE")
	s.want(s.ok("DeleteItem", key+`'ReturnValues':'ALL_OLD'}`), `{'Attributes':{'id':{'S':'k'},'b':{'N':'2'}}}`)
	s.want(s.ok("DeleteItem", key+`'ReturnValues':'ALL_OLD'}`), `{}`)
	s.want(s.item(), `{}`)
}

func TestProjection(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.put()
	get := func(projection string) string {
		return fmt.Sprintf(`{'TableName':'hhh','Key':{'id':{'S':'k'}},'ProjectionExpression':%s%s}`, quote(projection), placeholdersIn(projection))
	}
	for projection, want := range map[string]string{
		"id, n":                `{'id':{'S':'k'},'n':{'N':'5'}}`,
		"#st":                  `{'status':{'S':'INPROGRESS'}}`,
		"gone":                 `{}`,
		"m.x, m.#d":            `{'m':{'M':{'x':{'N':'1'},'dot.ted':{'S':'d'}}}}`,
		"m.y[0].q":             `{'m':{'M':{'y':{'L':[{'M':{'q':{'S':'in'}}}]}}}}`,
		"l[2], l[0]":           `{'l':{'L':[{'S':'a'},{'L':[{'S':'deep'}]}]}}`,
		"l[9], m.gone, s.x, n": `{'n':{'N':'5'}}`,
		"l[2][0]":              `{'l':{'L':[{'L':[{'S':'deep'}]}]}}`,
	} {
		s.want(s.ok("GetItem", get(projection)), `{'Item':`+want+`}`)
	}
	for projection, want := range map[string]string{
		"":          "The expression can not be empty;",
		"n,":        "Syntax error",
		"n n":       "Syntax error",
		"status":    "Attribute name is a reserved keyword; reserved keyword: status",
		"m, m.x":    "Two document paths overlap",
		"n, s, n":   "Two document paths overlap",
		"m.x, m[0]": "Two document paths conflict",
		"#nope":     "An expression attribute name used in the document path is not defined; attribute name: #nope",
		"size(s)":   "Attribute name is a reserved keyword",
	} {
		s.wantError("GetItem", get(projection), "ValidationException", "Invalid ProjectionExpression: "+want)
	}
}
