"""Paths in the documents exist, and the map of the code is short."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
MADE = {"models", "corpora", ".venv", "org", "negations"}
"""First parts of paths that are not in the repository, but created by users, and the name of the example run."""
PATH = re.compile(r"`((?:[\w.-]+/)+[\w.*-]*)`|\]\(((?!https?:)[^)#]+)\)")


def named_paths(text: str) -> list[str]:
    """Paths in backticks with a slash, and targets of links."""
    return [quoted or linked for quoted, linked in PATH.findall(text)]


def missing(document: Path, root: Path) -> list[str]:
    """Paths in a document that exist neither below the root nor next to the document."""
    found = []
    for name in named_paths(document.read_text(encoding="utf-8")):
        if name.removeprefix("./").partition("/")[0] in MADE:
            continue
        if not any(list(place.glob(name.rstrip("/"))) for place in (root, document.parent)):
            found.append(name)
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_path_exists(document: Path) -> None:
    assert missing(document, ROOT) == []


def test_a_path_that_is_gone_is_seen(tmp_path: Path) -> None:
    document = tmp_path / "a.md"
    document.write_text("See `bertviz_core/gone.py` and [here](docs/gone.md), not `models/my-bert`.")
    assert missing(document, ROOT) == ["bertviz_core/gone.py", "docs/gone.md"]


NAMED_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
LEFT = re.compile(r"\bmark\.(slow|sample)\b")
"""A decorator that leaves a test, or some of its examples, to `make test-all`."""


def asked_whole(file: Path) -> set[str]:
    """Names of the tests of a file that `make test` runs with every example."""
    body = ast.parse(file.read_text(encoding="utf-8")).body if file.exists() else []
    tests = [each for each in body if isinstance(each, ast.FunctionDef)]
    return {each.name for each in tests if not any(LEFT.search(ast.unparse(mark)) for mark in each.decorator_list)}


def not_asked(text: str) -> list[str]:
    """Tests named in a text that do not exist, or that `make test` does not run completely."""
    return [f"{path}::{test}" for path, test in NAMED_TEST.findall(text) if test not in asked_whole(ROOT / path)]


def test_each_promise_has_a_test_that_make_test_runs() -> None:
    text = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    promises = [line for line in section(text, "What you may expect of it") if line.startswith("|")][2:]
    assert len(promises) > 12
    assert [line for line in promises if not NAMED_TEST.search(line)] == []
    assert not_asked(text) == []


def test_a_promise_without_its_test_is_seen(tmp_path: Path) -> None:
    text = "| `tests/house/test_documents.py::test_gone` | `tests/gone.py::test_x` |"
    assert not_asked(text) == ["tests/house/test_documents.py::test_gone", "tests/gone.py::test_x"]
    file = tmp_path / "test_a.py"
    file.write_text(
        "@pytest.mark.slow\ndef test_a(): ...\n@pytest.mark.sample(3)\ndef test_b(): ...\ndef test_c(): ..."
    )
    assert asked_whole(file) == {"test_c"}


def section(text: str, title: str) -> list[str]:
    """The lines of a section with its heading, without blank lines at the end."""
    _, heading, rest = text.partition(f"## {title}\n")
    body = rest.partition("\n## ")[0]
    return f"{heading}{body}".rstrip().splitlines()


def test_the_map_of_the_code_is_short() -> None:
    lines = (ROOT / "docs" / "where-things-are.md").read_text(encoding="utf-8").rstrip().splitlines()
    assert 10 <= len(lines) <= 26
    for folder in ("bertviz_core", "ui", "pages", "tests", "docs"):
        assert any(f"`{folder}/" in line for line in lines), folder


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 700, "the rest stands in docs"


def test_a_section_ends_at_the_next() -> None:
    text = "# A\n\n## Where things are\n\nhere\n\n## Next\n\nthere\n"
    assert section(text, "Where things are") == ["## Where things are", "", "here"]
