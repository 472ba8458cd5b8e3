package dynamo

import (
	"fmt"
	"strings"
	"testing"
)

// values are the placeholders that the tables of expressions use.
var values = map[string]string{
	":s": `{'S':'hello world'}`, ":hello": `{'S':'hello'}`, ":world": `{'S':'world'}`, ":n": `{'N':'5.0'}`, ":n1": `{'N':'1'}`, ":n2": `{'N':'2'}`,
	":n3": `{'N':'3'}`, ":n9": `{'N':'9'}`, ":n10": `{'N':'10'}`, ":n50": `{'N':'50'}`, ":n11": `{'N':'11'}`, ":b": `{'B':'AQID'}`, ":b1": `{'B':'AQ=='}`, ":b2": `{'B':'AgM='}`,
	":t": `{'BOOL':true}`, ":f": `{'BOOL':false}`, ":z": `{'NULL':true}`, ":ss": `{'SS':['q','p']}`, ":p": `{'S':'p'}`, ":ns": `{'NS':['2.5','1']}`,
	":l": `{'L':[{'S':'a'},{'N':'2.0'},{'L':[{'S':'deep'}]}]}`, ":deep": `{'L':[{'S':'deep'}]}`, ":in": `{'S':'in'}`, ":e": `{'S':''}`, ":a": `{'S':'a'}`,
	":S": `{'S':'S'}`, ":N": `{'S':'N'}`, ":M": `{'S':'M'}`, ":NULL": `{'S':'NULL'}`, ":SS": `{'S':'SS'}`, ":bad": `{'S':'DOG'}`, ":x": `{'S':'INPROGRESS'}`,
	":m": `{'M':{'q':{'S':'in'}}}`,

	":one": `{'N':'1'}`, ":half": `{'N':'0.5'}`, ":list": `{'L':[{'S':'c'}]}`, ":none": `{'L':[]}`, ":map": `{'M':{'k':{'S':'v'}}}`,
	":set": `{'SS':['q','r']}`, ":all": `{'SS':['p','q']}`, ":nset": `{'NS':['1.0','7']}`, ":bset": `{'BS':['AQ==']}`, ":big": `{'N':'9e125'}`,
}

var names = map[string]string{"#st": "status", "#d": "dot.ted", "#m": "m", "#x": "x"}

// placeholdersIn are the members of a request for the placeholders that the expressions mention.
func placeholdersIn(expressions ...string) string {
	all := strings.Join(expressions, " ")
	var vs, ns []string
	for _, token := range lex(all) {
		if v, ok := values[token.text]; ok && !strings.Contains(strings.Join(vs, ","), "'"+token.text+"'") {
			vs = append(vs, fmt.Sprintf("'%s':%s", token.text, v))
		}
		if n, ok := names[token.text]; ok && !strings.Contains(strings.Join(ns, ","), "'"+token.text+"'") {
			ns = append(ns, fmt.Sprintf("'%s':'%s'", token.text, n))
		}
	}
	out := ""
	if vs != nil {
		out += ",'ExpressionAttributeValues':{" + strings.Join(vs, ",") + "}"
	}
	if ns != nil {
		out += ",'ExpressionAttributeNames':{" + strings.Join(ns, ",") + "}"
	}
	return out
}

func conditionCheck(condition string) string {
	return fmt.Sprintf(`{'TransactItems':[{'ConditionCheck':{'TableName':'hhh','Key':{'id':{'S':'k'}},'ConditionExpression':%s%s}}]}`,
		quote(condition), placeholdersIn(condition))
}

