"""The type checker that tests apply to every function of the library: array shapes and Python types."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from beartype import BeartypeConf, BeartypeDecorPlace, beartype
from beartype.claw import beartype_package
from jaxtyping import config, install_import_hook

ROOT = Path(__file__).resolve().parents[2]

# The innermost decorator, since others replace the function, as `@question` does. Types of variables are mypy's part.
CONFIG = BeartypeConf(is_pep484_tower=True, claw_is_pep526=False, claw_decor_place_func=BeartypeDecorPlace.FIRST)
FIRST = pytest.StashKey[bool]()
"""Whether an item is the first example of its test that runs."""
_checks: dict[tuple[Any, ...], Any] = {}
"""Signature of an inner function -> its check."""


def check_package(name: str) -> None:
    """Check the types in every module of a package that is imported from now on, and shapes where a module has arrays.

    jaxtyping binds the arguments of each call anew to compare the shapes, so only modules with arrays pay for it. So do
    public methods, which check their arguments before jaxtyping does, and types that are imported for mypy alone, which
    it ignores. No array passes through the lazy imports, which are looked up at every step of a computation.
    """
    beartype_package(name, conf=CONFIG)
    texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / name).rglob("*.py")}
    paths = [path for path, text in texts.items() if "jaxtyping" in text or "TYPE_CHECKING" in text]
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths} - {f"{name}.lazy_imports"}
    install_import_hook([*modules, f"{name}.api"], "tests.helpers.shape_checks.checked")


def checked(function: Any) -> Any:
    """Add checks of arguments or of the result to a function; a whole number counts as a float (PEP 484).

    jaxtyping passes two functions without a body: one with the parameters, which is called first and binds the sizes of
    their arrays, and one that has the result, too, of which that alone is left to check. Those of an inner function are
    passed again in every call of the outer one, so their checks are cached. Defaults are the inner function's own.
    """
    hints = function.__annotations__
    if hints.get("return", Any) is not Any:
        function.__annotations__ = hints = {"return": hints["return"]}
    if "<locals>" not in function.__qualname__:
        return beartype(function, conf=CONFIG)
    code = function.__code__
    names = function.__module__, function.__qualname__, code.co_code, code.co_varnames, code.co_argcount
    # Annotations of arrays are created anew each time, so they are compared by their text.
    defaults = len(function.__defaults__ or ()), *(function.__kwdefaults__ or ())
    signature = (*names, repr(hints), defaults)
    if signature not in _checks:
        _checks[signature] = beartype(function, conf=CONFIG)
    return _checks[signature]


def mark_first_examples(items: Iterable[pytest.Item]) -> None:
    """Mark the first example of every test that `make test` runs."""
    recorded = set()
    for item in items:
        if not item.get_closest_marker("slow"):
            name = item.nodeid.partition("[")[0]
            item.stash[FIRST] = name not in recorded
            recorded.add(name)


def choose_checks(item: pytest.Item) -> None:
    """Check shapes in the first example of a test and, in `make test`, leave them out in the others.

    They run the same code with another model or text, and the checks take a third of their time.
    """
    every = "not slow" not in item.config.option.markexpr
    config.update("jaxtyping_disable", not (every or item.stash.get(FIRST, True)))
