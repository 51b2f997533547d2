"""The view Vocabulary in use of Sentences: its example list and a typed one, with the numbers of the library.

Covers `bertviz_core/questions/views/vectors/vocabulary.py`, `bertviz_core/questions/tables/vocabulary.py`.
"""

import pytest

from bertviz_core import open_model
from bertviz_core.models.catalog import DEFAULT_MODEL
from tests.pages.opened import opened, visible_text
from tests.pages.test_sentences_of_two_models import charts
from ui.examples import EXAMPLES

TITLE = "Vocabulary in use"


def test_the_example_list_at_first_sight() -> None:
    at = opened("sentences", view=TITLE)
    assert not at.exception
    use = open_model(DEFAULT_MODEL).vocabulary(next(iter(EXAMPLES.values()))[1].splitlines()).data
    (rows, used, _), (covered, *_) = charts(at)
    latin = next(each for each in use.by_script if each.kind == "Latin")
    assert (max(rows["x"]), max(used["x"])) == (latin.rows, latin.used)
    assert max(covered["y"]) == pytest.approx(100)
    table = at.dataframe[0].value
    assert table["kind"].tolist() == [each.kind for each in use.by_script]
    assert table["used"].sum() == use.rows - use.untouched
    assert f"The {use.untouched:,} untouched rows of the input table" in " ".join(
        visible_text(each.value) for each in at.markdown
    )


def test_typed_texts_with_unknown_pieces_are_listed() -> None:
    at = opened("sentences", view=TITLE, sentences="𓀀𓀀 <b>x</b>\ntokenizations 𓀀\nplain")
    assert not at.exception
    split, unknown = (each.value for each in at.dataframe[-2:])
    assert split["word"].tolist() == ["tokenizations"]
    assert unknown["row"].tolist() == [1, 2]
    assert unknown["text"].tolist()[0] == "𓀀𓀀 <b>x</b>"


def test_a_list_without_tokens_is_refused_in_one_sentence() -> None:
    at = opened("sentences", view=TITLE, sentences="\u200b")
    assert not at.exception
    assert any(
        "No text has a token of its own" in visible_text(each.value) for each in (*at.info, *at.error, *at.warning)
    )
