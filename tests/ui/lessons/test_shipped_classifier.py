"""The guide for a classifier that is wrong: it fits every classifier and file, and names controls that exist."""

from pathlib import Path

import pytest

from tests.ui.lessons.shipped import lesson
from ui.lessons.tour import ORDER, WRONG

STEPS = lesson(WRONG).steps
UI = Path(__file__).parents[3] / "ui"
NAMED = (
    "Open in {title}", '"Texts"', "Include the text", "Compare with", '"Texts by"', "Show in Journey", '"Report"',
)  # fmt: skip
"""Labels of controls that the notes name, as the source of the dashboard has them."""


def test_it_keeps_the_readers_model_text_and_target() -> None:
    assert lesson(WRONG).keeps == ("model", "other", "answered_by", "target", "target_class", "training")
    for step in STEPS:
        assert step.text is None
        assert step.sentences is None
        assert not step.trials
        assert not set(lesson(WRONG).keeps) & set(step.query)


def test_it_goes_from_the_file_to_the_link_for_a_colleague() -> None:
    assert [step.page for step in STEPS] == ["predictions", "words", "causes", "checkpoint", "checkpoint", "words"]
    assert WRONG in ORDER


@pytest.mark.parametrize("label", NAMED)
def test_the_controls_that_it_names_exist(label: str) -> None:
    sources = [path.read_text(encoding="utf-8") for path in UI.rglob("*.*") if path.suffix in (".py", ".js")]
    assert any(label in source for source in sources)
