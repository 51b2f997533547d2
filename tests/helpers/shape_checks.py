"""The type checker that tests put behind every function of the library: shapes, and Python's own types."""

from typing import Any

from beartype import BeartypeConf, beartype

CONFIG = BeartypeConf(is_pep484_tower=True)
PLAIN = (type(None), bool, int, float, str)
"""Types of defaults that may be kept."""
_checks: dict[tuple[Any, ...], Any] = {}
"""Signature of an inner function -> the check of it."""


def checked(function: Any) -> Any:
    """The function, its arguments and result checked; a whole number counts as a float (PEP 484).

    jaxtyping hands over a function without a body, which has the signature of the one that is checked. That of an inner
    function comes again with every call of the outer one: its check is made once.
    """
    defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    if "<locals>" not in function.__qualname__ or not all(isinstance(each, PLAIN) for each in defaults):
        return beartype(function, conf=CONFIG)
    code = function.__code__
    names = function.__module__, function.__qualname__, code.co_code, code.co_varnames, code.co_argcount
    # Annotations of arrays are made anew each time, and are known by what they say.
    signature = (*names, repr(function.__annotations__), repr(defaults))
    if signature not in _checks:
        _checks[signature] = beartype(function, conf=CONFIG)
    return _checks[signature]
