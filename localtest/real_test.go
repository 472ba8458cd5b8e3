package localtest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/oncekey/oncekey/localtest"
)

// suite is a run of this package's tests in a process of its own, on the DynamoDB of the variables.
func suite(t *testing.T, flags []string, variables ...string) (output string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append(flags, "-test.v")...)
	cmd.Env = append(os.Environ(), variables...)
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// The same tests on another DynamoDB, here an embedded one behind a URL: all of this package's but for those of the
// local Lambda, which it makes no difference to.
func TestReal_SameTests(t *testing.T) {
	t.Parallel()
	localtest.OnlyEmbedded(t, "it is the other one already")
	db := localtest.Start(t)
	flags := []string{"-test.run=^Test", "-test.skip=^Test(Real|StartFunction|Function|FrontDoor|Handler|Deliver|Now)"}
	output, err := suite(t, flags, "LOCALTEST_DYNAMODB="+db.Listen(t))
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for _, want := range []string{
		"--- PASS: TestFaults/ReplyLost", "--- PASS: TestSweep_", "--- PASS: TestAppliedLate_", "--- PASS: TestClient_", "--- PASS: TestConcurrent_",
		"--- PASS: TestListen_", "--- PASS: TestReach_", "--- SKIP: TestCalls_Bill ", "localtest: the bill: only on the embedded DynamoDB",
	} {
		if !strings.Contains(output, want) {
			t.Errorf("no %q in\n%s", want, output)
		}
	}
	made, gone := len(db.Calls("CreateTable")), len(db.Calls("DeleteTable"))
	if tables, err := db.Client().ListTables(t.Context(), &dynamodb.ListTablesInput{}); err != nil || made == 0 || gone == 0 || len(tables.TableNames) != 0 {
		t.Errorf("%d tables were made, %d deleted; left are %v, %v", made, gone, tables, err)
	}
	if n := len(db.Calls("UpdateTimeToLive")); n != 0 {
		t.Errorf("time to live was asked for %d times: the database would delete by its own clock", n)
	}
}

// The reply to a CreateTable gets lost: the table is the test's own all the same, and goes at its end.
func TestReal_CreateTableReplyLost(t *testing.T) {
	t.Parallel()
	localtest.OnlyEmbedded(t, "it is the other one already")
	db := localtest.Start(t)
	db.Inject(localtest.Fault{Operation: "CreateTable", Kind: localtest.ReplyLost})
	output, err := suite(t, []string{"-test.run=^TestCalls_KeysOfChangedTables$"}, "LOCALTEST_DYNAMODB="+db.Listen(t))
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if tables, err := db.Client().ListTables(t.Context(), &dynamodb.ListTablesInput{}); err != nil || len(tables.TableNames) != 0 {
		t.Errorf("left are %v, %v", tables, err)
	}
}

// A DynamoDB that is asked for and missing fails every test that needs one: it is never another one instead.
func TestReal_Missing(t *testing.T) {
	t.Parallel()
	output, err := suite(t, []string{"-test.run=^TestCreateTable"}, "LOCALTEST_DYNAMODB=http://127.0.0.1:1", "DYNAMODB_LOCAL_DIR=", "DYNAMODB_LOCAL_IMAGE=")
	if err == nil || !strings.Contains(output, "--- FAIL: TestCreateTable_") || !strings.Contains(output, "LOCALTEST_DYNAMODB=http://127.0.0.1:1 does not answer") {
		t.Errorf("%v\n%s", err, output)
	}
}
