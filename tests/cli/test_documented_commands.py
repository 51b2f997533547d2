"""Every command of the documents runs as it stands, or the line above it names what it needs.

Covers `README.md`, `docs/*.md`.
"""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.conftest import Command

ROOT = Path(__file__).parents[2]
DOCUMENTS = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
BLOCK = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRAM = "python -m bertviz_core "
OF_A_READER = re.compile(r"(?:^|\s)\.{0,2}/\w|\.(?:csv|parquet|jsonl|npy|txt)\b|\bcorpus (?:info|search)\b")
"""What names a file or folder of the reader's own; an output file is none."""


class Documented(NamedTuple):
    """A command in a document."""

    words: str
    """What follows the name of the program."""
    needs: str
    """The comment above it, of what it needs; empty where it runs as it stands."""


def documented(text: str) -> list[Documented]:
    """The commands in a document's blocks of code; a comment counts until the next blank line."""
    found = []
    for block in BLOCK.findall(text):
        needs = ""
        for line in block.splitlines():
            if not line.strip() or line.startswith("# "):
                needs = line.removeprefix("# ").strip()
            elif line.startswith(PROGRAM):
                found.append(Documented(line.removeprefix(PROGRAM), needs))
    return found


COMMANDS = [command for document in DOCUMENTS for command in documented(document.read_text(encoding="utf-8"))]
AS_THEY_STAND = list(dict.fromkeys(words for words, needs in COMMANDS if not needs))


def test_readme_has_five_commands_that_run_as_they_stand() -> None:
    commands = documented((ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(commands) == 5
    assert [needs for _, needs in commands if needs] == []


@pytest.mark.sample(1)
@pytest.mark.parametrize("words", AS_THEY_STAND)
def test_a_command_runs_as_it_stands(
    words: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = command(*shlex.split(words))
    assert done.returncode == 0, done.stderr
    *_, written = ["", *re.findall(r" -o (\S+)", words)]
    assert (tmp_path / written).stat().st_size > 0 if written else done.stdout.strip()


def test_a_command_with_a_file_of_the_reader_names_it() -> None:
    def own(words: str) -> bool:
        return bool(OF_A_READER.search(re.sub(r" -o \S+", "", words)))

    assert [words for words, needs in COMMANDS if own(words) and not needs] == []
    assert [words for words, needs in COMMANDS if needs and not own(words)] == [], "this one runs as it stands"


def test_a_comment_counts_until_the_next_blank_line() -> None:
    text = "```\n# a file\npython -m bertviz_core a x.csv\npython -m bertviz_core b\n\npython -m bertviz_core c\n```\n"
    assert documented(text) == [("a x.csv", "a file"), ("b", "a file"), ("c", "")]
