"""boto3 against the server."""

from decimal import Decimal

import boto3
from boto3.dynamodb.conditions import Attr, Key
from botocore.config import Config
from botocore.exceptions import ClientError
from checks import equal

TABLE = "python"


def play(checks, server):
    settings = {
        "endpoint_url": server.endpoint,
        "region_name": "us-east-1",
        "aws_access_key_id": "local",
        "aws_secret_access_key": "local",
        "config": Config(connect_timeout=5, read_timeout=10, retries={"total_max_attempts": 1}),
    }
    client = boto3.client("dynamodb", **settings)
    table = boto3.resource("dynamodb", **settings).Table(TABLE)

    with checks("boto3: create a table and wait for it"):
        client.create_table(
            TableName=TABLE,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[
                {"AttributeName": "id", "AttributeType": "S"},
                {"AttributeName": "line", "AttributeType": "N"},
            ],
            KeySchema=[
                {"AttributeName": "id", "KeyType": "HASH"},
                {"AttributeName": "line", "KeyType": "RANGE"},
            ],
        )
        client.get_waiter("table_exists").wait(TableName=TABLE, WaiterConfig={"Delay": 1, "MaxAttempts": 5})

    with checks("boto3: list tables, page by page"):
        pages = client.get_paginator("list_tables").paginate(PaginationConfig={"PageSize": 1})
        equal([name for page in pages for name in page["TableNames"]], [TABLE])

    item = {"id": {"S": "o1"}, "line": {"N": "1"}, "amount": {"N": "4990"}}
    once = {"ConditionExpression": "attribute_not_exists(id)", "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    with checks("boto3: a put under a condition, which fails the second time and shows the item"):
        client.put_item(TableName=TABLE, Item=item, **once)
        failure = refused(client.put_item, "ConditionalCheckFailedException", TableName=TABLE, Item=item, **once)
        equal(failure["Item"], item)

    with checks("boto3: update an item"):
        updated = client.update_item(
            TableName=TABLE,
            Key={"id": {"S": "o1"}, "line": {"N": "1"}},
            UpdateExpression="SET amount = amount + :more, #s = :state",
            ConditionExpression="amount = :seen",
            ExpressionAttributeNames={"#s": "status"},
            ExpressionAttributeValues={":more": {"N": "10"}, ":seen": {"N": "4990"}, ":state": {"S": "paid"}},
            ReturnValues="ALL_NEW",
        )
        equal(updated["Attributes"], {**item, "amount": {"N": "5000"}, "status": {"S": "paid"}})
    with checks("boto3: get an item"):
        got = client.get_item(
            TableName=TABLE, Key={"id": {"S": "o1"}, "line": {"N": "1"}}, ConsistentRead=True,
            ProjectionExpression="amount", ReturnConsumedCapacity="TOTAL",
        )
        equal(got["Item"], {"amount": {"N": "5000"}})
        equal(got["ConsumedCapacity"], {"TableName": TABLE, "CapacityUnits": 1.0})

    with checks("boto3: every type there and back, in a batch"):
        types = {
            "text": "ä \u2028 \U0001f600 <&>", "number": Decimal("-1.5E-20"), "binary": b"\x00\xff", "yes": True,
            "nothing": None, "list": [Decimal(1), "two", {"three": [Decimal(3)]}],
            "strings": {"a", "b"}, "numbers": {Decimal(1), Decimal("2.5")}, "binaries": {b"a", b"b"},
        }
        with table.batch_writer() as batch:
            for line in range(2, 40):
                batch.put_item(Item={"id": "o1", "line": line, "amount": line, **types})
        got = table.get_item(Key={"id": "o1", "line": 39})["Item"]
        equal(got, {"id": "o1", "line": Decimal(39), "amount": Decimal(39), **types})
    with checks("boto3: query with a key condition and a filter"):
        found = table.query(
            KeyConditionExpression=Key("id").eq("o1") & Key("line").between(1, 20),
            FilterExpression=Attr("amount").gte(18),
            ScanIndexForward=False,
        )
        equal([i["line"] for i in found["Items"]], [20, 19, 18, 1])
    with checks("boto3: scan, page by page"):
        pages = client.get_paginator("scan").paginate(TableName=TABLE, PaginationConfig={"PageSize": 7})
        equal(sum(page["Count"] for page in pages), 39)

    with checks("boto3: a cancelled transaction gives its reasons"):
        failure = refused(
            client.transact_write_items, "TransactionCanceledException",
            TransactItems=[
                {"Put": {"TableName": TABLE, "Item": {"id": {"S": "o2"}, "line": {"N": "1"}}}},
                {"ConditionCheck": {
                    "TableName": TABLE, "Key": {"id": {"S": "o1"}, "line": {"N": "1"}},
                    "ConditionExpression": "amount < :limit", "ExpressionAttributeValues": {":limit": {"N": "100"}},
                    "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
                }},
            ],
        )
        reasons = failure["CancellationReasons"]
        equal([r["Code"] for r in reasons], ["None", "ConditionalCheckFailed"])
        equal(reasons[1]["Item"]["amount"], {"N": "5000"})

    with checks("boto3: time to live"):
        live = {"AttributeName": "expiration", "Enabled": True}
        told = client.update_time_to_live(TableName=TABLE, TimeToLiveSpecification=live)
        equal(told["TimeToLiveSpecification"], live)
        told = client.describe_time_to_live(TableName=TABLE)["TimeToLiveDescription"]
        equal(told["AttributeName"], "expiration")

    with checks("boto3: delete the table and wait for its end"):
        client.delete_table(TableName=TABLE)
        client.get_waiter("table_not_exists").wait(TableName=TABLE, WaiterConfig={"Delay": 1, "MaxAttempts": 5})
    with checks("boto3: a table that is not there is an exception of its own"):
        refused(client.describe_table, "ResourceNotFoundException", TableName=TABLE)


def refused(call, code, **arguments):
    """Makes the call and returns the error's document."""
    try:
        answer = call(**arguments)
    except ClientError as error:
        equal(error.response["Error"]["Code"], code)
        equal(type(error).__name__, code)  # the SDK has found the modelled type
        return error.response
    raise AssertionError(f"got  {answer}\nwant {code}")
