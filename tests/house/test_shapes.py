"""Shapes and types are checked at run time in every module of the library, without a list of modules."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest
from beartype.roar import BeartypeCallHintViolation
from jaxtyping import Float, TypeCheckError, jaxtyped

from bertviz_core.figures.base.style import theme_named
from bertviz_core.text import quoted
from tests.helpers.shape_checks import checked
from tests.house.layout import python_files

ROOT = Path(__file__).parents[2]
ENTRY = "bertviz_core.__main__"
"""The only module that does its work on import."""


def functions_of(module: ModuleType) -> list[FunctionType]:
    """Functions of a module whose annotations say more than any object."""
    functions = (each for each in vars(module).values() if isinstance(each, FunctionType))
    own = (each for each in functions if each.__module__ == module.__name__)
    return [each for each in own if not {Any, object}.issuperset(each.__annotations__.values())]


def test_every_module_of_the_library_is_checked() -> None:
    paths = [path.relative_to(ROOT) for path in python_files(ROOT) if path.is_relative_to(ROOT / "bertviz_core")]
    names = [".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in paths]
    functions = [each for name in names if name != ENTRY for each in functions_of(import_module(name))]
    assert len(functions) > 1_000
    # Both checkers wrap the function.
    assert [each.__qualname__ for each in functions if not hasattr(each, "__wrapped__")] == []
    assert not any(hasattr(each, "__wrapped__") for each in functions_of(import_module("ui.share")))


def test_shapes_are_checked_where_a_module_has_arrays() -> None:
    for path in python_files(ROOT / "bertviz_core"):
        if "jaxtyping" in path.read_text(encoding="utf-8"):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            spec = find_spec(name)
            assert spec is not None
            assert "jaxtyping" in type(spec.loader).__module__, name


def test_a_wrong_type_is_refused() -> None:
    for function in (theme_named, quoted):
        with pytest.raises(BeartypeCallHintViolation):
            function(3)  # type: ignore[arg-type]  # wrong on purpose


def test_an_inner_function_is_checked_by_its_own_signature_each_time() -> None:
    def made(shape: str, default: int | None) -> Any:
        @jaxtyped(typechecker=checked)
        def inner(rows: Float[np.ndarray, shape], count: int | None = default) -> int | None:  # type: ignore[valid-type]  # varies
            return count

        return inner

    for shape, size, default in (("a b", (2, 3), 1), ("a", (2,), None), ("a b", (2, 3), 2)):
        inner = made(shape, default)
        assert inner(np.zeros(size)) == default
        with pytest.raises(TypeCheckError):
            inner(np.zeros((1, 1, 1)))
        with pytest.raises(TypeCheckError):
            inner(np.zeros(size), "two")
