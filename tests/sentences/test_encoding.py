"""Sentence vectors: independent of the rest of the list, equal to sentence-transformers', stored and read again.

Covers `bertviz_core/sentences/encoding.py`, `bertviz_core/sentences/pooling.py`,
`bertviz_core/sentences/similarity.py`.
"""

import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bertviz_core.errors import SupersededError, TextError, UnsupportedModelError
from bertviz_core.models.catalog import bundled_folder
from bertviz_core.models.loading import LoadedModel, load_model
from bertviz_core.models.sources import ModelSource, folder_source, resolve
from bertviz_core.sentences import encoding
from bertviz_core.sentences.encoding import batches, edge_tokens, sentence_tokens, sentence_vectors, tokenized
from bertviz_core.sentences.plan import recommended
from bertviz_core.sentences.pooling import offered_poolings
from bertviz_core.sentences.results import POOLINGS, EdgeTokens, Pooling, SentencePlan
from bertviz_core.sentences.similarity import pooling_comparison, similarity_matrix
from bertviz_core.sentences.store.vectors import SentenceStore
from bertviz_core.settings import Settings
from bertviz_core.trace.pieces import BYTES, reference_tokenizer
from bertviz_core.trace.run import RUN_LOCK, trace
from bertviz_core.trace.tokenization import TextTokenizer, load_tokenizer
from tests.helpers.families_table import family_run
from tests.helpers.tiny_models import FAMILIES, HIDDEN, LAYERS, TEXT, save_tiny

REFUSED = ("canine", "funnel")

SENTENCES = (
    "He sat by the bank of the river.",
    "The bank raised its interest rates.",
    "river",
    "The bank raised its interest rates.",
    "It is not raining; 雨は降っていません 🙂 \ud83d\ude42",
    "word " * 300,
)
TINY = (TEXT, "my pet", "the river bank", "py python , the language .", "w1 w2 w3 w4 w5 w6 w7 w8 w9", "love")


@cache
def bundled() -> tuple[ModelSource, LoadedModel, TextTokenizer]:
    settings = Settings.from_environment()
    source = resolve("all-MiniLM-L6-v2", settings)
    return source, load_model(source, settings), load_tokenizer(source, settings)


def plan() -> SentencePlan:
    return recommended(bundled()[0], Settings.from_environment())


def bare(pooling: Pooling, hidden: Any, pooler_output: Any) -> Any:
    """One vector by the definition, in float64."""
    wide = hidden.astype(np.float64)
    weights = np.arange(1, len(wide) + 1)
    ways = {"mean": wide.mean(axis=0), "cls": wide[0], "max": wide.max(axis=0), "pooler": pooler_output}
    return {**ways, "weightedmean": weights @ wide / weights.sum(), "lasttoken": wide[-1]}[pooling]


@pytest.mark.slow
def test_the_bundled_vectors_are_those_of_sentence_transformers() -> None:
    from sentence_transformers import SentenceTransformer

    _, loaded, tokenizer = bundled()
    texts = [text.encode("utf-16-le", "surrogatepass").decode("utf-16-le") for text in SENTENCES]
    found = sentence_vectors(loaded, tokenizer, texts, plan())
    expected = SentenceTransformer(str(bundled_folder()), device="cpu").encode(texts)
    np.testing.assert_allclose(found.vectors, expected, rtol=0, atol=1e-5)
    assert found.truncated.tolist() == [False] * 5 + [True]
    assert found.token_counts[-1] == 256
    assert found.notices[0].startswith("1 sentence cut off at the end")
    assert (found.computed, found.from_store, found.layer, found.dimensions) == (5, 0, 6, 384)
    assert not found.vectors.flags.writeable


