"""Print one line per check, and exit at the first failure."""

import sys


def say(what: str, result: object) -> None:
    """Print a line."""
    sys.stdout.write(f"{what:<46} {result}\n")
    sys.stdout.flush()


def demand(holds: object, what: str, result: object = "yes") -> None:
    """Print a line if a condition holds.

    Raises:
        SystemExit: it does not hold.
    """
    if not holds:
        raise SystemExit(f"FAILED: {what}: {result}")
    say(what, result)
