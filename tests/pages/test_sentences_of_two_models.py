"""The view of two models shows the cosines of both, what changed in one sentence, and the neighbours that agree.

Covers `bertviz_core/questions/views/sentences.py`, `ui/widgets/models.py`,
`bertviz_core/questions/texts/two_models.py`, `bertviz_core/questions/tables/two_models/sentences.py`.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from streamlit.testing.v1 import AppTest

from bertviz_core import BertvizError, open_model
from bertviz_core.models.catalog import FINE_TUNED, bundled_folder
from bertviz_core.questions.tables.two_models.sentences import what_changed, where_pairs_lie
from bertviz_core.sentences.two_models import sentence_comparison
from tests.checkpoints.test_layer_similarity import plain_cka
from tests.cli.test_sentences import checkpoint_with_prompts
from tests.helpers.charts import sent_charts
from tests.helpers.tiny_models import save_tiny
from tests.pages.opened import opened, page_text, visible_text
from ui.examples import EXAMPLES

MODEL = "all-MiniLM-L6-v2"
THREE = ("The pod is in CrashLoopBackOff", "Kubernetes container keeps restarting", "My pet python is asleep")
EXPLAINED = {"sentences_pair_cosines_explained": "true"}
FOUR = (*THREE, "A river.")


pytestmark = pytest.mark.usefixtures("patience")


def page(sentences: tuple[str, ...] = THREE, **query: str) -> AppTest:
    return opened("sentences", view="Two models", sentences="\n".join(sentences), **{"other": FINE_TUNED, **query})


def charts(at: AppTest) -> list[list[dict[str, Any]]]:
    """The traces of all charts of the page."""
    return [each.figure["data"] for each in sent_charts(at)]


def vectors(name: str, sentences: tuple[str, ...]) -> np.ndarray:
    """Vectors of the sentences by the library that trained both models."""
    library = SentenceTransformer(str(bundled_folder(name)), device="cpu")
    return np.asarray(library.encode(list(sentences), normalize_embeddings=True), dtype=np.float64)


def test_the_collapse_of_the_bundled_pair_is_seen_at_once() -> None:
    """The cosines are those of sentence-transformers: .41, .12, .08 and .74, .80, .80."""
    at = page()
    assert not at.exception
    assert not at.error
    assert at.selectbox(key="other").value == FINE_TUNED
    maps = [np.array(trace["z"]) for trace in charts(at)[0] if trace["type"] == "heatmap"]
    first, second = ((each @ each.T) for each in (vectors(MODEL, THREE), vectors(FINE_TUNED, THREE)))
    for found, expected in zip(maps, (first, second, second - first), strict=True):
        assert found == pytest.approx(expected, abs=1e-5)
    assert (
        "the mean cosine of two sentences of this list rose from 0.21 to 0.78; 0 of 3 keep their nearest"
        in page_text(at)
    )
    assert "there nearly every pair is more alike than nearly any pair was" in page_text(at)
    nearest = at.dataframe[-1].value
    assert nearest["nearest in first"].tolist() == [2, 1, 1]
    assert nearest["nearest in second"].tolist() == [3, 3, 2]
    assert nearest["neighbours kept"].tolist() == [0, 0, 0]


@pytest.mark.slow
def test_a_longer_list_has_its_cka_and_the_library_says_the_same() -> None:
    listed = tuple(EXAMPLES["homonyms"][1].splitlines())
    at = page(listed)
    both = vectors(MODEL, listed), vectors(FINE_TUNED, listed)
    cka = plain_cka(*both)
    assert f"CKA of the vectors is **{cka:.4f}**" in page_text(at)
    found = open_model(MODEL).compute("sentences-compared", *listed, other=FINE_TUNED)
    assert what_changed(found) in page_text(at)
    assert f"{found.same_nearest} of 8 sentences keep the nearest one" in page_text(at)


def test_pooling_and_layer_of_the_page_count_for_both_and_are_in_the_code(models_dir: Path) -> None:
    for name, family in (("one", "bert"), ("two", "roberta")):
        save_tiny(family, models_dir / name)
    at = page(FOUR, model="one", other="two", pooling="max", layer="0", **EXPLAINED)
    assert not at.error
    found = open_model(str(models_dir / "one")).compute(
        "sentences-compared", *FOUR, other=str(models_dir / "two"), pooling="max", layer=1
    )
    maps = [np.array(trace["z"]) for trace in charts(at)[0] if trace["type"] == "heatmap"]
    assert maps[0] == pytest.approx(found.first_cosines, abs=1e-5)
    assert maps[1] == pytest.approx(found.second_cosines, abs=1e-5)
    assert any(
        "two: The checkpoint says nothing about sentence vectors" in visible_text(each.value) for each in at.caption
    )
    assert "pooling='max'" in at.code[-1].value


def test_each_model_has_its_own_prompt(models_dir: Path) -> None:
    folder = checkpoint_with_prompts(models_dir / "prompted")
    save_tiny("bert", models_dir / "plain")
    library = SentenceTransformer(str(folder), device="cpu")
    expected = library.similarity(*[library.encode(list(FOUR), prompt="my pet ")] * 2)
    found = open_model(str(models_dir / "plain")).compute("sentences-compared", *FOUR, other=str(folder))
    assert found.second_cosines == pytest.approx(np.asarray(expected), abs=1e-5)


def test_the_same_model_twice_few_sentences_and_no_other_model_are_one_sentence_each() -> None:
    at = page(other=MODEL)
    assert "The same model is chosen on both sides" in at.info[0].value
    assert "stayed at about 0.21; 3 of 3 keep their nearest neighbour" in page_text(at)
    at = page(THREE[:2])
    assert not at.exception
    assert "at least 3 sentences" in at.info[0].value
    model = open_model(MODEL)
    with pytest.raises(BertvizError, match="at least 3 sentences, and 2 came"):
        model.compute("sentences-compared", *THREE[:2], other=FINE_TUNED)
    with pytest.raises(BertvizError, match="other=MODEL"):
        model.compute("sentences-compared", *THREE)


def test_a_long_list_is_compared_in_part_and_says_so(models_dir: Path) -> None:
    save_tiny("bert", models_dir / "one")
    sentences = [f"the river {number}" for number in range(301)]
    found = open_model(str(models_dir / "one")).compute(
        "sentences-compared", *sentences, other="itself, rounded to bfloat16"
    )
    assert len(found.sentences) == 150
    assert "150 of the 301 sentences are compared, evenly spaced in the list." in found.notices


@pytest.mark.parametrize(
    ("second", "words"),
    [(np.ones((4, 4)) - np.eye(4) / 2, "rose from 0.00 to"), (np.eye(4), "stayed at about 0.00; 4 of 4 keep their")],
)
def test_the_sentence_says_what_the_numbers_say(second: np.ndarray, words: str) -> None:
    first = np.eye(4, dtype=np.float32)
    compared = sentence_comparison(("a", "b"), list("abcd"), first, second.astype(np.float32), 1)
    assert words in what_changed(compared)


def test_a_fall_of_the_cosines_is_called_one() -> None:
    apart, together = np.eye(4, dtype=np.float32), (np.ones((4, 4)) - np.eye(4) / 2).astype(np.float32)
    compared = sentence_comparison(("a", "b"), list("abcd"), together, apart, 1)
    assert "fell from" in what_changed(compared)
    assert "less alike" in where_pairs_lie(compared)
