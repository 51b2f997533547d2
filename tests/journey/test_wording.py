"""An edited text is compared with the text as two independent runs of transformers' own class.

Covers `bertviz_core/journey/steps.py` and `bertviz_core/questions/interventions/journey_change.py`.
"""

from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from bertviz_core import open_model
from bertviz_core.errors import TextError
from bertviz_core.journey.results import ChangedJourney
from bertviz_core.models.catalog import bundled_folder
from bertviz_core.questions.interventions.journey_change import changed_journey, changed_number
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.settings import Settings

TEXT, EDITED = "I love my pet python.", "I really love my cat snake."
PAIRS = ((0, 0), (1, 1), (2, 3), (3, 4), (6, 7), (7, 8))
"""Positions in TEXT and EDITED of the tokens that both have: [CLS] i love my . [SEP]."""


@pytest.fixture(scope="module")
def opened() -> OpenedModel:
    return OpenedModel("all-MiniLM-L6-v2", Settings.from_environment())


@pytest.fixture(scope="module")
def own() -> tuple[Any, Any]:
    """The model and the tokenizer of transformers; entropies need its own attention."""
    folder = bundled_folder()
    return AutoModel.from_pretrained(folder, attn_implementation="eager").eval(), AutoTokenizer.from_pretrained(folder)


def _edited(opened: OpenedModel, text: str, edited: str, pair: str | None = None) -> ChangedJourney:
    return changed_journey(opened, Options((text,), pair, values={"change": "text", "edited": edited})).result


def _run(own: tuple[Any, Any], text: str) -> tuple[dict[str, Any], Any]:
    """Turn, length and entropy by layer and token, and the last states."""
    model, tokenizer = own
    with torch.inference_mode():
        output = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True, output_attentions=True)
    states = torch.stack(output.hidden_states)[:, 0]
    probs = torch.stack(output.attentions)[:, 0]
    numbers = {
        "turn": 1 - torch.cosine_similarity(states[1:], states[:-1], dim=-1),
        "length": states[1:].norm(dim=-1),
        "entropy": torch.special.entr(probs).sum(dim=-1).mean(dim=1),
    }
    return {name: each.numpy() for name, each in numbers.items()}, states[-1]


@pytest.mark.slow
def test_differences_are_those_of_two_runs_at_the_tokens_that_both_texts_have(
    opened: OpenedModel, own: tuple[Any, Any]
) -> None:
    found = _edited(opened, TEXT, EDITED)
    (first, last), (second, end) = _run(own, TEXT), _run(own, EDITED)
    old, new = (list(each) for each in zip(*PAIRS, strict=True))
    for name in ("turn", "length", "entropy"):
        differences = getattr(found.after, name) - getattr(found.before, name)
        assert differences[:, new] == pytest.approx(second[name][:, new] - first[name][:, old], abs=1e-4)
        assert getattr(found.after, name) == pytest.approx(second[name], abs=1e-4)
        assert np.isnan(np.delete(differences, new, axis=1)).all()
    cosines = torch.cosine_similarity(last[old], end[new], dim=-1).numpy()
    assert found.cosine[new] == pytest.approx(cosines, abs=1e-5)
    assert np.isnan(found.cosine).sum() == 3
    assert found.origin == (0, 1, -1, 2, 3, -1, -1, 6, 7)
    assert found.gone == ((5, "pet"), (5, "python"))
    expected = "The text is edited: “really” inserted, “pet python” → “cat snake” (3 new tokens, 2 gone)."
    assert found.sentence == expected


@pytest.mark.parametrize(
    ("text", "edited", "origin", "gone", "words"),
    [
        ("a b", "a", (0, 1, 3), ((2, "b"),), "“b” deleted"),
        ("b", "a b", (0, -1, 1, 2), (), "“a” inserted"),
        ("a  b", "a b", (0, 1, 2, 3), (), "white space alone"),
        ("a, b-c 😀 שלום", "a, b-c 😀 עולם", None, None, "“שלום” → “עולם”"),
        ("a b c d e f g", "a x c x e x g x", None, None, "“f” → “x”, 1 more edit"),
    ],
)
def test_new_and_gone_tokens_and_the_words_of_an_edit(
    text: str, edited: str, origin: Any, gone: Any, words: str, opened: OpenedModel
) -> None:
    found = _edited(opened, text, edited)
    assert words in found.sentence
    assert origin is None or (found.origin, found.gone) == (origin, gone)
    assert found.after.tokens is not None
    assert found.after.tokens.text == edited


def test_the_second_text_of_a_pair_stays(opened: OpenedModel) -> None:
    found = _edited(opened, "a b", "a c", "b a")
    assert found.origin == (0, 1, -1, 3, 4, 5, 6)
    assert found.gone == ((2, "b"),)


def test_more_tokens_than_the_model_has_positions_for_are_said_in_the_sentence(opened: OpenedModel) -> None:
    assert "512" in _edited(opened, "a", "a " * 600).sentence


@pytest.mark.slow
def test_the_library_lists_the_tokens_of_the_edited_text() -> None:
    way = open_model("all-MiniLM-L6-v2").journey(TEXT)
    table = way.changed("text", edited=EDITED).query("layer == 5")
    assert table["label"].tolist() == ["[CLS]", "i", "", "love", "my", "", "", ".", "[SEP]"]
    assert table["label_after"].tolist() == ["[CLS]", "i", "really", "love", "my", "cat", "snake", ".", "[SEP]"]
    assert table["turn"].isna().tolist() == [label == "" for label in table["label"]]
    page = way.html(change="text", edited=EDITED)
    assert "“pet python” → “cat snake”" in page


@pytest.mark.parametrize("edited", ["", TEXT])
def test_a_text_that_is_not_edited_is_an_error(edited: str, opened: OpenedModel) -> None:
    with pytest.raises(TextError, match="The text is not edited; give"):
        _edited(opened, TEXT, edited)
    with pytest.raises(TextError, match="The text is not edited; give"):
        changed_number(opened, Options((TEXT,), "A river.", values={"change": "text", "edited": edited}))


def test_the_cosine_is_that_of_the_edited_text(opened: OpenedModel, own: tuple[Any, Any]) -> None:
    values = {"change": "text", "edited": EDITED}
    found = changed_number(opened, Options((TEXT,), "A river.", values=values)).result
    vectors = [_run(own, text)[1].mean(dim=0) for text in (EDITED, "A river.")]
    assert found == pytest.approx(float(torch.cosine_similarity(*vectors, dim=0)), abs=1e-5)


def test_a_number_of_a_position_needs_equally_many_tokens(opened: OpenedModel, own: tuple[Any, Any]) -> None:
    values = {"change": "text", "edited": EDITED, "target": "state:6,4,7"}
    with pytest.raises(TextError, match="is not that of the edited text"):
        changed_number(opened, Options((TEXT,), values=values))
    same = changed_number(opened, Options((TEXT,), values={**values, "edited": "I love my cat python."})).result
    assert same == pytest.approx(float(_run(own, "I love my cat python.")[1][4, 7]), abs=1e-4)
