"""Checks the embedded server with clients that are not written in Go, and as a program. Prints a line a check."""

import argparse
import signal
import subprocess
import sys
import time

import commandline
import program
import python
from checks import Checks
from server import Server, environment

LIMIT = 300  # seconds for all of it, which takes less than one minute


def interrupted(number, _frame):
    """Ends the run by an exception, so that everything that was started is ended too."""
    if number == signal.SIGALRM:
        sys.exit(f"clients: not done within {LIMIT} s")
    sys.exit(f"clients: interrupted by signal {number}")


def javascript(checks, server, script):
    """The script prints lines like those here. The warnings are the SDK's, about releases of Node.js to come."""
    ended = subprocess.run(["node", "--no-warnings", script], env=environment(server), timeout=60)
    if ended.returncode != 0:
        checks.wrong += 1


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--server", required=True, help="the executable of the embedded server")
    options.add_argument("--javascript", help="the script that uses the SDK for JavaScript")
    options = options.parse_args()
    for number in signal.SIGALRM, signal.SIGTERM, signal.SIGHUP, signal.SIGINT:
        signal.signal(number, interrupted)
    signal.alarm(LIMIT)

    began = time.monotonic()
    checks = Checks()
    with Server(options.server) as server:
        python.play(checks, server)
        commandline.play(checks, server)
        if options.javascript:
            javascript(checks, server, options.javascript)
    program.play(checks, options.server)
    print(f"It took {time.monotonic() - began:.1f} s.")
    if checks.wrong:
        sys.exit(f"clients: {checks.wrong} checks are wrong")


main()
