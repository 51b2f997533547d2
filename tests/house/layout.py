"""Rules about folders, as functions that list violations."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

SOURCES = ("bertviz_core", "ui", "pages")
MOST_ENTRIES = 20
MORE_ENTRIES = {"bertviz_core": 26}
MOST_LINES = 600
MOST_INNER_IMPORTS = 14
"""Each says what must not wait for it: every figure, NumPy, an extra, the start of the server."""
VAGUE_NAMES = (
    {"found": 71}
    | dict.fromkeys(
        (
            "asked",
            "come_to",
            "given",
            "goes_on",
            "held",
            "kept",
            "meant",
            "said",
            "seen",
            "stands",
            "taken",
            "told",
            "wanted",
        ),
        0,
    )
    | {"meant": 1, "wanted": 1}
)  # names of version 1.0 (docs/compatibility.md)
"""Words that say nothing about the content of a name -> how many names may have them, in all sources."""


def python_files(root: Path) -> Iterator[Path]:
    """All source files except tests."""
    for source in SOURCES:
        yield from sorted(path for path in (root / source).rglob("*.py") if "__pycache__" not in path.parts)


def crowded_folders(root: Path) -> list[str]:
    """Folders with more than 20 entries; the root of the library has one per subject.

    py.typed, which declares annotations to type checkers, is not counted, since nobody reads it.
    """
    found = []
    for source in (*SOURCES, "benchmarks"):
        inner = (path for path in (root / source).rglob("*") if path.is_dir() and path.name != "__pycache__")
        for folder in [root / source, *inner]:
            entries = [path for path in folder.iterdir() if not path.name.startswith(("__", "py.typed"))]
            name = folder.relative_to(root).as_posix()
            if len(entries) > MORE_ENTRIES.get(name, MOST_ENTRIES):
                found.append(f"{name} has {len(entries)} entries")
    return found


def long_files(root: Path) -> list[str]:
    """Files over 600 lines, pages over 100."""
    found = []
    for path in python_files(root):
        count = len(path.read_text(encoding="utf-8").splitlines())
        if count > (100 if path.parent.name == "pages" else MOST_LINES):
            found.append(f"{path.relative_to(root)} has {count} lines")
    return found


class Names(NamedTuple):
    """What the rules ask of one file, read in one walk."""

    inner_imports: tuple[str, ...]
    """"line module" of each import inside a function."""
    vague: tuple[tuple[str, int], ...]
    """Word of VAGUE_NAMES and line of each variable, parameter and function that is called so."""


@cache
def names(path: Path) -> Names:
    """Walk a file once for all rules."""
    imports, vague = set(), []
    nodes = [(node, False) for node in ast.parse(path.read_text(encoding="utf-8")).body]
    while nodes:
        node, inside = nodes.pop()
        if inside:
            imports.update(f"{node.lineno} {name}" for name in _imported(node))
        if (name := _bound(node).strip("_").lower()) in VAGUE_NAMES:
            vague.append((name, node.lineno))
        within = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        nodes += [(child, within) for child in ast.iter_child_nodes(node)]
    return Names(tuple(sorted(imports)), tuple(sorted(vague)))


def inner_imports(root: Path) -> list[str]:
    """Imports of the project's own modules inside functions."""
    return sorted(
        f"{path.relative_to(root)}:{place}"
        for path in python_files(root)
        for place in names(path).inner_imports
        if place.partition(" ")[2].partition(".")[0] in SOURCES
    )


def _imported(node: ast.AST) -> list[str]:
    """The modules that a statement imports; a relative import counts as one of the project."""
    if isinstance(node, ast.ImportFrom):
        return [SOURCES[0] if node.level else str(node.module)]
    return [name.name for name in node.names] if isinstance(node, ast.Import) else []


def _bound(node: ast.AST) -> str:
    """The name that a node gives to a variable, a parameter or a function; "" for other nodes."""
    if isinstance(node, ast.Name):
        return node.id if isinstance(node.ctx, ast.Store) else ""
    if isinstance(node, ast.arg):
        return node.arg
    return node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else ""


def vague_names(root: Path) -> dict[str, list[str]]:
    """Word of VAGUE_NAMES -> where variables, parameters and functions are called so."""
    places: dict[str, list[str]] = {word: [] for word in VAGUE_NAMES}
    for path in python_files(root):
        for word, line in names(path).vague:
            places[word].append(f"{path.relative_to(root)}:{line}")
    return places