func TestCondition_Holds(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.put()
	for condition, want := range map[string]bool{
		"s = :s": true, "s <> :s": false, "s = same": true, "s <> part": true, ":s = s": true, "n = :n": true, "n = :n50": false, "n <> :n50": true, "n = :n9": false,
		"n < :n10": true, "n < :n9": true, "n > :n10": false, "n >= :n": true, "n <= :n": true, "n > :n": false, ":n9 > n": true,
		"s < :world": true, "s > :hello": true, "b = :b": true, "b < :b2": true, "b >= :b1": true,
		"s = :n": false, "s <> :n": true, "s < :n": false, "n < :hello": false, "l < :n": false,
		"t = :t": true, "t = :f": false, "t <> :f": true, "z = :z": true, "ss = :ss": true, "ns = :ns": true, "l = :l": true, "e = :e": true,
		"gone = :s": false, "gone <> :s": true, "gone <> gone2": true, "gone = gone2": false, "gone < :n": false, "gone >= gone2": false,
		"#st = :x": true, "m.x = :n1": true, "#m.#x = :n1": true, "m.#d = :s": false, "m.#d <> :s": true, "m.y[0].q = :in": true, "m.y[0] = :m": true, "m.y[1].q = :in": false, "l[1] = :n2": true,
		"l[2][0] = :in": false, "l[2] = :deep": true, "l.x = :n1": false, "m[0] = :n1": false, "s.x = :n1": false,
		"n BETWEEN :n1 AND :n9": true, "n BETWEEN :n9 AND :n10": false, "n BETWEEN :n AND :n": true, "n between :n1 and :n9": true, ":n3 BETWEEN :n1 AND n": true,
		"gone BETWEEN :n1 AND :n9": false, "s BETWEEN :n1 AND :n9": false, "n BETWEEN n AND n": true,
		"n IN (:n)": true, "n IN (:s, :n9, :n)": true, "n IN (:s, :n9)": false, "l IN (:l)": true, "gone IN (:n)": false, "n in (n)": true,
		"attribute_exists(s)": true, "attribute_exists(gone)": false, "attribute_exists(m.x)": true, "attribute_exists(m.gone)": false, "attribute_exists(l[2][0])": true, "attribute_exists(l[3])": false, "attribute_exists(z)": true,
		"attribute_not_exists(s)": false, "attribute_not_exists(gone)": true, "attribute_not_exists(m.gone.deeper)": true,
		"attribute_type(s, :S)": true, "attribute_type(n, :S)": false, "attribute_type(z, :NULL)": true, "attribute_type(gone, :S)": false, "attribute_type(:n, :N)": true, "attribute_type(m, :M)": true, "attribute_type(ss, :SS)": true,
		"begins_with(s, :hello)": true, "begins_with(s, :world)": false, "begins_with(b, :b1)": true, "begins_with(n, :hello)": false, "begins_with(gone, :hello)": false, "begins_with(:s, e)": true, "begins_with(s, e)": true, "begins_with(b, :hello)": false,
		"contains(s, :world)": true, "contains(s, part)": true, "contains(s, :in)": false, "contains(ss, :p)": true, "contains(ss, :in)": false, "contains(ns, :n1)": true, "contains(l, :n2)": true, "contains(l, :deep)": true, "contains(l, :n9)": false,
		"contains(b, :b2)": true, "contains(bs, :b1)": true, "contains(n, :n)": false, "contains(gone, :n)": false, "contains(m, :n1)": false, "contains(s, :n)": false,
		"size(s) = :n11": true, "size(b) = :n3": true, "size(l) = :n3": true, "size(m) = :n3": true, "size(ss) = :n2": true, "size(n) = :n1": false, "size(gone) = :n1": false, "size(gone) <> :n1": true, "size(e) < :n1": true, "size(s) > n": true, "size(l) BETWEEN :n2 AND :n9": true, "size(s) IN (:n11)": true, "size(m.y) = :n1": true, "size(s) = :hello": false, "size(:s) = :n11": true,
		"NOT s = :s": false, "NOT s = :n": true, "NOT NOT s = :s": true, "NOT (s = :s)": false, "not attribute_exists(gone)": true,
		"s = :s AND n = :n": true, "s = :s AND n = :n9": false, "s = :n OR n = :n": true, "s = :n OR n = :n9": false,
		"n = :n OR n = :n9 AND s = :n": true, "(n = :n OR n = :n9) AND s = :n": false, "NOT n = :n9 AND s = :s": true, "NOT (n = :n AND s = :n)": true,
		"n = :n or s = :n AND s = :n": true, "(n) = :n": true, "(n) IN (:n)": true, "n = (:n)": true, "(s = :s)": true, "((n) = :n)": true, "(s = :s) AND (n = :n)": true, "((s = :s) AND n = :n)": true,
	} {
		r := s.do("TransactWriteItems", conditionCheck(condition))
		if got := r.Code == ""; got != want || r.Code != "" && !strings.Contains(string(r.Body), `"Code":"ConditionalCheckFailed"`) {
			t.Errorf("%s = %s, want %v", condition, r.Body, want)
		}
	}
}

