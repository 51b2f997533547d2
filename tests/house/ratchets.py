"""Count what the house has grown to: lines, files, what `ui` wires by itself, and the files that a click enters."""

import ast
import os
import sys
import threading
from collections import Counter
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

    parts: Mapping[str, int]
    """Folder, or file of the root -> its lines."""
    kinds: Mapping[str, int]
    """Lines of docstrings and imports, and blank ones; the blank ones of a docstring count twice."""
    files: int
    figures: int
    """Figures that `ui` draws by itself instead of asking the question."""
    tables: int
    """Tables that `ui` builds by itself."""

    @property
    def lines(self) -> int:
        """All lines."""
        return sum(self.parts.values())

    def __str__(self) -> str:
        """Three lines."""
        parts, kinds = (", ".join(f"{name} {count:,}" for name, count in each.items()) for each in self[:2])
        return (
            f"production: {self.lines:,} lines in {self.files} files ({parts})\n"
            f"of these: {kinds}\n"
            f"figures that ui calls by itself instead of asking the question: {self.figures}; "
            f"tables that ui builds: {self.tables}"
        )


def house(root: Path) -> House:
    """Count the sources; a figure that is imported in two places counts once."""
    files = [*python_files(root), *root.glob("app.py")]
    parts, kinds, drawn, tables = Counter[str](), Counter[str](docstrings=0, imports=0, blank=0), set(), 0
    for path in files:
        lines = (text := path.read_text(encoding="utf-8")).splitlines()
        parts[path.relative_to(root).parts[0]] += len(lines)
        kinds["blank"] += sum(not line.strip() for line in lines)
        in_ui = path.is_relative_to(root / "ui")
        for node in ast.walk(ast.parse(text)):
            kinds[_kind(node)] += getattr(node, "end_lineno", 0) - getattr(node, "lineno", 0) + 1
            if in_ui and isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bertviz_core.figures"):
                drawn |= {(node.module, each.name) for each in node.names if each.name.endswith("figure")}
            tables += in_ui and isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "DataFrame"
    del kinds[""]
    return House(parts, kinds, len(files), len(drawn), tables)


def _kind(node: ast.AST) -> str:
    """The kind of lines that a node is, "" for code."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return "imports"
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return "docstrings" if is_text else ""


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


if __name__ == "__main__":
    sys.stdout.write(f"{house(Path(__file__).parents[2])}\n")
