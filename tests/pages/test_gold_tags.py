"""The view Gold tags: its example, typed words, the errors and one sentence; the same numbers as in the library.

Covers `bertviz_core/questions/views/labelled/gold_tags.py`, `ui/views/predictions_lists.py`.
"""

from pathlib import Path

import numpy as np
import pytest

from bertviz_core import open_model
from tests.helpers.tiny_heads import save_tiny_head
from tests.pages.opened import opened, visible_text
from tests.pages.snippets import chart, printed

LABELS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")
WORDS, GOLD = (
    [["I", "love", "pythons"], ["the", "river", "bank", "."]],
    [["O", "O", "B-PER"], ["O", "B-LOC", "I-LOC", "O"]],
)
LINES = "\n\n".join("\n".join(map(" ".join, zip(*rows, strict=True))) for rows in zip(WORDS, GOLD, strict=True))
QUERY = {"model": "tags", "view": "Gold tags"}

pytestmark = pytest.mark.usefixtures("patience")


@pytest.fixture
def tags(models_dir: Path) -> Path:
    names = dict(enumerate(LABELS))
    return save_tiny_head("bert", "token-classification", models_dir / "tags", num_labels=5, id2label=names)


def test_the_view_shows_the_numbers_of_the_library(tags: Path) -> None:
    typed = {"tags_from": "typed", "tagged_words": LINES, "tagged_sentence": "2", "aligned": "all pieces"}
    at = opened("predictions", **QUERY, **typed, tag_mode="strict", predictions_gold_tags_explained="true")
    assert not at.exception
    assert not at.error
    result = open_model(tags).tags(WORDS, GOLD, tag_mode="strict")
    bars = {trace["name"]: trace["x"] for trace in chart(at, "predictions_gold_tags")}
    for name, column in zip(("precision", "recall", "F1"), result.data.scores.T, strict=True):
        np.testing.assert_allclose(bars[name], column)
    errors = next(each.value for each in at.dataframe if list(each.value)[:2] == ["error", "sentence"])
    assert errors.astype(str).equals(result.errors().astype(str))
    words = " ".join(visible_text(str(trace.get("text"))) for trace in chart(at, "predictions_gold_labels"))
    assert "B-LOC" in words
    assert "−100" in words
    assert printed(at.code[0].value)


def test_the_example_is_of_the_types_of_the_head_and_another_head_is_told_what_to_bring(
    tags: Path, models_dir: Path
) -> None:
    at = opened("predictions", **QUERY)
    assert not at.error
    assert "4 sentences (default)" in " ".join(visible_text(each.value) for each in at.markdown)
    save_tiny_head("bert", "token-classification", models_dir / "pos", num_labels=2, id2label={0: "NOUN", 1: "VERB"})
    at = opened("predictions", model="pos", view="Gold tags")
    assert "upload words with its tags, such as 'NOUN', 'VERB'" in visible_text(at.info[0].value)


@pytest.mark.parametrize(
    ("lines", "message"), [("a O\nb", "is no word with a tag"), ("a X\nb O", "No gold tag"), ("a O", "All words have")]
)
def test_bad_lists_are_one_sentence(tags: Path, lines: str, message: str) -> None:
    at = opened("predictions", **QUERY, tags_from="typed", tagged_words=lines)
    assert not at.exception
    assert message in " ".join(visible_text(each.value) for each in at.error)
