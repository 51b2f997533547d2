"""The background of a similarity: percentile ranks of scipy, vectors of sentence-transformers, unrelated texts.

Covers `bertviz_core/sentences/analysis/background.py` and `bertviz_core/questions/texts/background.py`.
"""

import unicodedata
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from scipy.stats import percentileofscore
from sentence_transformers import SentenceTransformer

from bertviz_core.errors import BertvizError, TextError
from bertviz_core.figures.sentences.background import background_frame, rank_words
from bertviz_core.models.catalog import bundled_folder
from bertviz_core.questions.models.checkpoints import OTHER
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts.background import background, background_options, is_quick, two_backgrounds
from bertviz_core.questions.texts.sentences import sentence_vectors, vector_options
from bertviz_core.sentences.analysis.background import MOST_TEXTS, known_texts, percentile_matrix, unrelated_texts
from bertviz_core.sentences.analysis.results import Background
from bertviz_core.sentences.plan import recommended
from bertviz_core.sentences.results import Measure
from bertviz_core.settings import Settings
from tests.helpers.tiny_models import save_tiny

MODEL = "all-MiniLM-L6-v2"
LIST = ("The bank raised its rates.", "I opened an account.", "We sat by the river.", "I opened an account.", "Rain.")


@pytest.fixture(scope="module")
def opened() -> OpenedModel:
    return OpenedModel(MODEL, Settings.from_environment())


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> OpenedModel:
    """A model with prompts, whose tokenizer knows few words."""
    from sentence_transformers.sentence_transformer import modules

    path = tmp_path_factory.mktemp("background")
    transformer = modules.Transformer(str(save_tiny("bert", path / "bert")), max_seq_length=24)
    prompts = {"query": "the river : ", "document": "my pet "}
    parts = [transformer, modules.Pooling(transformer.get_embedding_dimension(), "mean")]
    SentenceTransformer(modules=parts, device="cpu", prompts=prompts, default_prompt_name="document").save(
        str(path / "saved")
    )
    return OpenedModel(str(path / "saved"), Settings.from_environment(any_folder=True))


@pytest.fixture(scope="module")
def unrelated(opened: OpenedModel) -> Background:
    return background(opened, Options()).result


def test_the_texts_are_different_short_and_of_many_scripts() -> None:
    texts = unrelated_texts()
    assert len(texts) == len(set(texts)) == 200
    assert all(text == text.strip() and text for text in texts)
    assert all(len(text.split()) <= 40 for text in texts)
    assert all(len(text.split()) >= 3 for text in texts if text.isascii())
    scripts = {unicodedata.name(letter).split()[0] for text in texts for letter in text if letter.isalpha()}
    assert len(scripts) >= 8, scripts


def test_no_two_texts_are_alike_to_the_bundled_model(opened: OpenedModel, unrelated: Background) -> None:
    """The vectors are those of sentence-transformers, and so are the cosines."""
    vectors = SentenceTransformer(str(bundled_folder(MODEL)), device="cpu").encode(list(unrelated_texts()))
    cosines = 1 - pdist(vectors.astype(np.float64), "cosine")
    assert cosines.max() < 0.6
    assert unrelated.texts == unrelated_texts()
    np.testing.assert_allclose(unrelated.similarities, np.sort(cosines), atol=2e-6)
    assert unrelated.pairs == 19_900
    np.testing.assert_allclose(unrelated.mean, cosines.mean(), atol=1e-6)
    np.testing.assert_allclose(unrelated.standard_deviation, cosines.std(), atol=1e-6)
    ours = background(opened, Options()).drawn["background"]
    made = sentence_vectors(opened, Options(unrelated_texts())).result.vectors
    np.testing.assert_allclose(made, vectors, atol=2e-6)
    assert ours is unrelated, "it is computed once"


@pytest.mark.parametrize("measure", ["cosine", "dot", "euclidean"])
def test_percentile_ranks_are_those_of_scipy(measure: Measure) -> None:
    random = np.random.default_rng(0)
    values = np.sort(np.round(random.normal(size=500), 2).astype(np.float32))  # with many ties
    made = Background("m", "r", "mean", 1, "", "", measure, "unrelated texts", (), values)
    scores = [*values[::25].tolist(), *random.normal(size=20).tolist(), -9.0, 9.0]
    expected = [percentileofscore(values, score, kind="mean") for score in scores]
    expected = [100 - each if measure == "euclidean" else each for each in expected]
    np.testing.assert_allclose([made.percentile_rank(score) for score in scores], expected)
    assert np.isnan(made.percentile_rank(float("nan")))
    percents = background_frame(made, None)
    np.testing.assert_allclose(percents.iloc[:, 1], np.percentile(values.astype(float), percents["percentile"]))


def test_ranks_are_symmetric_and_rise_with_the_cosine(opened: OpenedModel, unrelated: Background) -> None:
    vectors = sentence_vectors(opened, Options(LIST)).result
    ranks = percentile_matrix(vectors, unrelated)
    np.testing.assert_array_equal(ranks, ranks.T)
    assert np.isnan(np.diag(ranks)).all()
    cosines = vectors.vectors @ vectors.vectors.T
    upper = np.triu_indices(len(LIST), 1)
    order = np.argsort(cosines[upper])
    assert (np.diff(ranks[upper][order]) >= 0).all()
    assert ranks[1, 3] == 100
    assert rank_words(unrelated, 1.0) == "higher than all 19,900 pairs of unrelated texts"