func TestCondition_Rejected(t *testing.T) {
	t.Parallel()
	s := start(t)
	deep := "m" + strings.Repeat(".x", 32)
	many := "n = :n" + strings.Repeat(" OR n = :n", 200)
	for condition, want := range map[string]string{
		"":                                   "The expression can not be empty;",
		"  ":                                 "The expression can not be empty;",
		"s":                                  `Syntax error; token: "<EOF>", near: "s"`,
		"s =":                                `Syntax error; token: "<EOF>", near: "="`,
		"s == :s":                            `Syntax error; token: "=", near: "== :s"`,
		"s = :s AND":                         `Syntax error; token: "<EOF>", near: "AND"`,
		"s = :s n":                           `Syntax error; token: "n", near: ":s n"`,
		"_s = :s":                            `Syntax error; token: "_", near: "_s"`,
		"s-x = :s":                           `Syntax error; token: "-", near: "s-x"`,
		"1s = :s":                            "Syntax error",
		"l[x] = :s":                          "Syntax error",
		"l[-1] = :s":                         "Syntax error",
		"m. = :s":                            "Syntax error",
		"(s = :s":                            "Syntax error",
		"s = :s)":                            "Syntax error",
		"s = `x`":                            "Syntax error",
		"s = 5":                              "Syntax error",
		"s IN ()":                            "Syntax error",
		"s IN :s":                            "Syntax error",
		"s BETWEEN :n1":                      "Syntax error",
		"NOT":                                "Syntax error",
		"AND s = :s":                         "Attribute name is a reserved keyword; reserved keyword: AND",
		":":                                  "Syntax error",
		"# = :s":                             "Syntax error",
		"((s = :s))":                         "The expression has redundant parentheses;",
		"((s)) = :s":                         "The expression has redundant parentheses;",
		"status = :s":                        "Attribute name is a reserved keyword; reserved keyword: status",
		"m.Status = :s":                      "Attribute name is a reserved keyword; reserved keyword: Status",
		"s = :undefined":                     "An expression attribute value used in expression is not defined; attribute value: :undefined",
		"#undefined = :s":                    "An expression attribute name used in the document path is not defined; attribute name: #undefined",
		"s = s":                              "The first operand must be distinct from the remaining operands for this operator or function; operator: =, first operand: [s]",
		"contains(m.x, m.x)":                 "The first operand must be distinct from the remaining operands for this operator or function; operator: contains, first operand: [m, x]",
		"s < :t":                             "Incorrect operand type for operator or function; operator or function: <, operand type: BOOL",
		":l >= s":                            "Incorrect operand type for operator or function; operator or function: >=, operand type: L",
		"s BETWEEN :l AND :l":                "Incorrect operand type for operator or function; operator or function: BETWEEN, operand type: L",
		"n BETWEEN :n9 AND :n1":              "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; lower bound operand: AttributeValue: {N:9}, upper bound operand: AttributeValue: {N:1}",
		"n BETWEEN :n9 AND :s":               "The BETWEEN operator requires same data type for lower and upper bounds",
		"dog(s)":                             "Invalid function name; function: dog",
		"Size(s) = :n":                       "Invalid function name; function: Size",
		"Attribute_Exists(s)":                "Invalid function name; function: Attribute_Exists",
		"dog(s) = :n":                        "Invalid function name; function: dog",
		"size(s)":                            "The function is not allowed to be used this way in an expression; function: size",
		"attribute_exists(s) = :t":           "The function is not allowed to be used this way in an expression; function: attribute_exists",
		":t = attribute_exists(s)":           "The function is not allowed to be used this way in an expression; function: attribute_exists",
		"if_not_exists(s, :s)":               "The function is not allowed in a condition expression; function: if_not_exists",
		"attribute_exists(:s)":               "Operator or function requires a document path; operator or function: attribute_exists",
		"attribute_not_exists(size(s))":      "Operator or function requires a document path; operator or function: attribute_not_exists",
		"attribute_exists(s, n)":             "Incorrect number of operands for operator or function; operator or function: attribute_exists, number of operands: 2",
		"begins_with(s)":                     "Incorrect number of operands for operator or function; operator or function: begins_with, number of operands: 1",
		"size(s, n) = :n":                    "Incorrect number of operands for operator or function; operator or function: size, number of operands: 2",
		"size(:n) = :n1":                     "Incorrect operand type for operator or function; operator or function: size, operand type: N",
		"begins_with(s, :n)":                 "Incorrect operand type for operator or function; operator or function: begins_with, operand type: N",
		"attribute_type(s, :n)":              "Incorrect operand type for operator or function; operator or function: attribute_type, operand type: N",
		"attribute_type(s, n)":               "Incorrect operand type for operator or function; operator or function: attribute_type, operand type: Document Path",
		"attribute_type(s, :bad)":            "Invalid attribute type name found; type: DOG, valid types: {",
		"l[99999999999999999999] = :s":       "List index is not within the allowable range; index: [99999999999999999999]",
		deep + " = :s":                       "The document path has too many nesting elements; nesting levels: 33",
		many:                                 "The expression contains too many operators",
		"s = :s" + strings.Repeat(" ", 4096): "Expression size has exceeded the maximum allowed size; expression size: 4102",
		"n IN (" + strings.Repeat(":n, ", 100) + ":n)": "The IN operator is provided with too many operands; number of operands: 101",
	} {
		s.wantError("TransactWriteItems", conditionCheck(condition), "ValidationException", "Invalid ConditionExpression: "+want)
	}
}

