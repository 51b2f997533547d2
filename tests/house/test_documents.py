"""What the documents name is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
MADE = {"models", ".venv", "org"}
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
