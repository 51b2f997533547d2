"""Shapes and types are checked at run time in every module of the library, without a list of modules."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jaxtyping import Float, TypeCheckError, jaxtyped

from bertviz_core.figures.base.style import theme_named
from bertviz_core.text import quoted
from tests.helpers.shape_checks import checked
from tests.house.layout import python_files

ROOT = Path(__file__).parents[2]
ENTRY = "bertviz_core.__main__"
"""The only module that does its work on import."""


def unchecked(modules: list[str]) -> list[str]:
    """Modules that are not loaded through the hook of the shape checker."""
    loaders = {name: spec.loader for name in modules if (spec := find_spec(name)) is not None}
    return [name for name in modules if "jaxtyping" not in type(loaders[name]).__module__]


def test_every_module_of_the_library_is_checked() -> None:
    paths = [path.relative_to(ROOT) for path in python_files(ROOT) if path.is_relative_to(ROOT / "bertviz_core")]
    names = [".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in paths]
    assert len(names) > 100
    assert unchecked([name for name in names if name != ENTRY]) == []
    assert unchecked(["ui.session", "json"]) == ["ui.session", "json"]


def test_a_wrong_type_is_refused() -> None:
    for function in (theme_named, quoted):
        with pytest.raises(TypeCheckError):
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