@pytest.mark.slow
def test_order_and_company_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    _, loaded, tokenizer = bundled()
    together = sentence_vectors(loaded, tokenizer, SENTENCES, plan()).vectors
    alone = [sentence_vectors(loaded, tokenizer, [text], plan()).vectors[0] for text in SENTENCES]
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-6)
    backwards = sentence_vectors(loaded, tokenizer, SENTENCES[::-1], plan()).vectors
    np.testing.assert_allclose(together, backwards[::-1], rtol=0, atol=1e-6)
    monkeypatch.setitem(encoding.MAX_BATCH_TOKENS, "cpu", 100_000)
    padded = sentence_vectors(loaded, tokenizer, SENTENCES, plan()).vectors
    np.testing.assert_allclose(together, padded, rtol=0, atol=1e-6)
    np.testing.assert_array_equal(together[1], together[3])
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in REFUSED])
@pytest.mark.slow
def test_every_pooling_and_layer_of_every_family_is_the_traces(name: str) -> None:
    run = family_run(name)
    traces = [trace(run.loaded, sentence_tokens(run.tokenizer, text, SentencePlan("mean"))) for text in TINY]
    ways: list[tuple[Pooling, int | None]] = [("mean", None), ("max", 0), ("cls", LAYERS - 1)]
    ways += [("weightedmean", None), ("lasttoken", None)]
    for pooling, layer in [*ways, ("pooler", None)] if run.loaded.has_pooler else ways:
        found = sentence_vectors(run.loaded, run.tokenizer, TINY, SentencePlan(pooling, layer))
        assert found.layer == (LAYERS if layer is None else layer)
        expected = [bare(pooling, each.hidden_states[found.layer], each.pooler_output) for each in traces]
        np.testing.assert_allclose(found.vectors, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", REFUSED)
def test_a_family_without_a_vector_per_token_is_refused(name: str) -> None:
    run = family_run(name)
    with pytest.raises(UnsupportedModelError, match=name):
        pooling_comparison(run.loaded, run.tokenizer, TINY)


@pytest.mark.slow
def test_cached_and_fresh_vectors_are_equal(tmp_path: Path) -> None:
    _, loaded, tokenizer = bundled()
    fresh = sentence_vectors(loaded, tokenizer, SENTENCES, plan())
    first = sentence_vectors(loaded, tokenizer, SENTENCES, plan(), store=SentenceStore(tmp_path, 10**8))
    again = sentence_vectors(loaded, tokenizer, (*SENTENCES[::-1], "new"), plan(), store=SentenceStore(tmp_path, 10**8))
    assert (first.computed, first.from_store, again.computed, again.from_store) == (5, 0, 1, 5)
    np.testing.assert_array_equal(first.vectors, fresh.vectors)
    np.testing.assert_array_equal(again.vectors[:-1][::-1], fresh.vectors)
    assert again.token_counts[:-1][::-1].tolist() == fresh.token_counts.tolist()
    assert again.truncated[:-1][::-1].tolist() == fresh.truncated.tolist()


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    "changes",
    [
        {"pooling": "max"},
        {"layer": 3},
        {"normalize": False},
        {"prompt": "query: "},
        {"max_seq_length": 5},
        {"lower_case": True},
        {"truncate_dim": 7},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_the_store_never_gives_another_plans_vectors(tmp_path: Path, changes: dict[str, Any]) -> None:
    _, loaded, tokenizer = bundled()
    store = SentenceStore(tmp_path, 10**8)
    sentence_vectors(loaded, tokenizer, SENTENCES[:3], plan(), store=store)
    other = replace(plan(), **changes)
    found = sentence_vectors(loaded, tokenizer, SENTENCES[:3], other, store=store)
    assert found.computed == 3
    np.testing.assert_array_equal(found.vectors, sentence_vectors(loaded, tokenizer, SENTENCES[:3], other).vectors)


def test_what_was_computed_before_the_end_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(encoding.MAX_BATCH_TOKENS, "cpu", 8)
    _, loaded, tokenizer = bundled()
    store, progress_calls = SentenceStore(tmp_path, 10**8), []

    def stop(done: int, total: int) -> None:
        progress_calls.append((done, total))
        if done == 3:
            raise SupersededError

    with pytest.raises(SupersededError):
        sentence_vectors(loaded, tokenizer, SENTENCES, plan(), progress=stop, store=store)
    assert progress_calls[-1] == (3, 5)
    found = sentence_vectors(loaded, tokenizer, SENTENCES, plan(), store=store)
    assert (found.from_store, found.computed) == (3, 2)


def test_another_run_gets_its_turn_between_two_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(encoding.MAX_BATCH_TOKENS, "cpu", 1)
    _, loaded, tokenizer = bundled()
    turns: list[int] = []
    done_at = [0]

    def wait() -> None:
        with RUN_LOCK:
            turns.append(done_at[0])

    waiting = threading.Thread(target=wait)

    def progress(done: int, total: int) -> None:
        done_at[0] = done
        if done == 3:
            waiting.start()

    texts = [f"sentence {number}" for number in range(20)]
    sentence_vectors(loaded, tokenizer, texts, plan(), progress=progress)
    waiting.join()
    assert turns[0] < 20


@pytest.mark.slow
def test_bfloat16_gives_nearly_the_same_and_leaves_the_model_alone() -> None:
    _, loaded, tokenizer = bundled()
    whole = sentence_vectors(loaded, tokenizer, SENTENCES[:5], plan())
    half = sentence_vectors(loaded, tokenizer, SENTENCES[:5], plan(), dtype="bfloat16")
    assert (half.dtype, half.vectors.dtype) == ("bfloat16", np.float32)
    assert np.einsum("nd,nd->n", whole.vectors, half.vectors).min() >= 0.999
    again = sentence_vectors(loaded, tokenizer, SENTENCES[:5], plan())
    np.testing.assert_array_equal(again.vectors, whole.vectors)


def test_batches_hold_every_sentence_once_within_the_budget() -> None:
    _, loaded, _ = bundled()
    lengths = np.random.default_rng(0).integers(1, 600, 700).tolist()
    found = batches(loaded, lengths)
    assert sorted(index for batch in found for index in batch) == list(range(700))
    budget = encoding.MAX_BATCH_TOKENS["cpu"]
    assert all(len(batch) == 1 or max(lengths[each] for each in batch) * len(batch) <= budget for batch in found)
    assert max(lengths) in [lengths[each] for each in found[0]]
    padded = sum(max(lengths[each] for each in batch) * len(batch) for batch in found)
    assert padded <= 1.02 * sum(lengths)


def test_a_family_that_feels_padding_gets_none() -> None:
    run = family_run("fnet")
    for batch in batches(run.loaded, lengths := [3, 5, 3, 4, 5]):
        assert len({lengths[each] for each in batch}) == 1


@pytest.mark.parametrize(
    ("sentences", "chosen", "word"),
    [
        ((), SentencePlan("mean"), "no sentence"),
        (("a",), SentencePlan("mean", 7), "give 0 .* to 6"),
        (("a",), SentencePlan("mean", -1), "give 0 .* to 6"),
        (("a",), SentencePlan("pooler", 3), "last layer"),
        (("a" * 200_001,), SentencePlan("mean"), "200,001 characters"),
    ],
)
def test_what_a_user_can_cause_is_told(sentences: Sequence[str], chosen: SentencePlan, word: str) -> None:
    _, loaded, tokenizer = bundled()
    with pytest.raises(TextError, match=word):
        sentence_vectors(loaded, tokenizer, sentences, chosen)


def test_a_model_without_a_pooler_says_so() -> None:
    run = family_run("distilbert")
    with pytest.raises(UnsupportedModelError, match="no pooler"):
        sentence_vectors(run.loaded, run.tokenizer, TINY, SentencePlan("pooler"))


def test_a_very_long_cell_and_blank_sentences_have_vectors() -> None:
    _, loaded, tokenizer = bundled()
    found = sentence_vectors(loaded, tokenizer, ("x " * 50_000, "", " \n"), plan())
    assert found.truncated.tolist() == [True, False, False]
    np.testing.assert_array_equal(found.vectors[1], found.vectors[2])
    assert np.isfinite(found.vectors).all()


def test_weights_with_nan_give_a_notice_and_zero_weights_no_nan(tmp_path: Path) -> None:
    settings = Settings.from_environment()
    source = folder_source("tiny", save_tiny("bert", tmp_path))
    loaded, tokenizer = load_model(source, settings), load_tokenizer(source, settings)
    norm: Any = loaded.model.encoder.layer[-1].output.LayerNorm
    norm.weight.data.zero_()
    norm.bias.data.zero_()
    found = sentence_vectors(loaded, tokenizer, TINY, SentencePlan("mean", normalize=True))
    assert not found.vectors.any()
    assert "6 vectors of zeros" in found.notices[0]
    assert not similarity_matrix(found.vectors).any()
    norm.bias.data.fill_(float("nan"))
    broken = sentence_vectors(loaded, tokenizer, TINY, SentencePlan("mean"))
    assert "NaN" in broken.notices[0]


def test_what_stands_around_a_sentence_decides_which_poolings_there_are() -> None:
    run = family_run("bert")
    assert edge_tokens(run.tokenizer) == EdgeTokens("[CLS]", "[SEP]")
    assert edge_tokens(reference_tokenizer(BYTES, Settings.from_environment())) == EdgeTokens(None, "</s>")
    assert offered_poolings("[CLS]", True, "mean") == POOLINGS
    assert offered_poolings(None, False, "mean") == ("mean", "max", "lasttoken")
    assert offered_poolings(None, False, "cls") == ("mean", "cls", "max", "lasttoken")
    assert offered_poolings("<s>", False, "weightedmean") == ("mean", "cls", "max", "lasttoken", "weightedmean")


def test_the_poolings_compared() -> None:
    run = family_run("bert")
    found = pooling_comparison(run.loaded, run.tokenizer, TINY)
    assert (found.poolings, found.layers) == (POOLINGS, tuple(range(LAYERS + 1)))
    assert found.matrices is not None
    for row, pooling in enumerate(POOLINGS):
        for layer in found.layers:
            if pooling == "pooler" and layer < LAYERS:
                assert np.isnan(found.mean_cosine[row, layer])
                continue
            vectors = sentence_vectors(run.loaded, run.tokenizer, TINY, SentencePlan(pooling, layer)).vectors
            assert vectors.shape == (len(TINY), HIDDEN)
            matrix = similarity_matrix(vectors)
            np.testing.assert_allclose(found.matrices[row, layer], matrix, atol=1e-5)
            others = matrix[~np.eye(len(TINY), dtype=bool)]
            assert found.mean_cosine[row, layer] == pytest.approx(float(others.mean()), abs=1e-5)
            assert found.spread[row, layer] == pytest.approx(float(others.std()), abs=1e-5)


def test_the_comparison_wants_two_to_500_sentences() -> None:
    run = family_run("bert")
    for sentences in (TINY[:1], ["the"] * 501):
        with pytest.raises(TextError, match="2 to 500"):
            pooling_comparison(run.loaded, run.tokenizer, sentences)
    many = pooling_comparison(run.loaded, run.tokenizer, ["the pet", "my river"] * 33, layers=[1])
    assert many.matrices is None
    assert many.mean_cosine.shape == (5, 1)


def test_a_pooling_of_the_checkpoints_own_is_compared_too() -> None:
    run = family_run("bert")
    found = pooling_comparison(run.loaded, run.tokenizer, TINY, own="weightedmean")
    assert found.poolings == (*POOLINGS, "weightedmean")
    vectors = sentence_vectors(run.loaded, run.tokenizer, TINY, SentencePlan("weightedmean", 1)).vectors
    assert found.matrices is not None
    np.testing.assert_allclose(found.matrices[-1, 1], similarity_matrix(vectors), atol=1e-5)
    assert pooling_comparison(run.loaded, run.tokenizer, TINY, layers=[1], own="max").poolings == POOLINGS


def test_rows_are_the_tokenizers_own() -> None:
    run = family_run("bert")
    chunks = list(tokenized(run.tokenizer, TINY * 100, SentencePlan("mean", max_seq_length=6)))
    rows = [row for chunk in chunks for row in chunk]
    assert len(rows) == 600
    for text, row in zip(TINY, rows, strict=False):
        tokens = sentence_tokens(run.tokenizer, text, SentencePlan("mean", max_seq_length=6))
        assert row.input_ids.tolist() == tokens.input_ids.tolist()
        assert row.truncated == (sum(tokens.tokens_cut) > 0)
