"""The guide for a classifier that is wrong: it fits every classifier and file, and names controls that exist."""

from pathlib import Path

import pytest

from bertviz_core.models.catalog import EXAMPLE_RUN, OFFERED, TEXTS_FILE
from tests.ui.lessons.shipped import lesson
from ui.lessons.tour import ORDER, WRONG

STEPS = lesson(WRONG).steps
ROOT = Path(__file__).parents[3]
NAMED = (
    "Open in {title}", '"Texts"', "Include the text", "Compare with", '"Texts by"', "Show in Journey", '"Report"',
)  # fmt: skip
"""Labels of controls that the notes name, as the source of the dashboard has them."""


def test_it_keeps_the_readers_model_text_and_target() -> None:
    assert lesson(WRONG).keeps == ("model", "other", "answered_by", "target", "target_class", "training")
    for step in STEPS:
        assert step.text is None
        assert step.sentences is None
        assert not set(lesson(WRONG).keeps) & set(step.query)


def test_whoever_has_no_classifier_takes_the_example_at_each_step_that_reads_a_file() -> None:
    reads = [
        step for step in STEPS if "file" in (*step.query.get("texts_from", ()), *step.query.get("answers_from", ()))
    ]
    assert [len(step.trials) for step in reads] == [1, 1, 1]
    assert not any(step.trials for step in STEPS if step not in reads)
    first, beside, run = (step.trials[0].query for step in reads)
    assert (first["model"], first["texts_from"]) == ((OFFERED[0],), (TEXTS_FILE,))
    assert (beside["other"], beside["answers_from"]) == ((OFFERED[1],), (TEXTS_FILE,))
    assert (run["training"], run["answers_from"]) == ((EXAMPLE_RUN,), (TEXTS_FILE,))


def test_it_goes_from_the_file_to_the_link_for_a_colleague() -> None:
    assert [step.page for step in STEPS] == ["predictions", "words", "causes", "checkpoint", "checkpoint", "words"]
    assert WRONG in ORDER


@pytest.mark.parametrize("label", NAMED)
def test_the_controls_that_it_names_exist(label: str) -> None:
    files = [*(ROOT / "ui").rglob("*.*"), *(ROOT / "bertviz_core" / "questions").rglob("*.py")]
    sources = [path.read_text(encoding="utf-8") for path in files if path.suffix in (".py", ".js")]
    assert any(label in source for source in sources)
