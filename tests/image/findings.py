"""One line a check, and an end at the first that fails."""

import sys


def say(what: str, result: object) -> None:
    """A line."""
    sys.stdout.write(f"{what:<46} {result}\n")
    sys.stdout.flush()


def demand(holds: object, what: str, result: object = "yes") -> None:
    """A line, if it holds.

    Raises:
        SystemExit: it does not.
    """
    if not holds:
        raise SystemExit(f"FAILED: {what}: {result}")
    say(what, result)
