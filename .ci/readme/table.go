package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// how says what holds a command line.
type how string

const (
	// runs: it is run as printed, and its exit code and a part of its output are compared.
	runs how = "runs"
	// serves: it is a server. It is started as printed but for a port that is free, answers one request, and is ended.
	serves how = "serves"
	// installed: it can be run after publication only, and is a step of the first five minutes in a new module.
	installed how = "installed"
	// tested: something else runs it, or the same: a make target that .ci/run comes to, or a Go test.
	tested how = "tested"
	// account: it needs an account, and README says that nobody has run it there; of its own commands in their section.
	account how = "account"
	// printed: it begins a block that nobody types. A make target or a Go test reads it, or tests what it shows.
	printed how = "printed"
)

// place is where a command is run.
type place int

const (
	repository place = iota
	newModule
	operator // at a table with unknown outcomes, with idemctl on the path
)

type held struct {
	doc, command string
	how          how

	by string // tested, printed: "make target", or folder.Test

	where  place
	record int           // operator: the unknown record, by its order, that $ID is
	says   string        // a part of what it prints, or answers
	code   int           // its exit code
	limit  time.Duration // a minute by default
}

const (
	readme    = "README.md"
	clients   = "lambda/CLIENTS.md"
	operating = "idempotency/OPERATING.md"
	modelled  = "idempotency/model/README.md"
)

// holdings has every line that a document tells its reader to type, in the order in which they are run.
var holdings = []held{
	{doc: readme, command: "go get github.com/oncekey/oncekey", how: installed},
	{doc: readme, command: "go install github.com/oncekey/oncekey/idempotency/idemctl@latest", how: installed},
	{doc: operating, command: "go install github.com/oncekey/oncekey/idempotency/idemctl@latest", how: installed},

	{doc: readme, command: "go run github.com/oncekey/oncekey/localtest/dynamodb -addr " + printedAddr, how: serves, where: newModule, says: "TableNames"},
	{doc: readme, command: "LOCALTEST_DYNAMODB=http://" + printedAddr + " go test -count=1 ./...", how: runs, where: newModule, says: "ok"},

	{doc: readme, command: "idemctl list -older 10m", how: runs, where: operator, says: "order 1"},
	{doc: readme, command: `idemctl get "$ID" -downstream charge`, how: runs, where: operator, record: 0, says: "downstream key"},
	{doc: readme, command: `idemctl resolve "$ID" -as completed -value '{"charge":"ch_1"}'`, how: runs, where: operator, record: 0, says: "resolved as completed"},
	{doc: readme, command: `idemctl resolve "$ID" -as completed -http-status 201 -http-header 'Content-Type: application/json' -http-body '{"charge":"ch_1"}'`, how: runs, where: operator, record: 1, says: "resolved as completed"},
	{doc: readme, command: "idemctl cost -rate 1000 -retries 5% -size 2KB -retention 24h -unknown-scan 5m", how: runs, where: operator, says: "86,400,000"},
	{doc: operating, command: `idemctl check -table "$TABLE"`, how: runs, where: operator, says: "1 not checked", code: 4},
	{doc: operating, command: `idemctl list -table "$TABLE"`, how: runs, where: operator, says: "order 3"},
	{doc: operating, command: `idemctl get -table "$TABLE" "$ID"`, how: runs, where: operator, record: 2, says: "order 3"},
	{doc: operating, command: `idemctl resolve -table "$TABLE" "$ID" -as not-done`, how: runs, where: operator, record: 2, says: "resolved as not-done"},

	{doc: readme, command: "make demo", how: runs, says: "situations took", limit: 2 * time.Minute},
	{doc: readme, command: "make validate", how: runs, limit: 2 * time.Minute},
	{doc: readme, command: "make serve", how: serves, says: "<html"},
	{doc: readme, command: "make serve DOOR=rest-api", how: serves, says: "<html"},

	{doc: readme, command: "make test", how: tested, by: "make cover"}, // the same tests, with the race detector
	{doc: readme, command: "make check", how: tested, by: "make check"},
	{doc: readme, command: "make independent", how: tested, by: "make independent"},
	{doc: readme, command: "make clients", how: tested, by: "make clients"},
	{doc: readme, command: "make emulator", how: tested, by: "make emulator"},
	{doc: readme, command: "make readme", how: tested, by: "make readme"},
	{doc: readme, command: "make console", how: tested, by: "make console"},
	{doc: readme, command: "make dashboard", how: tested, by: "make docs"},
	{doc: readme, command: "make cost", how: tested, by: "make docs"},
	{doc: readme, command: "make bench", how: tested, by: "make bench"},
	{doc: readme, command: "make coldstart", how: tested, by: "make coldstart"},
	{doc: readme, command: "make bench-peers", how: tested, by: "make bench-peers"},
	{doc: readme, command: "make proof", how: tested, by: "make proof"},
	{doc: readme, command: "make soak", how: tested, by: "idempotency.TestSoak"},
	{doc: modelled, command: "make model", how: tested, by: "make model"},
	{doc: modelled, command: ".ci/model quick", how: tested, by: "make model"},
	{doc: modelled, command: ".ci/model NAME...", how: tested, by: "make model"},
	{doc: modelled, command: ".ci/model trace NAME", how: tested, by: "make model"},
	{doc: readme, command: "aws dynamodb list-tables --endpoint-url http://" + printedAddr + " --region us-east-1", how: tested, by: "make clients"},
	{doc: readme, command: "DYNAMODB_LOCAL_DIR=/opt/dynamodb-local go test -count=1 ./...", how: tested, by: "localtest/internal/remote.TestOpen_Jar"},
	{doc: readme, command: "DYNAMODB_LOCAL_IMAGE=amazon/dynamodb-local:3.3.1 go test -count=1 ./...", how: tested, by: "localtest/internal/remote.TestOpen_Image"},

	{doc: readme, command: "sam build && sam deploy --guided", how: account},
	{doc: readme, command: `curl -i --aws-sigv4 "aws:amz:$REGION:execute-api" --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" ` +
		`${AWS_SESSION_TOKEN:+-H "X-Amz-Security-Token: $AWS_SESSION_TOKEN"} -H 'Content-Type: application/json' -H 'Idempotency-Key: k1' ` +
		`-d '{"order":"17","amount":4990,"currency":"EUR","card":"card_visa"}' "$URL"`, how: account},
	{doc: operating, command: `aws sqs receive-message --queue-url "$DEAD" --max-number-of-messages 10`, how: account},
	{doc: operating, command: `aws sqs start-message-move-task --source-arn "$DEAD_ARN"`, how: account},
	{doc: operating, command: `aws dynamodb get-item --table-name "$LEDGER" --key "{\"id\":{\"S\":\"$ROW\"}}" --query '{dynamodb:{NewImage:Item}}' > row.json`, how: account},
	{doc: operating, command: `aws sqs send-message --queue-url "$QUEUE" --message-body file://row.json`, how: account},

	{doc: clients, command: `Idempotency-Key: "8e03978e-40d5-43dd-bc93-6894a57f9324"`, how: printed, by: "lambda.TestParseKey"},
	{doc: clients, command: "openapi: 3.1.0", how: printed, by: "lambda.TestClientsPage"},
	{doc: "ARCHITECTURE.md", command: "lambda ──────────> idempotency ──> aws-sdk-go-v2 (aws, service/dynamodb, attributevalue)", how: printed, by: "make lint"},
}

