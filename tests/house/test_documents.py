"""What the documents name is there, and the README's map of the code is short."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
MADE = {"models", "corpora", ".venv", "org"}
"""First parts of paths that are not in the repository: a user makes them."""
PATH = re.compile(r"`((?:[\w.-]+/)+[\w.*-]*)`|\]\(((?!https?:)[^)#]+)\)")


def named_paths(text: str) -> list[str]:
    """Paths in backticks with a slash in them, and targets of links."""
    return [quoted or linked for quoted, linked in PATH.findall(text)]


def missing(document: Path, root: Path) -> list[str]:
    """Paths that a document names and that are not there, from the root or beside the document."""
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


def absent_tests(text: str) -> list[str]:
    """Tests that a text names, and that are not in the file that it names."""
    named = NAMED_TEST.findall(text)
    files = {path: ROOT / path for path, _ in named}
    sources = {path: file.read_text(encoding="utf-8") if file.exists() else "" for path, file in files.items()}
    return [f"{path}::{test}" for path, test in named if f"def {test}(" not in sources[path]]


def test_each_promise_has_a_test_that_is_there() -> None:
    text = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    promises = [line for line in section(text, "What you may expect of it") if line.startswith("|")][2:]
    assert len(promises) > 12
    assert [line for line in promises if not NAMED_TEST.search(line)] == []
    assert absent_tests(text) == []


def test_a_promise_without_its_test_is_seen() -> None:
    text = "| `tests/house/test_documents.py::test_gone` | `tests/gone.py::test_x` |"
    assert absent_tests(text) == ["tests/house/test_documents.py::test_gone", "tests/gone.py::test_x"]


def section(text: str, title: str) -> list[str]:
    """The lines of a section, its heading among them, without blank lines at its end."""
    _, heading, rest = text.partition(f"## {title}\n")
    body = rest.partition("\n## ")[0]
    return f"{heading}{body}".rstrip().splitlines()


def test_the_map_of_the_code_is_short() -> None:
    lines = section((ROOT / "README.md").read_text(encoding="utf-8"), "Where things are")
    assert 10 <= len(lines) <= 20
    for folder in ("bertviz_core", "ui", "pages", "tests", "docs"):
        assert any(f"`{folder}/" in line for line in lines), folder


def test_a_section_ends_at_the_next() -> None:
    text = "# A\n\n## Where things are\n\nhere\n\n## Next\n\nthere\n"
    assert section(text, "Where things are") == ["## Where things are", "", "here"]
