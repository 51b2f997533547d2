"""Which test file covers a module: the one of its name in the mirrored folder, or one whose docstring names it."""

import re
from pathlib import Path

from tests.house.layout import python_files

WITHOUT_TESTS = ("results.py", "texts.py")
"""Declarations and texts, which are covered by the tests of their users."""
DOCSTRING = re.compile(r'"""(.*?)"""', re.DOTALL)
QUOTED = re.compile(r"`([\w./*-]+\.py)`")


def mirrored(module: Path) -> Path:
    """The test file for a module's name: tests have the folders of the sources, without that of the library."""
    folders = module.parts[1:-1] if module.parts[0] == "bertviz_core" else module.parts[:-1]
    return Path("tests", *folders, f"test_{module.stem}.py")


def named_modules(root: Path) -> dict[str, list[str]]:
    """Path or pattern in a docstring of a test file -> the test files."""
    named: dict[str, list[str]] = {}
    for path in sorted((root / "tests").rglob("test_*.py")):
        docstring = DOCSTRING.match(path.read_text(encoding="utf-8"))
        for name in QUOTED.findall(docstring[1]) if docstring else ():
            named.setdefault(name, []).append(path.relative_to(root).as_posix())
    return named


def uncovered(root: Path) -> list[str]:
    """Modules without a test file, neither by name nor by docstring."""
    covered = {path.relative_to(root) for name in named_modules(root) for path in root.glob(name)}
    modules = [path.relative_to(root) for path in python_files(root)]
    return [
        module.as_posix()
        for module in modules
        if module.name not in WITHOUT_TESTS
        and not module.name.startswith("__")
        and module not in covered
        and not (root / mirrored(module)).exists()
    ]


def gone(root: Path) -> list[str]:
    """Paths in docstrings of test files that do not exist."""
    return [f"{name} in {', '.join(tests)}" for name, tests in named_modules(root).items() if not any(root.glob(name))]


def strays(root: Path) -> list[str]:
    """Folders of tests that mirror no folder of the sources and are not among the others allowed."""
    beside = {"browser", "fuzz", "helpers", "house", "image", "package"}
    folders = {path.parent.relative_to(root / "tests") for path in (root / "tests").rglob("test_*.py")}
    return sorted(
        folder.as_posix()
        for folder in folders
        if folder.parts and folder.parts[0] not in beside
        if not (root / folder).is_dir() and not (root / "bertviz_core" / folder).is_dir()
    )
