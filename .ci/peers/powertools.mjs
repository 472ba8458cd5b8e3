// Powertools for AWS Lambda (TypeScript) as a worker: what it is told and what it answers is in worker.go.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { IdempotencyConfig, IdempotencyValidationError, makeIdempotent } from "@aws-lambda-powertools/idempotency";
import { DynamoDBPersistenceLayer } from "@aws-lambda-powertools/idempotency/dynamodb";

const context = { getRemainingTimeInMillis: () => 30_000 };
const charges = new Map(); // by the event's id
let setup, pay;

async function handler(event) {
  assert.ok(!charges.has(event.id), `${event.id} has run before`);
  const charge = `ch_${String(charges.size + 1).padStart(12, "0")}`;
  charges.set(event.id, charge);
  return { ...setup.answer, charge };
}

const version = (name) => JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url))).version;

async function prepare(told) {
  setup = told;
  // One persistence layer and one client for all that is in flight: what belongs to a call is in an object of its own.
  pay = makeIdempotent(handler, {
    persistenceStore: new DynamoDBPersistenceLayer({ tableName: setup.table }),
    config: new IdempotencyConfig({
      eventKeyJmesPath: "id",
      payloadValidationJmesPath: "order",
      throwOnNoIdempotencyKey: true,
    }),
  });
  await pay(setup.event, context);
  const changed = { ...setup.event, order: { ...setup.event.order, amount: setup.event.order.amount + 1 } };
  await assert.rejects(pay(changed, context), IdempotencyValidationError);
  const [powertools, sdk] = ["@aws-lambda-powertools/idempotency", "@aws-sdk/client-dynamodb"].map(version);
  return {
    library: "Powertools (TypeScript)",
    versions: `${powertools}, Node.js ${process.versions.node}, AWS SDK ${sdk}`,
  };
}

async function play({ keys, operations, lanes, replay }) {
  const answers = new Array(operations);
  const milliseconds = new Array(operations);
  const before = charges.size;
  const lane = async (first) => {
    for (let i = first; i < operations; i += lanes) {
      const event = { ...setup.event, id: keys + String(i).padStart(6, "0") };
      const began = performance.now();
      answers[i] = await pay(event, context);
      milliseconds[i] = performance.now() - began;
    }
  };
  const cpu = process.cpuUsage();
  const began = performance.now();
  await Promise.all(Array.from({ length: lanes }, (_, first) => lane(first)));
  const seconds = (performance.now() - began) / 1e3;
  const { user, system } = process.cpuUsage(cpu);

  assert.equal(charges.size - before, replay ? 0 : operations, "runs of the handler");
  answers.forEach((answer, i) => {
    assert.deepEqual(answer, { ...setup.answer, charge: charges.get(keys + String(i).padStart(6, "0")) });
  });
  return { seconds, cpuSeconds: (user + system) / 1e6, milliseconds };
}

for await (const line of createInterface({ input: process.stdin })) {
  const told = JSON.parse(line);
  console.log(JSON.stringify(await (setup ? play(told) : prepare(told))));
}