def test_the_pairs_of_a_list_are_a_background(opened: OpenedModel) -> None:
    of_list = Options(LIST, values={"background": "this list"})
    made = background(opened, of_list).result
    assert (made.of, made.texts, made.pairs) == ("this list", tuple(dict.fromkeys(LIST)), 6)
    long = Options(tuple(f"text {place}" for place in range(700)), values={"background": "this list"})
    answer = background(opened, long)
    assert answer.result.pairs == MOST_TEXTS * (MOST_TEXTS - 1) // 2
    assert any("500 of the 700 different texts" in each for each in answer.notices)
    with pytest.raises(TextError, match="at least 3 different texts, and 2 came"):
        background(opened, replace(of_list, texts=(*LIST[:2], LIST[0])))
    defaults = {"pooling": "recommended", "layer": "6", "measure": "cosine", "query_prompt": "as the list"}
    typed = Options(LIST, values=defaults)
    assert background_options(opened, typed, vector_options(opened, typed)) == Options(), "one answer for every list"


def test_other_measures_and_recipes_have_their_own(opened: OpenedModel) -> None:
    library = SentenceTransformer(str(bundled_folder(MODEL)), device="cpu")
    vectors = library.encode(list(unrelated_texts())).astype(np.float64)
    apart = background(opened, Options(values={"measure": "euclidean"})).result
    np.testing.assert_allclose(apart.similarities, np.sort(pdist(vectors)), atol=1e-5)
    assert rank_words(apart, 0.0) == "closer than all 19,900 pairs of unrelated texts"
    raw = background(opened, Options(values={"pooling": "cls", "layer": "0"})).result
    np.testing.assert_allclose(raw.similarities, 1, atol=1e-5)  # the first token's embedding is that of every text


def test_a_query_with_its_own_prompt_is_compared_with_such_pairs(tiny: OpenedModel) -> None:
    values = {"query_prompt": "query"}
    made = background(tiny, Options(values=values)).result
    library = SentenceTransformer(tiny.name, device="cpu")
    texts = list(made.texts)
    one, other = (library.encode(texts, prompt_name=name).astype(np.float64) for name in ("query", "document"))
    one, other = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (one, other))
    cosines = (one @ other.T)[~np.eye(len(texts), dtype=bool)]
    np.testing.assert_allclose(made.similarities, np.sort(cosines), atol=1e-5)
    assert (made.prompt, made.query_prompt) == ("my pet ", "the river : ")


def test_texts_that_a_tokenizer_does_not_know_are_named(tiny: OpenedModel, opened: OpenedModel) -> None:
    texts, notices = known_texts(tiny.tokenizer, recommended(tiny.source, tiny.settings))
    assert texts == unrelated_texts()
    assert "knows few words" in notices[0]
    assert known_texts(opened.tokenizer, recommended(opened.source, opened.settings)) == (unrelated_texts(), ())


def test_two_models_have_each_their_own(opened: OpenedModel, tiny: OpenedModel, unrelated: Background) -> None:
    both = two_backgrounds(tiny, Options(values={OTHER.key: MODEL}))
    assert [each.model for each in both.result] == [tiny.source.name, MODEL]
    np.testing.assert_allclose(both.result[1].similarities, unrelated.similarities, atol=2e-6)
    rounded = two_backgrounds(opened, Options(values={OTHER.key: "itself, rounded to bfloat16"})).result
    assert rounded[0] is unrelated
    assert 1e-5 < np.abs(rounded[1].similarities - unrelated.similarities).max() < 0.05
    assert is_quick(tiny, Options(values={OTHER.key: "itself, rounded to bfloat16"}))


def test_only_a_models_own_recipe_is_compared_without_being_asked_for(opened: OpenedModel, tiny: OpenedModel) -> None:
    own = {"pooling": "recommended", "layer": "6", "measure": "dot", "query_prompt": "as the list"}
    assert is_quick(opened, Options(LIST, values=own))
    for key, value in (("pooling", "cls"), ("layer", "5"), ("query_prompt", "query")):
        assert not is_quick(opened, Options(LIST, values={**own, key: value})), key
    assert is_quick(tiny, Options(values={"prompt": "document"}))
    assert not is_quick(tiny, Options(values={"prompt": "query"}))


def test_a_model_of_nan_is_refused_in_one_sentence(tmp_path: Path) -> None:
    folder = save_tiny("bert", tmp_path / "bert")
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    name = next(each for each in weights if "word_embeddings" in each)
    weights[name] = weights[name] * float("nan")
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    broken = OpenedModel(str(folder), Settings.from_environment(any_folder=True))
    with pytest.raises(BertvizError, match="NaN or infinity") as refusal:
        background(broken, Options())
    assert "\n" not in str(refusal.value)
