"""The version is in one file, which the package's build reads and everything else imports."""

import ast
import tomllib
from pathlib import Path

import bertviz_core
from bertviz_core import version

ROOT = Path(__file__).parents[1]


def imported_from_the_top(tree: ast.AST) -> list[str]:
    """Public names that a module imports from the package, which is above all of its modules."""
    return [
        each.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "bertviz_core" and not node.level
        for each in node.names
        if each.name in bertviz_core.__all__
    ]


def test_the_build_reads_the_file_and_the_library_hands_it_out() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["version"]
    assert ROOT / build["path"] == Path(version.__file__)
    assert bertviz_core.__version__ == version.__version__
    assert [int(part) for part in version.__version__.split(".")]


def test_no_module_of_the_library_imports_from_above_itself() -> None:
    assert imported_from_the_top(ast.parse("from bertviz_core import __version__\nimport bertviz_core.text"))
    found = {
        path.relative_to(ROOT).as_posix(): imported_from_the_top(ast.parse(path.read_text(encoding="utf-8")))
        for path in (ROOT / "bertviz_core").rglob("*.py")
    }
    assert {path: names for path, names in found.items() if names} == {}
