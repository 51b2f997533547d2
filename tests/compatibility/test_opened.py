"""Addresses and lessons of version 1.0 open today, with their values, and a corpus of 1.0 is searched alike.

Covers `take_renamed` of `ui/address/registry.py`, and docs/compatibility.md.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from bertviz_core.figures.pages import PAGES
from tests.compatibility.promised import FIRST, full_query, opened
from ui.address.registry import NAMES, RENAMED, is_of_page, refused
from ui.lessons.library import View, lesson_yaml, parse_lesson, read_lesson

KEPT: list[dict[str, Any]] = json.loads((FIRST / "addresses.json").read_text(encoding="utf-8"))
LESSONS = sorted((FIRST / "lessons").glob("*.yaml"))


@pytest.fixture
def kept_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The models and the corpus of 1.0, of which a corpus may make its file of vectors."""
    shutil.copytree(FIRST / "corpora", tmp_path / "corpora")
    monkeypatch.setenv("INSIDE_BERT_MODELS_DIR", str(FIRST / "models"))
    monkeypatch.setenv("INSIDE_BERT_CORPORA_DIR", str(tmp_path / "corpora"))
    monkeypatch.setenv("INSIDE_BERT_ALLOW_HUB", "0")


@pytest.mark.usefixtures("kept_folders")
@pytest.mark.parametrize(
    "place", range(len(KEPT)), ids=[f"{each['page']} {each['query'].get('view', '')}" for each in KEPT]
)
@pytest.mark.sample(6)
def test_an_address_opens_with_its_values(place: int) -> None:
    page, query, before = KEPT[place]["page"], full_query(KEPT, place), KEPT[place]["controls"]
    controls, left = opened(page, query)
    today = {name: RENAMED.get((page, name, value), value) for name, value in query.items()}
    accepted = [name for name, value in before.items() if value.lower() == query[name].lower()]
    before = {name: RENAMED.get((page, name, before[name]), before[name]) for name in accepted}
    changed = {name: now for name, value in before.items() if (now := controls.get(name, left.get(name))) != value}
    lost = {name: None for name, value in today.items() if name not in before and (controls | left).get(name) is None}
    assert lost | changed == {}


def views(lesson: Path) -> list[View]:
    """All views of a lesson."""
    return [view for step in read_lesson(lesson, PAGES).steps for view in (step, *step.trials)]


@pytest.mark.parametrize("path", LESSONS, ids=[each.stem for each in LESSONS])
def test_a_lesson_opens_and_is_written_as_it_was(path: Path) -> None:
    lesson = read_lesson(path, PAGES)
    again = parse_lesson(lesson_yaml(lesson).encode(), path.name, PAGES)
    assert again == lesson
    for view in views(path):
        for name, values in view.query.items():
            assert name in NAMES or is_of_page(name, view.page), (path.name, name)
            assert is_of_page(name, view.page), (path.name, view.page, name)
            assert refused(name, list(values)) is None
