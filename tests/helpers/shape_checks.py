"""The type checker that tests put behind every function of the library: shapes, and Python's own types."""

from typing import Any

from beartype import BeartypeConf, beartype


def checked(function: Any) -> Any:
    """The function, its arguments and result checked; a whole number counts as a float (PEP 484)."""
    return beartype(function, conf=BeartypeConf(is_pep484_tower=True))
