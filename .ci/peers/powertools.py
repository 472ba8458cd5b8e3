"""Powertools for AWS Lambda (Python) as a worker: what it is told and what it answers is in worker.go."""

import json
import logging
import platform
import resource
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version

from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer, IdempotencyConfig, idempotent
from aws_lambda_powertools.utilities.idempotency.exceptions import IdempotencyValidationError
from botocore.config import Config

MOST_IN_FLIGHT = 16


class Context:
    """What Powertools asks of Lambda's context."""

    @staticmethod
    def get_remaining_time_in_millis():
        return 30_000


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Worker:
    def __init__(self, setup):
        self.event, self.answer = setup["event"], setup["answer"]
        self.charges = {}  # by the event's id
        self.running = threading.Lock()

        # One persistence layer and one client for all threads: both may be shared, and the client keeps 10 connections
        # unless it is told.
        @idempotent(
            persistence_store=DynamoDBPersistenceLayer(
                table_name=setup["table"], boto_config=Config(max_pool_connections=MOST_IN_FLIGHT)
            ),
            config=IdempotencyConfig(
                event_key_jmespath="id", payload_validation_jmespath="order", raise_on_no_idempotency_key=True
            ),
        )
        def handler(event, _context):
            return self.run(event)

        self.pay = handler

    def run(self, event):
        with self.running:
            if event["id"] in self.charges:
                sys.exit(f"{event['id']} has run before")
            charge = self.charges[event["id"]] = f"ch_{len(self.charges) + 1:012d}"
        return {**self.answer, "charge": charge}

    def prepare(self):
        self.pay(self.event, Context)
        order = self.event["order"]
        try:
            self.pay({**self.event, "order": {**order, "amount": order["amount"] + 1}}, Context)
            sys.exit("another request with the same key was not refused")
        except IdempotencyValidationError:
            pass
        python = platform.python_version()
        return {
            "library": "Powertools (Python)",
            "versions": f"{version('aws-lambda-powertools')}, Python {python}, boto3 {version('boto3')}",
        }

    def play(self, keys, operations, lanes, replay):
        answers, milliseconds = [None] * operations, [0.0] * operations
        before = len(self.charges)

        def lane(first):
            for i in range(first, operations, lanes):
                event = {**self.event, "id": f"{keys}{i:06d}"}
                began = time.perf_counter()
                answers[i] = self.pay(event, Context)
                milliseconds[i] = (time.perf_counter() - began) * 1e3

        cpu, began = cpu_seconds(), time.perf_counter()
        with ThreadPoolExecutor(lanes) as threads:
            list(threads.map(lane, range(lanes)))  # raises what a thread has raised
        seconds, cpu = time.perf_counter() - began, cpu_seconds() - cpu

        if len(self.charges) - before != (0 if replay else operations):
            sys.exit(f"{keys}: the handler has run {len(self.charges) - before} times")
        for i, answer in enumerate(answers):
            key = f"{keys}{i:06d}"
            if answer != {**self.answer, "charge": self.charges[key]}:
                sys.exit(f"{key} was answered {answer}")
        return {"seconds": seconds, "cpuSeconds": cpu, "milliseconds": milliseconds}


def main():
    logging.disable(logging.CRITICAL)  # the refusal that is asked for is no news
    worker = Worker(json.loads(sys.stdin.readline()))
    print(json.dumps(worker.prepare()), flush=True)
    for line in sys.stdin:
        print(json.dumps(worker.play(**json.loads(line))), flush=True)


main()
