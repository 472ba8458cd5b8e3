"""How checks are written and reported."""

import contextlib
import sys


class Checks:
    """Counts what is wrong."""

    def __init__(self):
        self.wrong = 0

    @contextlib.contextmanager
    def __call__(self, what):
        """One check: wrong if its block raises anything. The ones that follow are done all the same."""
        try:
            yield
        except Exception as problem:  # whatever a client raises is a finding
            self.wrong += 1
            text = f"{type(problem).__name__}: {problem}"
            print(f"WRONG {what}\n      " + text.replace("\n", "\n      "))
        else:
            print(f"ok    {what}")
        sys.stdout.flush()


def equal(got, want):
    if got != want:
        raise AssertionError(f"got  {got!r}\nwant {want!r}")


def within(part, text):
    if part not in text:
        raise AssertionError(f"got  {text!r}\nwant {part!r} in it")
