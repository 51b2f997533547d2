"""Entities of two taggers: those that transformers' pipeline finds with each, as sets of characters and labels."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import AutoModelForTokenClassification, AutoTokenizer, pipeline

from bertviz_core.errors import TextError
from bertviz_core.figures.predictions.classes import comparison_frame
from bertviz_core.predictions.results import Entity, PredictionComparison, TagPrediction
from bertviz_core.predictions.two_models import SAME_MODEL, compared_entities
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.predictions.predict import tagged_tokens, tags
from bertviz_core.questions.predictions.two_models import compared_predictions
from bertviz_core.questions.tables.two_models.predictions import what_changed
from tests.helpers.tiny_heads import save_tiny_head
from tests.helpers.two_tokenizers import opened_model, save_byte_head
from tests.pages.labels import TAGS, named

TEXT = "I love my pet python, the river bank and my language."


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Taggers that read pieces of words or bytes, one with other weights, and one with labels in lower case."""
    place = tmp_path_factory.mktemp("two")
    save_tiny_head("bert", "token-classification", place / "tags", **named(*TAGS))
    save_tiny_head("bert", "token-classification", place / "others", initializer_range=0.4, **named(*TAGS))
    lower = named(*(f"{tag[:2]}{tag[2:].lower()}" for tag in TAGS))
    save_tiny_head("bert", "token-classification", place / "lower", **lower)
    save_byte_head("token-classification", place / "bytes", **named(*TAGS))
    return place


def compare(place: Path, second: str, joined: str = "simple") -> PredictionComparison:
    values = {"other": str(place / second), "view": "entities", "joined": joined}
    return compared_predictions(opened_model(place / "tags"), Options((TEXT,), values=values)).result


def piped(folder: Path, joined: str) -> dict[tuple[int, int, str], float]:
    """Characters and label -> score of the entities of transformers' pipeline, without white space around them."""
    model, tokenizer = AutoModelForTokenClassification.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    found: list[dict[str, Any]] = pipeline(  # type: ignore[call-overload]  # its overloads want literal names
        "token-classification", model=model, tokenizer=tokenizer, aggregation_strategy=joined
    )(TEXT)
    places = {}
    for each in found:
        part = TEXT[each["start"] : each["end"]]
        start, end = each["start"] + len(part) - len(part.lstrip()), each["end"] - len(part) + len(part.rstrip())
        places[start, max(start, end), each.get("entity_group", each.get("entity"))] = float(each["score"])
    return places


@pytest.mark.sample(1)
@pytest.mark.parametrize("second", ["others", "bytes"])
@pytest.mark.parametrize("joined", ["simple", "first", "none"])
def test_each_side_has_the_entities_of_transformers_pipeline(place: Path, second: str, joined: str) -> None:
    found = compare(place, second, joined)
    sides = (("tags", found.first_answers, found.first_numbers), (second, found.second_answers, found.second_numbers))
    for folder, labels, numbers in sides:
        expected = piped(place / folder, joined)
        rows = [row for row, number in enumerate(numbers) if not np.isnan(number)]
        spans = [tuple(map(int, found.names[row].rpartition("(")[2].rstrip(")").split(":"))) for row in rows]
        shown = {(*span, labels[row]): float(numbers[row]) for span, row in zip(spans, rows, strict=True)}
        assert shown.keys() == expected.keys()
        assert shown == pytest.approx(expected, abs=1e-5)
        assert all(found.names[row].startswith(TEXT[start:end]) for row, (start, end) in zip(rows, spans, strict=True))
    assert not (np.isnan(found.first_numbers) & np.isnan(found.second_numbers)).any()
    assert found.names


def test_the_sentence_counts_what_both_and_what_one_finds(place: Path) -> None:
    found, one, other = compare(place, "others"), piped(place / "tags", "simple"), piped(place / "others", "simple")
    sentence = what_changed(found)
    both = len(one.keys() & other.keys())
    assert sentence.startswith(f"Both models find {both} entit" if both else "No entity is found by both models")
    assert f"finds {len(one.keys() - other.keys())}, only" in sentence
    assert sentence.endswith(f" {len(other.keys() - one.keys())}.")
    frame = comparison_frame(found)
    assert list(frame) == ["entity", "tag", "found by", "first", "second", "difference"]
    assert frame["difference"].notna().sum() == (frame["found by"] == "both").sum() == both
    assert (frame["found by"] == "only the first").sum() == len(one.keys() - other.keys())


@pytest.mark.slow
def test_each_side_has_the_scores_of_its_single_answer(place: Path) -> None:
    found = compare(place, "others", "max")
    for folder, numbers in (("tags", found.first_numbers), ("others", found.second_numbers)):
        options = Options((TEXT,), values={"joined": "max"})
        alone: tuple[Entity, ...] = tags(opened_model(place / folder), options).drawn["tag_entities"]
        np.testing.assert_array_equal(numbers[~np.isnan(numbers)], np.float32([each.score for each in alone]))


def test_the_same_weights_with_labels_in_lower_case_find_the_same(place: Path) -> None:
    found = compare(place, "lower")
    assert not found.changed.any()
    assert not found.difference.any()


def test_the_same_model_twice_is_exact_zeros_and_says_so(place: Path) -> None:
    found = compare(place, "tags")
    assert found.notices[0] == SAME_MODEL
    assert not found.difference.any()
    assert what_changed(found) == f"Both models find the same {found.answers[0]}."


def test_without_characters_entities_do_not_meet(place: Path) -> None:
    prediction: TagPrediction = tagged_tokens(opened_model(place / "tags"), Options((TEXT,))).result
    entity = Entity("PER", 0.9, "pet", None, None, 1, 1, 0)
    with pytest.raises(TextError, match="does not return the characters|not return the characters"):
        compared_entities((prediction, (entity,)), (replace(prediction, model="other"), ()))


def test_a_head_that_predicts_words_has_no_entities(place: Path, tmp_path: Path) -> None:
    save_tiny_head("bert", "masked-lm", tmp_path / "words")
    values = {"other": str(tmp_path / "words"), "view": "entities"}
    with pytest.raises(TextError, match="found by heads that tag tokens"):
        compared_predictions(opened_model(tmp_path / "words"), Options((TEXT,), values=values))
