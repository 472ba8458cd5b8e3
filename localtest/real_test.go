package localtest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/oncekey/oncekey/localtest"
)

// suite is a run of this package's tests in a process of its own, on the DynamoDB of the variables.
func suite(t *testing.T, tests string, variables ...string) (output string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run="+tests)
	cmd.Env = append(os.Environ(), variables...)
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// The same tests on another DynamoDB: here an embedded one behind a URL.
func TestReal_SameTests(t *testing.T) {
	t.Parallel()
	db := localtest.Start(t)
	localtest.OnlyEmbedded(t, "it is the other one already")
	url := db.Listen(t)
	output, err := suite(t, "^(TestFaults|TestFault_|TestSweep|TestCreateTable|TestLate|TestCalls|TestStart)", "LOCALTEST_DYNAMODB="+url)
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for _, want := range []string{"--- PASS: TestFaults/ReplyLost", "--- PASS: TestSweep_", "--- SKIP: TestCalls_Bill ", "localtest: the bill: only on the embedded DynamoDB"} {
		if !strings.Contains(output, want) {
			t.Errorf("no %q in\n%s", want, output)
		}
	}
	made, gone := len(db.Calls("CreateTable")), len(db.Calls("DeleteTable"))
	if made == 0 || made != gone {
		t.Errorf("%d tables were made, %d deleted", made, gone)
	}
	if n := len(db.Calls("UpdateTimeToLive")); n != 0 {
		t.Errorf("time to live was asked for %d times: the database would delete by its own clock", n)
	}
}

// A DynamoDB that is asked for and missing fails every test that needs one: it is never another one instead.
func TestReal_Missing(t *testing.T) {
	t.Parallel()
	output, err := suite(t, "^TestCreateTable", "LOCALTEST_DYNAMODB=http://127.0.0.1:1", "DYNAMODB_LOCAL_DIR=", "DYNAMODB_LOCAL_IMAGE=")
	if err == nil || !strings.Contains(output, "--- FAIL: TestCreateTable_") || !strings.Contains(output, "LOCALTEST_DYNAMODB=http://127.0.0.1:1 does not answer") {
		t.Errorf("%v\n%s", err, output)
	}
}
