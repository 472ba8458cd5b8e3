"""The server as a program: how it starts, what it does with plain HTTP, and how it ends."""

import contextlib
import http.client
import signal
import socket
import subprocess
import time

from checks import equal, within
from server import Server

HEADERS = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": "DynamoDB_20120810.ListTables"}
NO_TABLES = b'{"TableNames":[]}'


def play(checks, executable):
    with Server(executable) as server:
        with checks("server: a second one on the same port says so and fails"):
            second = subprocess.run(
                [executable, "-addr", "{}:{}".format(*server.address)], capture_output=True, text=True, timeout=10
            )
            equal(second.returncode, 1)
            within("address {}:{} is taken by another process".format(*server.address), second.stderr)
            equal(second.stdout, "")
        with checks("server: a body that comes after 100 Continue"), connect(server) as (connection, answer):
            connection.sendall(head("HTTP/1.1", 2, "Expect: 100-continue", "Connection: close"))
            equal(answer.readline() + answer.readline(), b"HTTP/1.1 100 Continue\r\n\r\n")
            connection.sendall(b"{}")
            equal(answer.read().split(b"\r\n\r\n")[1:], [NO_TABLES])
        with checks("server: HTTP/1.0"), connect(server) as (connection, answer):
            connection.sendall(head("HTTP/1.0", 2) + b"{}")
            equal(answer.read().split(b"\r\n\r\n")[1:], [NO_TABLES])
        with checks("server: many requests on one connection"):
            connection = http.client.HTTPConnection(*server.address, timeout=10)
            for _ in range(100):
                connection.request("POST", "/", "{}", HEADERS)
                equal(connection.getresponse().read(), NO_TABLES)
            connection.close()

    for number in signal.SIGINT, signal.SIGTERM:
        with checks(f"server: {number.name} ends it, with a connection idle and a request half sent"):
            ends(executable, number)


@contextlib.contextmanager
def connect(server):
    with socket.create_connection(server.address, timeout=10) as connection, connection.makefile("rb") as answer:
        yield connection, answer


def head(version, length, *more):
    """A request's, up to its body."""
    lines = [f"POST / {version}", "Host: localhost", f"Content-Length: {length}", *more]
    lines += [f"{name}: {value}" for name, value in HEADERS.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def ends(executable, number):
    """Exit code 0, at once, and not a word."""
    with Server(executable) as server:
        idle = http.client.HTTPConnection(*server.address, timeout=10)
        idle.request("POST", "/", "{}", HEADERS)
        idle.getresponse().read()
        with connect(server) as (connection, _):
            connection.sendall(head("HTTP/1.1", 100) + b"{")
            time.sleep(0.1)  # it is being read
            began = time.monotonic()
            server.process.send_signal(number)
            equal(server.process.wait(timeout=10), 0)
            took = time.monotonic() - began
        idle.close()
        if took > 2:
            raise AssertionError(f"it took {took:.1f} s")
        equal(server.process.stdout.read(), "")
