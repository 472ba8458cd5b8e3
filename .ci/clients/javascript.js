// The AWS SDK for JavaScript against the server that AWS_ENDPOINT_URL_DYNAMODB names. Prints a line for each check.
import assert from "node:assert/strict";
import * as dynamodb from "@aws-sdk/client-dynamodb";

const client = new dynamodb.DynamoDB();
const TableName = "javascript";
let wrong = 0;

async function check(what, body) {
  try {
    await body();
    console.log(`ok    JavaScript: ${what}`);
  } catch (problem) {
    wrong++;
    console.log(`WRONG JavaScript: ${what}\n      ${String(problem).replaceAll("\n", "\n      ")}`);
  }
}

const wait = { client, minDelay: 1, maxDelay: 1, maxWaitTime: 5 };
const item = { id: { S: "o1" }, amount: { N: "4990" } };

await check("create a table and wait for it", async () => {
  await client.createTable({
    TableName,
    BillingMode: "PAY_PER_REQUEST",
    AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" }],
    KeySchema: [{ AttributeName: "id", KeyType: "HASH" }],
  });
  await dynamodb.waitUntilTableExists(wait, { TableName });
  assert.deepEqual((await client.listTables()).TableNames, [TableName]);
});

await check("a put under a condition, which fails the second time and shows the item", async () => {
  const put = {
    TableName,
    Item: item,
    ConditionExpression: "attribute_not_exists(id)",
    ReturnValuesOnConditionCheckFailure: "ALL_OLD",
  };
  await client.putItem(put);
  await assert.rejects(client.putItem(put), (error) => {
    assert.ok(error instanceof dynamodb.ConditionalCheckFailedException);
    assert.deepEqual(error.Item, item);
    return true;
  });
});

await check("update, get and query", async () => {
  const updated = await client.updateItem({
    TableName,
    Key: { id: item.id },
    UpdateExpression: "SET amount = amount + :more",
    ExpressionAttributeValues: { ":more": { N: "10" } },
    ReturnValues: "UPDATED_NEW",
  });
  assert.deepEqual(updated.Attributes, { amount: { N: "5000" } });
  const got = await client.getItem({ TableName, Key: { id: item.id }, ConsistentRead: true });
  assert.deepEqual(got.Item, { id: item.id, amount: { N: "5000" } });
  const found = await client.query({
    TableName,
    KeyConditionExpression: "id = :id",
    ExpressionAttributeValues: { ":id": item.id },
  });
  assert.deepEqual(found.Items, [got.Item]);
});

await check("binary there and back", async () => {
  const data = { B: new Uint8Array([0, 255, 128]) };
  await client.putItem({ TableName, Item: { id: { S: "binary" }, data } });
  const got = await client.getItem({ TableName, Key: { id: { S: "binary" } } });
  assert.deepEqual(Uint8Array.from(got.Item.data.B), data.B);
});

await check("a cancelled transaction gives its reasons", async () => {
  const transaction = client.transactWriteItems({
    TransactItems: [
      { Put: { TableName, Item: { id: { S: "o2" } } } },
      {
        ConditionCheck: {
          TableName,
          Key: { id: item.id },
          ConditionExpression: "attribute_not_exists(id)",
          ReturnValuesOnConditionCheckFailure: "ALL_OLD",
        },
      },
    ],
  });
  await assert.rejects(transaction, (error) => {
    assert.ok(error instanceof dynamodb.TransactionCanceledException);
    assert.deepEqual(error.CancellationReasons.map((reason) => reason.Code), ["None", "ConditionalCheckFailed"]);
    assert.deepEqual(error.CancellationReasons[1].Item.id, item.id);
    return true;
  });
});

await check("time to live", async () => {
  const TimeToLiveSpecification = { AttributeName: "expiration", Enabled: true };
  const told = await client.updateTimeToLive({ TableName, TimeToLiveSpecification });
  assert.deepEqual(told.TimeToLiveSpecification, TimeToLiveSpecification);
});

await check("delete the table and wait for its end", async () => {
  await client.deleteTable({ TableName });
  await dynamodb.waitUntilTableNotExists(wait, { TableName });
});

client.destroy();
process.exitCode = wrong > 0 ? 1 : 0;
