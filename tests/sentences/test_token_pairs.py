"""Token pairs: the cells add up to the cosine if they are exact, and are marked otherwise."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bertviz_core.errors import UnsupportedModelError
from bertviz_core.models.loading import load_model
from bertviz_core.models.sources import resolve
from bertviz_core.sentences.encoding import prompt_tokens, sentence_tokens, sentence_vectors
from bertviz_core.sentences.plan import recommended
from bertviz_core.sentences.pooling import token_pair_shares
from bertviz_core.sentences.results import ADDITIVE_POOLINGS, DenseLayer, Pooling, SentencePlan, TokenPairShares
from bertviz_core.sentences.similarity import similarity_matrix
from bertviz_core.settings import Settings
from bertviz_core.trace.results import Trace
from bertviz_core.trace.run import trace
from bertviz_core.trace.tokenization import load_tokenizer
from tests.helpers.families_table import FamilyRun, family_run
from tests.helpers.tiny_models import FAMILIES, HIDDEN, LAYERS

FIRST, SECOND = "I love my pet python.", "the pythons, my love"
DIMENSIONS = 5


def traces(run: FamilyRun, plan: SentencePlan) -> tuple[Trace, Trace]:
    first, second = (trace(run.loaded, sentence_tokens(run.tokenizer, text, plan)) for text in (FIRST, SECOND))
    return first, second


def cosine(run: FamilyRun, plan: SentencePlan) -> float:
    vectors = sentence_vectors(run.loaded, run.tokenizer, (FIRST, SECOND), plan).vectors
    return float(similarity_matrix(vectors)[0, 1])


def shares(run: FamilyRun, plan: SentencePlan) -> TokenPairShares:
    return token_pair_shares(*traces(run, plan), plan, prompt_tokens(run.tokenizer, plan))


def dense(activation: str, bias: bool, columns: int = HIDDEN) -> DenseLayer:
    made = np.random.default_rng(columns)
    weight = made.normal(size=(DIMENSIONS, columns)).astype(np.float32)
    return DenseLayer(weight, made.normal(size=DIMENSIONS).astype(np.float32) if bias else None, activation)


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in ("canine", "funnel")])
@pytest.mark.sample(1)
def test_the_cells_add_up_to_the_cosine_of_every_family(name: str) -> None:
    run = family_run(name)
    plans = [SentencePlan("mean"), SentencePlan("mean", 1, normalize=True), SentencePlan("max")]
    for plan in (*plans, SentencePlan("weightedmean"), SentencePlan("mean_sqrt_len_tokens", 0)):
        found = shares(run, plan)
        assert found.exact
        assert float(found.cells.sum(dtype=np.float64)) == pytest.approx(cosine(run, plan), abs=1e-5)
        assert found.score == pytest.approx(found.total, abs=1e-6)


def test_a_cell_is_the_dot_product_over_counts_and_lengths() -> None:
    run = family_run("bert")
    plan = SentencePlan("mean", 2)
    found = shares(run, plan)
    a, b = (each.hidden_states[2].astype(np.float64) for each in traces(run, plan))
    lengths = np.linalg.norm(a.mean(axis=0)) * np.linalg.norm(b.mean(axis=0))
    assert found.layer == 2
    assert found.cells.shape == (len(a), len(b)) == (len(found.first_tokens), len(found.second_tokens))
    for i, j in ((0, 0), (3, 2), (len(a) - 1, len(b) - 1)):
        assert found.cells[i, j] == pytest.approx(float(a[i] @ b[j]) / (len(a) * len(b) * lengths), abs=1e-6)


def test_totals_words_and_the_largest_pairs() -> None:
    found = shares(family_run("bert"), SentencePlan("mean"))
    np.testing.assert_allclose(found.first_totals, found.cells.sum(axis=1), atol=1e-6)
    np.testing.assert_allclose(found.second_totals, found.cells.sum(axis=0), atol=1e-6)
    assert found.first_words == ("[CLS]", "I", "love", "my", "pet", "python", ".", "[SEP]")
    assert found.second_words == ("[CLS]", "the", "pythons", ",", "my", "love", "[SEP]")
    assert found.word_cells.sum() == pytest.approx(found.total, abs=1e-6)
    # "pythons" is "python" and "##s": its word has both.
    pieces = [place for place, token in enumerate(found.second_tokens) if token in ("python", "##s")]
    assert len(pieces) == 2
    assert found.second_word_totals[2] == pytest.approx(float(found.second_totals[pieces].sum()), abs=1e-6)
    np.testing.assert_allclose(found.first_word_totals, found.word_cells.sum(axis=1), atol=1e-6)
    values = [pair.share for pair in found.top]
    assert values == sorted(values, reverse=True)
    assert values[0] == pytest.approx(float(found.cells[1:-1, 1:-1].max()), abs=1e-7)
    assert all(0 < pair.first < len(found.first_tokens) - 1 for pair in found.top)


def test_a_character_that_two_tokens_share_is_in_a_word_once() -> None:
    """As for a single space in SentencePiece, and for parts of a letter in byte-level vocabularies (RoBERTa)."""
    plan, run = SentencePlan("mean"), family_run("bert")
    first, second = traces(run, plan)
    tokens = first.tokens
    assert tokens.offsets is not None
    spans = (None, (0, 1), (0, 1), (2, 4), *tokens.offsets[4:])
    words = (None, 0, 0, 0, *range(1, len(tokens) - 4), None)
    changed = replace(first, tokens=replace(tokens, offsets=spans, word_ids=words))
    found = token_pair_shares(changed, second, plan)
    assert found.first_words == ("[CLS]", "I", "lo", "pet", "python", ".", "[SEP]")


@pytest.mark.parametrize("pooling", ADDITIVE_POOLINGS)
@pytest.mark.parametrize("bias", [True, False])
def test_linear_dense_layers_keep_the_sum_exact(pooling: Pooling, bias: bool) -> None:
    run = family_run("bert")
    layers = dense("identity", bias), dense("identity", bias, DIMENSIONS)
    plan = SentencePlan(pooling, dense=layers, truncate_dim=DIMENSIONS - 2)
    found = shares(run, plan)
    assert found.exact
    assert float(found.cells.sum(dtype=np.float64)) == pytest.approx(cosine(run, plan), abs=1e-5)


@pytest.mark.parametrize(
    ("plan", "word"),
    [
        (SentencePlan("cls"), "first token"),
        (SentencePlan("pooler"), "pooler"),
        (SentencePlan("lasttoken", 2), "last token"),
        (SentencePlan("mean", dense=(dense("tanh", True),)), "tanh"),
        (SentencePlan("max", dense=(dense("relu", False),)), "relu"),
    ],
    ids=["cls", "pooler", "last token", "tanh", "relu"],
)
def test_an_approximation_says_so_with_both_numbers(plan: SentencePlan, word: str) -> None:
    run = family_run("bert")
    found = shares(run, plan)
    assert not found.exact
    assert found.score == pytest.approx(cosine(run, plan), abs=1e-5)
    assert float(found.cells.sum()) == pytest.approx(found.total, abs=1e-5)
    assert found.note.startswith("An approximation")
    assert word in found.note
    assert f"{found.total:.4f}" in found.note
    assert f"{found.score:.4f}" in found.note
    near = SentencePlan("max" if plan.pooling == "max" else "mean", plan.layer)
    assert found.total == pytest.approx(cosine(run, near), abs=1e-5)


def test_a_prompt_that_is_not_pooled_has_empty_rows() -> None:
    run = family_run("bert")
    plan = SentencePlan("mean", prompt="the river: ", include_prompt=False)
    found = shares(run, plan)
    skipped = prompt_tokens(run.tokenizer, plan)
    assert found.first_tokens[:skipped] == ("[CLS]", "the", "river", "[UNK]")
    assert not found.cells[:skipped].any()
    assert not found.cells[:, :skipped].any()
    assert found.total == pytest.approx(cosine(run, plan), abs=1e-5)
    assert cosine(run, plan) != pytest.approx(cosine(run, replace(plan, include_prompt=True)), abs=1e-4)


@pytest.mark.slow
def test_the_bundled_model_with_its_own_plan_and_a_long_text() -> None:
    settings = Settings.from_environment()
    source = resolve("all-MiniLM-L6-v2", settings)
    plan = recommended(source, settings)
    loaded, tokenizer = load_model(source, settings), load_tokenizer(source, settings)
    texts = ("The bank of the river was steep. " * 60, "They climbed the riverside.")
    first, second = (trace(loaded, sentence_tokens(tokenizer, text, plan)) for text in texts)
    found = token_pair_shares(first, second, plan)
    vectors = sentence_vectors(loaded, tokenizer, texts, plan).vectors
    assert found.cells.shape[0] == 256
    assert float(found.cells.sum(dtype=np.float64)) == pytest.approx(float(vectors[0] @ vectors[1]), abs=1e-5)


def test_vectors_of_zeros_have_cells_of_zeros() -> None:
    run = family_run("bert")
    first, second = traces(run, SentencePlan("mean"))
    empty = replace(first, hidden_states=np.zeros_like(first.hidden_states))
    found = token_pair_shares(empty, second, SentencePlan("mean"))
    assert not found.cells.any()
    assert (found.score, found.total) == (0.0, 0.0)


def test_traces_that_do_not_fit_are_a_mistake() -> None:
    run, other = family_run("bert"), family_run("distilbert")
    first, second = traces(run, SentencePlan("mean"))
    foreign: Any = traces(other, SentencePlan("mean"))[0]
    assert run.traces is not None
    for pair, plan in (
        ((first, foreign), SentencePlan("mean")),
        ((first, run.traces[1]), SentencePlan("mean")),
        ((first, second), SentencePlan("mean", max_seq_length=3)),
    ):
        with pytest.raises(ValueError, match=r"trace|tokens"):
            token_pair_shares(*pair, plan)
    with pytest.raises(UnsupportedModelError, match="no pooler"):
        token_pair_shares(foreign, foreign, SentencePlan("pooler", LAYERS))