// printedAddr is where the documents let a DynamoDB listen.
const printedAddr = "127.0.0.1:8000"

// notRun is what README says of commands for an account.
const notRun = "Not yet run on AWS"

// unheld compares the documents' commands with the holdings, both ways, and looks for what is to hold them.
func unheld(docs map[string]string, hs []held, exists func(by string) bool) (found []string) {
	stands := make([]bool, len(hs))
	for doc, content := range docs {
		for _, c := range commands(doc, content, func(line string) bool {
			return slices.ContainsFunc(hs, func(h held) bool { return h.how == printed && h.doc == doc && h.command == line })
		}) {
			i := slices.IndexFunc(hs, func(h held) bool { return h.doc == c.doc && h.command == c.text })
			if i < 0 {
				found = append(found, fmt.Sprintf("%s:%d: %s: nothing holds this command: table.go says how each is", c.doc, c.line, c.text))
				continue
			}
			stands[i] = true
			says := docs[readme]
			if doc == readme {
				says = section(content, c.line)
			}
			if hs[i].how == account && !strings.Contains(says, notRun) {
				found = append(found, fmt.Sprintf("%s:%d: %s: needs an account, and README does not say there %q", c.doc, c.line, c.text, notRun))
			}
		}
	}
	for i, h := range hs {
		if !stands[i] {
			found = append(found, fmt.Sprintf("table.go: %s: stands no longer in %s", h.command, h.doc))
		}
		if (h.how == tested || h.how == printed) && !exists(h.by) {
			found = append(found, fmt.Sprintf("table.go: %s: is held by %q, which is no make target that .ci/run comes to, and no Go test", h.command, h.by))
		}
	}
	slices.Sort(found)
	return found
}

// section returns the lines around the one with that number, from a heading of the second level to the next.
func section(content string, line int) string {
	lines := strings.Split(content, "\n")
	from, to := line-1, line
	for from > 0 && !strings.HasPrefix(lines[from], "## ") {
		from--
	}
	for to < len(lines) && !strings.HasPrefix(lines[to], "## ") {
		to++
	}
	return strings.Join(lines[from:to], "\n")
}
