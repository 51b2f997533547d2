"""Shapes and types are checked at run time in every module of the library, without a list of them."""

from importlib.util import find_spec
from pathlib import Path

import pytest
from jaxtyping import TypeCheckError

from bertviz_core.figures.base.style import theme_named
from bertviz_core.text import quoted
from tests.house.layout import python_files

ROOT = Path(__file__).parents[2]
ENTRY = "bertviz_core.__main__"
"""The one module whose import is its work."""


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
