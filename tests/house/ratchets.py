"""Count what the house has grown to: lines, files, what `ui` wires by itself, and the files that a click enters."""

import ast
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from streamlit.testing.v1 import AppTest

from tests.house.layout import SOURCES, python_files

CLICKS: Mapping[str, tuple[str, Mapping[str, str], Mapping[str, str]]] = {
    "sunburst to treemap": ("parameters", {}, {"form": "treemap"}),
    "similarity, clustered": ("sentences", {}, {"order": "clustered"}),
    "another head": ("attention", {}, {"layer": "2", "head": "3"}),
    "values of the layers": ("representations", {}, {"view": "Values"}),
}
"""Name of a click -> its page, and the address before and after it."""


class House(NamedTuple):
    """The size of the sources."""

    lines: int
    files: int
    figures: int
    """Figures that `ui` draws by itself instead of asking the question."""
    tables: int
    """Tables that `ui` builds by itself."""


def house(root: Path) -> House:
    """Count the sources; a figure that is imported in two places counts once."""
    files = [*python_files(root), *root.glob("app.py")]
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    nodes = [node for path in files if path.is_relative_to(root / "ui") for node in ast.walk(ast.parse(texts[path]))]
    drawn = {
        (node.module, each.name)
        for node in nodes
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bertviz_core.figures")
        for each in node.names
        if each.name.endswith("figure")
    }
    tables = [node for node in nodes if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "DataFrame"]
    return House(sum(len(text.splitlines()) for text in texts.values()), len(files), len(drawn), len(tables))


def entered_files(root: Path) -> dict[str, set[str]]:
    """Name of a click -> files of the sources whose functions it calls, once all that can be cached is cached."""
    return {name: _entered(root, *click) for name, click in CLICKS.items()}


def _entered(root: Path, page: str, before: Mapping[str, str], after: Mapping[str, str]) -> set[str]:
    _open(root, page, before)
    _open(root, page, after)
    with _recorded(root) as entered:
        _open(root, page, after)
    return {name for name in entered if name.startswith((*(f"{source}{os.sep}" for source in SOURCES), "app.py"))}


def _open(root: Path, page: str, query: Mapping[str, str]) -> None:
    at = AppTest.from_file(str(root / "ui" / "shell.py"), default_timeout=200)
    at.switch_page(f"../pages/{page}.py")
    for key, value in query.items():
        at.query_params[key] = value
    at.run()
    assert not at.exception, at.exception[0].value


@contextmanager
def _recorded(root: Path) -> Iterator[set[str]]:
    """The files of a folder whose functions the threads call that begin meanwhile."""
    entered: set[str] = set()
    prefix = f"{root}{os.sep}"

    def note(frame: object, event: str, _: object) -> None:
        code = frame.f_code  # type: ignore[attr-defined]
        if event == "call" and code.co_filename.startswith(prefix) and code.co_name != "<module>":
            entered.add(code.co_filename.removeprefix(prefix))

    threading.setprofile(note)
    try:
        yield entered
    finally:
        threading.setprofile(None)
