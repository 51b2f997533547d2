"""Word swaps against transformers, sentence-transformers and SciPy: numbers of the filled texts, intervals, refusals.

Covers `bertviz_core/predictions/probing/swaps.py`, `bertviz_core/questions/predictions/swaps.py`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import ttest_1samp
from sentence_transformers import SentenceTransformer
from transformers import AutoModelForMaskedLM, AutoModelForSequenceClassification, AutoTokenizer

from bertviz_core import open_model
from bertviz_core.errors import BertvizError
from bertviz_core.predictions.probing.swaps import COMPARED_BY, MOST_TEXTS, SETS
from tests.helpers.known_names import sentences
from tests.helpers.tiny_heads import save_tiny_head

PAIRS = [("pet", "python"), ("river", "bank of the river"), ("my", "love my")]
TEMPLATES = ["I love my {}.", "the {} bank", "{} in coding", "Two rivers, a {} python", "one {}"]
SECONDS = ["a pet", "the river", "coding", "my bank", "the pet of the river"]
CLASSES = {0: "neutral", 1: "good", 2: "bad", 3: "fair"}
SEQUENCE, WORDS = "sequence-classification", "masked-lm"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("swaps")
    save_tiny_head("bert", SEQUENCE, folder / "classes", num_labels=4, id2label=CLASSES)
    save_tiny_head("roberta", WORDS, folder / "words")
    return folder


def filled(pair: tuple[str, str], template: str) -> list[str]:
    """The template with the first and the second word."""
    return [template.replace("{}", word) for word in pair]


def by_hand(number: Callable[[str, str | None], Any], seconds: list[str] | None = None) -> np.ndarray:
    """Numbers of all filled texts: (pairs, templates, words, outputs)."""
    rows = zip(TEMPLATES, seconds or [None] * len(TEMPLATES), strict=True)
    listed = list(rows)
    return np.array(
        [[[number(text, second) for text in filled(pair, each)] for each, second in listed] for pair in PAIRS]
    )


@pytest.mark.parametrize("problem", ["single_label_classification", "multi_label_classification", "regression"])
@pytest.mark.parametrize("has_seconds", [False, True])
def test_classes_are_those_of_transformers(tmp_path: Path, problem: str, has_seconds: bool) -> None:
    folder = save_tiny_head("bert", SEQUENCE, tmp_path / "m", num_labels=4, id2label=CLASSES, problem_type=problem)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    last = {"single_label_classification": lambda each: each.softmax(-1), "multi_label_classification": torch.sigmoid}

    def answer(text: str, second: str | None) -> np.ndarray:
        with torch.inference_mode():
            logits = model(**tokenizer(text, second, return_tensors="pt")).logits[0]
        return np.asarray(last.get(problem, lambda each: each)(logits))

    templates = list(zip(TEMPLATES, SECONDS, strict=True)) if has_seconds else TEMPLATES
    result = open_model(folder).word_swaps(PAIRS, templates)
    expected = by_hand(answer, SECONDS if has_seconds else None)
    assert result.outputs == tuple(CLASSES.values())
    assert result.data.unit == ("logit" if problem == "regression" else "probability")
    np.testing.assert_allclose(result.values, expected, atol=2e-6)
    np.testing.assert_allclose(result.mean[:-1], (expected[:, :, 1] - expected[:, :, 0]).mean(axis=1), atol=2e-6)
    alone_result = open_model(folder).word_swaps(PAIRS, templates, output="bad")
    assert alone_result.outputs == ("bad",)
    np.testing.assert_array_equal(alone_result.values[..., 0], result.values[..., 2])


def test_surprise_is_that_of_each_token_masked(models: Path) -> None:
    model = AutoModelForMaskedLM.from_pretrained(models / "words").eval()
    tokenizer = AutoTokenizer.from_pretrained(models / "words")

    def surprise(text: str, _: str | None) -> tuple[float, float]:
        ids = tokenizer(text, return_tensors="pt")["input_ids"]
        logs = []
        for place in range(1, ids.shape[1] - 1):
            masked = ids.clone()
            masked[0, place] = tokenizer.mask_token_id
            with torch.inference_mode():
                logs.append(float(model(masked).logits[0, place].log_softmax(-1)[ids[0, place]]))
        return -np.mean(logs), np.sum(logs)

    result = open_model(models / "words").word_swaps(PAIRS, TEMPLATES)
    assert (result.data.compared_by, result.outputs) == ("surprise", ("mean surprise", "pseudo-log-likelihood"))
    np.testing.assert_allclose(result.values, by_hand(surprise), rtol=2e-6, atol=2e-5)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_cosines_are_those_of_sentence_transformers(tmp_path: Path, pooling: str) -> None:
    sentences("bert", pooling, 7)(folder := tmp_path / "sentences")
    library = SentenceTransformer(str(folder), device="cpu")
    texts = [text for pair in PAIRS for template in TEMPLATES for text in filled(pair, template)]
    vectors = library.encode(texts).astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    expected = (vectors[::2] * vectors[1::2]).sum(axis=1).reshape(len(PAIRS), len(TEMPLATES), 1, 1)
    result = open_model(folder).word_swaps(PAIRS, TEMPLATES)
    assert (result.data.compared_by, result.outputs) == ("cosine", ("cosine",))
    np.testing.assert_allclose(result.values, expected, atol=1e-6)
    np.testing.assert_array_equal(result.data.numbers, result.values[:, :, 0])


def test_intervals_are_those_of_scipy(models: Path) -> None:
    result = open_model(models / "classes").word_swaps(PAIRS, TEMPLATES)
    numbers = (result.values[:, :, 1].astype(np.float64) - result.values[:, :, 0]).swapaxes(0, 1)
    for row, each in enumerate((*numbers.swapaxes(0, 1), numbers.mean(axis=1))):
        test = ttest_1samp(each, 0)
        interval = test.confidence_interval(0.95)
        np.testing.assert_allclose(result.mean[row], each.mean(axis=0), atol=1e-7)
        np.testing.assert_allclose(result.interval[:, row], (interval.low, interval.high), atol=1e-7)
    one = open_model(models / "classes").word_swaps(PAIRS[:1], TEMPLATES)
    assert one.data.names == ("pet → python",)
    np.testing.assert_allclose(one.interval, result.interval[:, :1], atol=1e-7)
    single = open_model(models / "classes").word_swaps(PAIRS, TEMPLATES[:1])
    assert np.isnan(single.interval).all()
    assert "of a single template, which has no interval" in str(single)


def test_pairs_are_read_in_every_spelling(models: Path) -> None:
    model = open_model(models / "classes")
    expected = model.word_swaps(PAIRS, TEMPLATES).values
    typed = [f"{first} / {second}" for first, second in PAIRS]
    np.testing.assert_array_equal(model.word_swaps(typed, np.array(TEMPLATES)).values, expected)
    swapped = model.word_swaps([pair[::-1] for pair in PAIRS], TEMPLATES).values
    np.testing.assert_array_equal(swapped, expected[:, :, ::-1])
    assert model.word_swaps([("and/or", "or")], ["a {} b"]).data.pairs == (("and/or", "or"),)


@pytest.mark.parametrize("name", SETS)
def test_the_shipped_sets_are_whole(models: Path, name: str) -> None:
    result = open_model(models / "classes").word_swaps(shipped=name)
    assert result.values.shape == (2, 12, 2, 4)
    assert len(set(result.data.texts)) == 12 * 3  # both pairs begin with the same word
    assert "It is no measure of bias" in str(result)


def test_texts_with_the_same_tokens_are_counted(models: Path) -> None:
    result = open_model(models / "classes").word_swaps([("qqq", "zzz"), PAIRS[0]], TEMPLATES[:2])
    assert result.notices[0] == "2 of 4 pairs of texts have the same tokens, so the model cannot tell them apart."
    assert not result.data.numbers[0].any()


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no slot": ({"templates": ["a {} b", "no slot"]}, "Template 2, 'no slot', has no slot; write {} once"),
    "two slots": ({"templates": ["{} and {}"]}, "has 2 slots; write {} once"),
    "a slot in both texts": ({"templates": [("{} a", "b {}")]}, "has 2 slots"),
    "three texts": ({"templates": [("{} a", "b", "c")]}, "has more than two texts"),
    "one word": ({"pairs": [("he",)]}, "Pair 1, 'he', has 1 word; give two"),
    "a blank word": ({"pairs": [("he", " ")]}, "has 1 word; give two"),
    "three words": ({"pairs": ["he / she / they"]}, "Pair 1, 'he / she / they', has 3 words"),
    "the same word": ({"pairs": [("he", "she"), ("he", "he")]}, "Pair 2 is 'he' twice; give two different words."),
    "a pair again": ({"pairs": ["he / she", "a / b", "he/she"]}, "Pair 3 is the same as pair 1"),
    "a template again": ({"templates": ["a {}", "a {}"]}, "Template 2 is the same as template 1"),
    "second texts of some": ({"templates": ["a {}", ("b {}", "c")]}, "Some templates have a second text"),
    "no pairs": ({"pairs": []}, "There is no pair of words; give at least one"),
    "no templates": ({"templates": []}, "There is no template; give at least one"),
    "a line break": ({"pairs": [("a", "b\nc")]}, "has a tab or a line break in it"),
    "too many": (
        {"pairs": [("a", f"b{place}") for place in range(101)], "templates": [f"{{}} {place}" for place in range(50)]},
        f"101 pairs in 50 templates are 10,100 texts; at most {MOST_TEXTS:,} are read.",
    ),
    "a class that is not there": ({"output": "great"}, "There is no class 'great'"),
    "a set that is not there": ({"shipped": "weather"}, "There is no swap_set=weather; choose negation, pronouns."),
    "no masked-LM head": ({"compared_by": "surprise"}, "has no masked-LM head"),
    "no such way": ({"compared_by": "size"}, f"There is no swaps_by=size; choose {', '.join(COMPARED_BY)}."),
    "vectors of two texts": ({"compared_by": "cosine", "templates": [("a {}", "b")]}, "A vector is made of one text"),
    "a cut word": ({"templates": ["river " * 80 + "{}"]}, "lies behind them; shorten the template."),
    "a cut word of a vector": ({"compared_by": "cosine", "templates": ["river " * 80 + "{}"]}, "lies behind them"),
    "no list": ({"pairs": "he / she"}, "pairs is a text; a list of texts or pairs of texts or None is needed."),
}


@pytest.mark.parametrize(("more", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_compared_is_one_sentence(models: Path, more: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BertvizError) as refused:
        open_model(models / "classes").word_swaps(**more)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_text_whose_end_is_cut_has_its_word(models: Path) -> None:
    result = open_model(models / "classes").word_swaps([("pet", "bank")], ["{}" + " river" * 80])
    assert any("cut" in notice or "token" in notice for notice in result.notices)
    assert result.data.numbers.any()
