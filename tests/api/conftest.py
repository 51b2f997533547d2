"""Fixtures of the tests of the public interface: a user's folder with a classifier and a corpus."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bertviz_core.cli import app
from tests.cli import conftest as commands
from tests.helpers.multi_vector import save_heads
from tests.helpers.tiny_heads import save_tiny_head
from tests.helpers.training_runs import save_run
from tests.helpers.written_adapters import write_adapter
from tests.pages.labels import NAMES, TAGS, named

NEWS = """text,topic
The cat sleeps on the sofa.,home
Interest rates rose again.,economy
A kitten naps on the couch.,home
The striker scored twice.,sport
Banks raised the price of credit.,economy
"""
PAIRS = (
    ("A cat sleeps.", "A kitten naps.", "1"),
    ("Rates rose.", "Credit costs more.", "1"),
    ("A cat sleeps.", "Rates rose.", "0"),
    ("The striker scored.", "A kitten naps.", "0"),
)
"""Labelled pairs of texts, the rows of pairs.csv."""
Printed = Callable[..., Any]
command, models_in_memory = commands.command, commands.models_in_memory
"""The fixtures of the command line's tests."""


@pytest.fixture
def printed(command: Callable[..., commands.Done]) -> Printed:
    """Run a command with --json, and return the printed object."""

    def call(*arguments: str) -> Any:
        done = command(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return call


@pytest.fixture(scope="session")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with models/my-classifier, my-tagger, my-reader and others, runs/my-run and corpora/news."""
    place = tmp_path_factory.mktemp("workplace")
    save_tiny_head("bert", "sequence-classification", place / "models" / "my-classifier", **named(*NAMES))
    save_tiny_head("bert", "token-classification", place / "models" / "my-tagger", **named(*TAGS))
    write_adapter(place / "models" / "my-adapter", "models/my-classifier", place / "models" / "my-classifier")
    save_tiny_head("bert", "question-answering", place / "models" / "my-reader")
    save_heads(place / "models" / "my-bge-m3")
    save_run(place / "runs" / "my-run")
    (place / "corpora").mkdir()
    (place / "news.csv").write_text(NEWS)
    rows = "\n".join(",".join(each) for each in PAIRS)
    (place / "pairs.csv").write_text(f"sentence1,sentence2,label\n{rows}\n")
    labelled = "\n".join(f"{pair[0]},{NAMES[place % 3]}" for place, pair in enumerate(PAIRS))
    (place / "labels.csv").write_text(f"text,label\n{labelled}\n")
    asked = "\n".join(f"Who?,{context},{answer}" for context, answer, _ in PAIRS)
    (place / "questions.csv").write_text(f"question,context,answer\n{asked}\n")
    (place / "tags.conll").write_text("the O\nbank B-LOC\nrose I-LOC\n\nmy O\npets B-PER\n")
    embed = ("corpus", "embed", "all-MiniLM-L6-v2", "news.csv", "-o", "corpora/news")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setattr(sys, "argv", ["bertviz_core", *embed])
        with pytest.raises(SystemExit) as end:
            app.main()
    assert not end.value.code
    return place


@pytest.fixture
def in_workplace(workplace: Path, models_in_memory: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same folder as the working directory, with the Hub switched off."""
    monkeypatch.setenv("INSIDE_BERT_ALLOW_HUB", "0")
    monkeypatch.chdir(workplace)
    return workplace
