"""Attributions of two models: each side is the answer about that model alone, words meet by their characters.

Covers `bertviz_core/questions/interventions/attributions.py`, `bertviz_core/questions/interventions/attributions.py`,
`bertviz_core/questions/tables/two_models/interventions.py`.
"""

from pathlib import Path

import numpy as np
import pytest

from bertviz_core.attribution.results import AttributionComparison
from bertviz_core.errors import BertvizError
from bertviz_core.figures.interventions.effects import words_compared_figure
from bertviz_core.interventions.target_parsing import parse_target
from bertviz_core.predictions.two_models import SAME_MODEL
from bertviz_core.questions.interventions.attributions import compared_words, second_options, word_attributions
from bertviz_core.questions.interventions.targets import target_of
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.views.words import shares_that_changed
from tests.helpers.tiny_heads import save_tiny_head
from tests.helpers.tiny_models import TEXT
from tests.helpers.two_tokenizers import MIXED, opened_model, save_byte_head
from tests.pages.labels import CONTEXT, NAMES, QUESTION, TAGS, named

ROUNDED = "itself, rounded to bfloat16"
FLIPPED = tuple(name.upper() for name in NAMES[::-1])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models that read pieces of words and models that read bytes."""
    place = tmp_path_factory.mktemp("two")
    save_tiny_head("bert", "sequence-classification", place / "classes", **named(*NAMES))
    save_byte_head("sequence-classification", place / "byte-classes", **named(*FLIPPED))
    save_tiny_head("bert", "sequence-classification", place / "others", **named("joy", "anger"))
    for task, name in (("token-classification", "tags"), ("masked-lm", "words"), ("question-answering", "answers")):
        changes = named(*TAGS) if name == "tags" else {}
        save_tiny_head("bert", task, place / name, **changes)
        save_byte_head(task, place / f"byte-{name}", **changes)
    save_tiny_head("bert", "masked-lm", place / "wide", hidden_size=24)
    return place


def compare(place: Path, first: str, second: str, text: str = TEXT, **values: str) -> AttributionComparison:
    """Ask for both."""
    pair = values.pop("pair", None)
    other = str(place / second) if (place / second).exists() else second
    return compared_words(opened_model(place / first), Options((text,), pair, None, {**values, "other": other})).result


@pytest.mark.sample(1)
@pytest.mark.parametrize("units", ["words", "tokens"])
def test_each_side_is_the_answer_about_that_model_alone(place: Path, units: str) -> None:
    values = {"target": "class:neutral", "units": units, "in_place": "nothing"}
    found = compare(place, "classes", "byte-classes", MIXED, **values)
    for folder, side, name in (("classes", found.first, "neutral"), ("byte-classes", found.second, "NEUTRAL")):
        options = Options((MIXED,), values={**values, "target": f"class:{name}"})
        alone = word_attributions(opened_model(place / folder), options).result
        assert alone.words == side.words
        np.testing.assert_array_equal(alone.shares, side.shares)
    np.testing.assert_array_equal(found.difference, found.second_shares - found.first_shares)
    for shares, side in ((found.first_shares, found.first), (found.second_shares, found.second)):
        assert float(np.nansum(shares)) == pytest.approx(float(side.shares.sum()), abs=1e-6)
    assert len({len(found.parts), len(found.first.words), len(found.second.words)}) > 1


def test_a_part_has_the_words_whose_characters_it_covers(place: Path) -> None:
    found = compare(place, "classes", "byte-classes", MIXED, target="class:neutral", in_place="nothing")
    at = 0
    for row, part in enumerate(found.parts):
        start = MIXED.index(part, at)
        at = start + len(part)
        for side, shares in ((found.first, found.first_shares), (found.second, found.second_shares)):
            offsets = side.tokens.offsets
            assert offsets is not None
            spans = [(offsets[places[0]], offsets[places[-1]]) for places in side.positions]
            inside = [
                index for index, (one, last) in enumerate(spans) if one and last and start < last[1] and one[0] < at
            ]
            assert float(shares[row]) == pytest.approx(float(side.shares[inside].sum()), abs=1e-6), part


def test_the_same_model_twice_is_exact_zeros_and_says_so(place: Path) -> None:
    found = compare(place, "classes", "classes", target="class:neutral")
    assert not found.difference.any()
    assert found.same_model
    assert found.notices[0] == SAME_MODEL
    assert shares_that_changed(found).endswith("No word has another share.")


def test_without_a_target_both_have_the_answer_of_the_first(place: Path) -> None:
    found = compare(place, "classes", "byte-classes", in_place="nothing")
    assert found.second.target.casefold() == found.first.target.casefold()
    assert "No word" not in shares_that_changed(found)
    frame = words_compared_figure(found).frame()
    assert list(frame) == ["word", "first", "second", "difference"]
    np.testing.assert_allclose(frame["second"] - frame["first"], frame["difference"], atol=1e-6)
    order = np.abs(found.difference)[list(found.ranked())]
    np.testing.assert_array_equal(order, np.sort(order)[::-1])


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("folder", "target", "moved", "characters"),
    [
        ("tags", "tag:B-PER@2", "tag:B-PER@2", "l"),  # "love" is token 2; its first byte is token 2, after a space
        ("words", "state:1,6,2", "state:1,16,2", "."),
        ("words", "direction:2,1,I love.->my river", "direction:2,0,I love.->my river", "I"),
        ("words", "word:.@6", "word:.@16", "."),
    ],
)
def test_a_place_of_the_text_is_the_token_of_the_same_characters(
    place: Path, folder: str, target: str, moved: str, characters: str
) -> None:
    first, second = opened_model(place / folder), opened_model(place / f"byte-{folder}")
    options = second_options(first, second, Options((TEXT,), values={"target": target, "other": "x"}))
    assert options.values == {"target": moved}
    read, spec = second.tokens(TEXT, None), parse_target(moved, has_pair=False)
    span = read.offsets[spec.places[0] if len(spec.places) == 1 else spec.places[1]] if read.offsets else None
    assert span is not None
    assert TEXT[slice(*span)].strip() == characters


def test_an_answer_is_the_one_of_the_same_characters(place: Path) -> None:
    first, second = (opened_model(place / each) for each in ("answers", "byte-answers"))
    for name in ("answer", "answer:9-10"):
        one = Options((QUESTION,), CONTEXT, values={"target": name, "other": "x"})
        number = target_of(first, one, QUESTION, CONTEXT).result
        there = second_options(first, second, one).values["target"]
        texts = []
        for read, named_target in ((number.tokens, number.name), (second.tokens(QUESTION, CONTEXT), there)):
            start, end = parse_target(named_target, has_pair=True).places
            assert read.offsets is not None
            one_span, last = read.offsets[start], read.offsets[end]
            assert one_span is not None
            assert last is not None
            texts.append(CONTEXT[one_span[0] : last[1]].strip())
        assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("first", "second", "values", "words"),
    [
        ("classes", "tags", {"target": "class:neutral"}, "has no task head for sequence-classification"),
        ("classes", "others", {"target": "class:neutral"}, "There is no class 'neutral'"),
        ("words", "byte-words", {"target": "word:love@2"}, "token 2 ('love') is no single token of"),
        ("words", "byte-words", {"target": "state:1,0,2"}, "token 0 ('[CLS]') has no partner"),
        ("words", "wide", {"target": "state:1,2,2"}, "its states have another size"),
        ("classes", "nothing", {"target": "class:neutral"}, "nothing"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(
    place: Path, first: str, second: str, values: dict[str, str], words: str
) -> None:
    options = Options((TEXT,), values={**values, "other": str(place / second)})
    with pytest.raises(BertvizError) as error:
        compared_words(opened_model(place / first), options)
    assert words in str(error.value)


def test_a_rounded_copy_reads_the_same_words(place: Path) -> None:
    found = compare(place, "classes", ROUNDED, target="class:neutral")
    assert found.parts == found.first.words
    assert 0 < np.abs(found.difference).max() < 0.5
