"""The AWS CLI against the server, with those calls among them that the README shows."""

import json
import pathlib
import subprocess
import sys
import time

from checks import equal, within
from server import environment

TABLE = "commandline"
KEY = '{"id":{"S":"o1"}}'
GUARD = ("--condition-expression", "attribute_not_exists(id)", "--return-values-on-condition-check-failure", "ALL_OLD")


def play(checks, server):
    program = pathlib.Path(sys.executable).with_name("aws")

    def run(*arguments):
        return subprocess.run(
            [sys.executable, program, "--output", "json", "dynamodb", *arguments],
            env=environment(server), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30,
        )

    def aws(*arguments):
        ended = run(*arguments)
        if ended.returncode != 0:
            raise AssertionError(f"exit code {ended.returncode}: {ended.stderr.strip()}")
        return json.loads(ended.stdout) if ended.stdout.strip() else None

    def refused(*arguments):
        ended = run(*arguments)
        if ended.returncode == 0:
            raise AssertionError(f"got {ended.stdout.strip()}, want an error")
        return ended.stderr

    with checks("AWS CLI: create-table, wait table-exists"):
        aws("create-table", "--table-name", TABLE, "--billing-mode", "PAY_PER_REQUEST",
            "--attribute-definitions", "AttributeName=id,AttributeType=S", "--key-schema", "AttributeName=id,KeyType=HASH")
        aws("wait", "table-exists", "--table-name", TABLE)
    with checks("AWS CLI: list-tables"):
        equal(aws("list-tables"), {"TableNames": [TABLE]})
    with checks("AWS CLI: put-item under a condition, which fails the second time"):
        aws("put-item", "--table-name", TABLE, "--item", '{"id":{"S":"o1"},"amount":{"N":"4990"}}', *GUARD)
        said = refused("put-item", "--table-name", TABLE, "--item", '{"id":{"S":"o1"}}', *GUARD)
        within("(ConditionalCheckFailedException)", said)
    with checks("AWS CLI: update-item"):
        told = aws("update-item", "--table-name", TABLE, "--key", KEY, "--update-expression", "SET amount = amount + :more",
                   "--expression-attribute-values", '{":more":{"N":"10"}}', "--return-values", "UPDATED_NEW")
        equal(told, {"Attributes": {"amount": {"N": "5000"}}})
    with checks("AWS CLI: get-item"):
        told = aws("get-item", "--table-name", TABLE, "--key", KEY, "--consistent-read")
        equal(told, {"Item": {"id": {"S": "o1"}, "amount": {"N": "5000"}}})
    with checks("AWS CLI: query"):
        told = aws("query", "--table-name", TABLE, "--key-condition-expression", "id = :id", "--filter-expression",
                   "amount > :least", "--expression-attribute-values", '{":id":{"S":"o1"},":least":{"N":"10"}}')
        equal([item["id"] for item in told["Items"]], [{"S": "o1"}])
    with checks("AWS CLI: a cancelled transact-write-items gives its reasons"):
        said = refused("transact-write-items", "--transact-items", json.dumps([
            {"Put": {"TableName": TABLE, "Item": {"id": {"S": "o2"}}}},
            {"Delete": {"TableName": TABLE, "Key": json.loads(KEY), "ConditionExpression": "attribute_not_exists(id)"}},
        ]))
        within("(TransactionCanceledException)", said)
        within("[None, ConditionalCheckFailed]", said)
    with checks("AWS CLI: update-time-to-live"):
        told = aws("update-time-to-live", "--table-name", TABLE, "--time-to-live-specification",
                   "Enabled=true,AttributeName=expiration")
        equal(told, {"TimeToLiveSpecification": {"Enabled": True, "AttributeName": "expiration"}})
    with checks("AWS CLI: delete-item under a condition"):
        aws("put-item", "--table-name", TABLE, "--item", '{"id":{"S":"o1"},"attempt":{"S":"t1"},"status":{"S":"UNKNOWN"}}')
        within("(ConditionalCheckFailedException)", refused(*settle("t2")))
        aws(*settle("t1"))
        equal(aws("get-item", "--table-name", TABLE, "--key", KEY, "--consistent-read"), None)
    with checks("AWS CLI: delete-table, wait table-not-exists"):
        aws("delete-table", "--table-name", TABLE)
        aws("wait", "table-not-exists", "--table-name", TABLE)
        equal(aws("list-tables"), {"TableNames": []})


def settle(token):
    """Deletes a record whose outcome is unknown, if it still has the token, as the README says."""
    values = {
        ":seen": {"S": token}, ":unknown": {"S": "UNKNOWN"}, ":inprogress": {"S": "INPROGRESS"},
        ":now": {"N": f"{int(time.time())}000"},
    }
    guard = "attempt = :seen AND (#s = :unknown OR (#s = :inprogress AND in_progress_expiration < :now))"
    return (
        "delete-item", "--table-name", TABLE, "--key", KEY, "--condition-expression", guard,
        "--expression-attribute-names", '{"#s":"status"}', "--expression-attribute-values", json.dumps(values),
    )
