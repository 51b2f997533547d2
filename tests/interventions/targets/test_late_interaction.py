"""The late-interaction score as a target, against sentence-transformers' MultiVectorEncoder."""

from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import MultiVectorEncoder

from bertviz_core import open_model
from bertviz_core.errors import TextError
from tests.helpers.multi_vector import save_multi_vector, save_stanford

QUERY, TEXT, WORDS = "I love my pet python.", "the river bank, my pet.", ("the", "river", "bank", "my", "pet")


def score(library: MultiVectorEncoder, document: str) -> float:
    """The library's score of a document for the query."""
    return float(library.similarity([library.encode_query(QUERY)], library.encode_document([document]))[0, 0])


@pytest.fixture(params=["bert", "modernbert", "stanford"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "stanford":
        return save_stanford(tmp_path / "tiny")
    return save_multi_vector(request.param, tmp_path / "tiny")


@pytest.mark.sample(2)
def test_a_word_that_matters_is_the_difference_of_two_scores_of_the_library(folder: Path) -> None:
    library = MultiVectorEncoder(str(folder), device="cpu")
    made = open_model(str(folder)).words(TEXT, QUERY, target="late-interaction")
    assert made.clean == pytest.approx(score(library, TEXT), abs=1e-5)
    shares = dict(zip(made.words, made.shares, strict=True))
    for word in WORDS:
        without = score(library, TEXT.replace(word, "[MASK]"))
        assert shares[word] == pytest.approx(made.clean - without, abs=1e-5)


@pytest.mark.sample(1)
@pytest.mark.parametrize("family", ["bert", "modernbert"])
def test_integrated_gradients_sum_to_the_change_of_the_score(family: str, tmp_path: Path) -> None:
    folder = save_multi_vector(family, tmp_path / "tiny", prompts={"query": "my ", "document": ""})
    library, text = MultiVectorEncoder(str(folder), device="cpu"), " ".join(WORDS)
    made = open_model(str(folder)).words(text, QUERY, target="late-interaction", method="integrated-gradients")
    change = score(library, text) - score(library, " ".join("[MASK]" for _ in WORDS))
    assert float(np.sum(made.shares)) == pytest.approx(change, abs=made.data.error + 1e-5)
    assert made.data.error < 0.02


def test_the_effect_of_a_head_starts_from_the_score(folder: Path) -> None:
    library = MultiVectorEncoder(str(folder), device="cpu")
    effects = open_model(str(folder)).effects(TEXT, QUERY, target="late-interaction")
    assert effects.clean == pytest.approx(score(library, TEXT), abs=1e-5)
    assert np.abs(effects.heads).max() > 0


def test_without_a_query_the_message_names_what_is_missing(folder: Path) -> None:
    with pytest.raises(TextError, match="compares the text with a second text"):
        open_model(str(folder)).words(TEXT, target="late-interaction")