func TestPlaceholders_Rejected(t *testing.T) {
	t.Parallel()
	s := start(t)
	for members, want := range map[string]string{
		`'ConditionExpression':'n = :n','ExpressionAttributeValues':{':n':{'N':'1'},':b':{'N':'1'},':a':{'N':'1'}}`:                  "Value provided in ExpressionAttributeValues unused in expressions: keys: {:a, :b}",
		`'ConditionExpression':'n = :n','ExpressionAttributeValues':{':n':{'N':'1'}},'ExpressionAttributeNames':{'#b':'x','#a':'y'}`: "Value provided in ExpressionAttributeNames unused in expressions: keys: {#a, #b}",
		`'ConditionExpression':'attribute_exists(n)','ExpressionAttributeValues':{}`:                                                 "ExpressionAttributeValues must not be empty",
		`'ConditionExpression':'attribute_exists(n)','ExpressionAttributeNames':{}`:                                                  "ExpressionAttributeNames must not be empty",
		`'ExpressionAttributeNames':{'#a':'x'}`:                                                                                      "ExpressionAttributeNames can only be specified when using expressions",
		`'ExpressionAttributeValues':{':a':{'S':'x'}}`:                                                                               "ExpressionAttributeValues can only be specified when using expressions: ConditionExpression is null",
		`'ConditionExpression':'attribute_exists(n)','ExpressionAttributeNames':{'a':'x'}`:                                           `ExpressionAttributeNames contains invalid key: Syntax error; key: "a"`,
		`'ConditionExpression':'attribute_exists(n)','ExpressionAttributeNames':{'#a-b':'x'}`:                                        `ExpressionAttributeNames contains invalid key: Syntax error; key: "#a-b"`,
		`'ConditionExpression':'attribute_exists(n)','ExpressionAttributeNames':{'#a':''}`:                                           "ExpressionAttributeNames contains invalid value",
		`'ConditionExpression':'attribute_exists(n)','ExpressionAttributeValues':{'a':{'S':'x'}}`:                                    `ExpressionAttributeValues contains invalid key: Syntax error; key: "a"`,
		`'ConditionExpression':'n = :n','ExpressionAttributeValues':{':n':{}}`:                                                       "ExpressionAttributeValues contains invalid value: Supplied AttributeValue is empty, must contain exactly one of the supported datatypes for key :n",
		`'ConditionExpression':'n = :n','ExpressionAttributeValues':{':n':{'N':'x'}}`:                                                "ExpressionAttributeValues contains invalid value: The parameter cannot be converted to a numeric value: x for key :n",
	} {
		s.wantError("PutItem", `{'TableName':'hhh','Item':{'id':{'S':'k'}},`+members+`}`, "ValidationException", want)
	}
}

// A reserved word that stands for an attribute is refused in any case and place, and allowed behind a #.
func TestReserved_EveryWord(t *testing.T) {
	t.Parallel()
	if len(reserved) != 573 {
		t.Errorf("%d reserved words, want 573", len(reserved))
	}
	for word := range reserved {
		ph := &placeholders{names: map[string]string{"#n": word}, usedNames: map[string]bool{}}
		if _, err := parseCondition("ConditionExpression", "attribute_exists("+strings.ToLower(word)+")", ph); err == nil {
			t.Errorf("%s is accepted", word)
		}
		if _, err := parseCondition("ConditionExpression", "attribute_exists(#n)", ph); err != nil {
			t.Errorf("%s behind a placeholder: %v", word, err)
		}
	}
}
