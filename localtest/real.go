package localtest

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"

	"github.com/oncekey/oncekey/localtest/internal/dynamo"
	"github.com/oncekey/oncekey/localtest/internal/remote"
)

// asked is the real DynamoDB that the environment asks for, nil if it asks for none. It is looked up when the package
// is loaded: what is made later may belong to the synctest bubble of whoever calls first.
var asked = remote.New(os.Getenv)

// realDB is asked, open. It is nil where the embedded database serves.
func realDB(tb TB) *remote.Remote {
	tb.Helper()
	for _, variable := range remote.Variables {
		_ = os.Getenv(variable) // go test keeps results by what a test has read, and not by what was read before it
	}
	if asked == nil {
		return nil
	}
	if err := asked.Open(); err != nil {
		tb.Fatalf("localtest: %v", err)
	}
	return asked
}

// OnlyEmbedded skips a test that takes what a real database cannot do, which is to be named: "the bill", say. Where
// [Start] gives the embedded one it does nothing. Call it outside of synctest.Test, which passes where its function
// skips.
func OnlyEmbedded(tb TB, what string) {
	tb.Helper()
	if realDB(tb) == nil {
		return
	}
	if t, ok := tb.(interface{ Skipf(string, ...any) }); ok {
		t.Skipf("localtest: %s: only on the embedded DynamoDB", what)
	}
	tb.Fatalf("localtest: %s: only on the embedded DynamoDB, not with %s", what, asked.Name)
}

// request is one that is read, and its text.
type request struct {
	*dynamo.Request
	operation string
	body      []byte
}

func (db *DB) parse(operation string, body []byte) request {
	return request{db.engine.Parse(operation, body), operation, body}
}

// carryOut asks the database. A request that has arrived is carried out, whether or not its caller still waits. The
// error says that there was no answer.
func (db *DB) carryOut(r request) (answer, error) {
	if db.real == nil {
		return answer{Reply: db.engine.Apply(r.Request)}, nil
	}
	reply, err := db.real.Send(r.operation, r.body)
	if err != nil {
		return answer{}, err
	}
	a := answer{Reply: dynamo.Reply{Status: reply.Status, Body: reply.Body}, header: http.Header{}}
	for _, name := range []string{"Content-Type", "X-Amzn-Requestid", "X-Amz-Crc32"} {
		if values := reply.Header.Values(name); len(values) > 0 {
			a.header[name] = values
		}
	}
	if reply.Status != http.StatusOK {
		a.Code = code(reply.Body)
		return a, nil
	}
	switch r.operation {
	case "CreateTable", "DeleteTable", "UpdateTimeToLive":
		db.engine.Apply(r.Request) // what the log and Sweep have to know
	}
	return a, nil
}

// code is that of an error's body.
func code(body []byte) string {
	var e struct {
		Type string `json:"__type"`
	}
	_ = json.Unmarshal(body, &e) // a body that is none has no code
	_, name, found := strings.Cut(e.Type, "#")
	if !found {
		name = e.Type
	}
	if name == "" {
		return "Unknown"
	}
	return name
}
