"""Shares of positions add up to 1, and chunks alone and late are vectors of sentence-transformers and transformers.

Covers `bertviz_core/sentences/analysis/chunks.py`.
"""

from dataclasses import replace
from inspect import signature
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from transformers import CONFIG_MAPPING, AutoModel, AutoTokenizer

from bertviz_core.errors import TextError
from bertviz_core.models.catalog import bundled_folder
from bertviz_core.questions.opened import OpenedModel
from bertviz_core.sentences.analysis.chunks import (
    boundaries,
    chunk_vectors,
    cut_tokens,
    first_sentence,
    late_chunks,
    position_shares,
    whole_text,
    windows,
)
from bertviz_core.sentences.analysis.results import ChunkVectors
from bertviz_core.sentences.plan import recommended
from bertviz_core.sentences.results import DenseLayer, Pooling, SentencePlan
from bertviz_core.settings import Settings
from tests.helpers.decoders import DECODERS
from tests.helpers.tiny_models import HIDDEN, save_tiny, tiny_tokenizer

TEXT = "I love my pet. The python: a language! The river bank, the love of pythons."
LONG = " ".join(f"I love my pet, the w{each}. The river bank: w{each} python." for each in range(6))
MEAN = SentencePlan("mean")
RANDOM = np.random.default_rng(0)
LINEAR = DenseLayer(
    RANDOM.normal(size=(7, HIDDEN)).astype(np.float32), RANDOM.normal(size=7).astype(np.float32), "identity"
)
BENT = replace(LINEAR, activation="tanh")


def opened_folder(folder: Path) -> OpenedModel:
    return OpenedModel(str(folder), Settings.from_environment(any_folder=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny("bert", tmp_path_factory.mktemp("chunks") / "bert")


@pytest.fixture(scope="module")
def tiny(folder: Path) -> OpenedModel:
    return opened_folder(folder)


@pytest.fixture(scope="module")
def bundled() -> OpenedModel:
    return OpenedModel("all-MiniLM-L6-v2", Settings.from_environment(any_folder=True))


def states(folder: Path, ids: list[int]) -> np.ndarray:
    """The last hidden states by transformers, in float64."""
    model, row = AutoModel.from_pretrained(folder).eval(), torch.tensor([ids])
    types = {"token_type_ids": 0 * row} if "token_type_ids" in signature(model.forward).parameters else {}
    with torch.no_grad():
        hidden: np.ndarray = model(input_ids=row, **types).last_hidden_state[0].double().numpy()
    return hidden


def ids_of(folder: Path, text: str) -> list[int]:
    return list(AutoTokenizer.from_pretrained(folder)(text)["input_ids"])


def made(opened: OpenedModel, text: str, plan: SentencePlan = MEAN, *sizes: int) -> ChunkVectors:
    return chunk_vectors(opened.loaded, opened.tokenizer, text, plan, *sizes)


def cosines(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.asarray((one * other).sum(-1) / np.linalg.norm(one, axis=-1) / np.linalg.norm(other, axis=-1))


WEIGHTS = {
    "mean": lambda count: np.full(count, 1 / count),
    "weightedmean": lambda count: np.arange(1, count + 1) / np.arange(1, count + 1).sum(),
    "mean_sqrt_len_tokens": lambda count: np.full(count, 1 / np.sqrt(count)),
}


@pytest.mark.parametrize("pooling", WEIGHTS)
@pytest.mark.parametrize("dense", [(), (LINEAR,)], ids=["plain", "dense"])
def test_the_share_of_a_token_is_its_part_along_the_vector(
    folder: Path, tiny: OpenedModel, pooling: Pooling, dense: tuple[DenseLayer, ...]
) -> None:
    plan = SentencePlan(pooling, normalize=True, dense=dense, truncate_dim=5 if dense else None)
    shares = position_shares(tiny.loaded, tiny.tokenizer, TEXT, plan)
    hidden = states(folder, ids_of(folder, TEXT))
    parts = hidden * WEIGHTS[pooling](len(hidden))[:, None]
    if dense:
        assert LINEAR.bias is not None
        parts = (parts @ LINEAR.weight.T.astype(np.float64) + LINEAR.bias / len(parts))[:, :5]
    vector = parts.sum(axis=0)
    np.testing.assert_allclose(shares.shares, parts @ vector / (vector @ vector), atol=1e-5)
    assert abs(shares.shares.sum() - 1) < 1e-9
    assert abs(shares.uniform.sum() - 1) < 1e-9
    assert shares.exact
    assert not shares.cut


def test_each_dimension_of_a_maximum_is_of_one_token(folder: Path, tiny: OpenedModel) -> None:
    shares = position_shares(tiny.loaded, tiny.tokenizer, TEXT, SentencePlan("max"))
    hidden = states(folder, ids_of(folder, TEXT))
    by_token = np.zeros(len(hidden))
    np.add.at(by_token, hidden.argmax(axis=0), hidden.max(axis=0) ** 2)
    np.testing.assert_allclose(shares.shares, by_token / by_token.sum(), atol=1e-5)


@pytest.mark.parametrize("pooling", ["cls", "lasttoken", "pooler"])
def test_a_pooling_that_is_no_sum_is_an_approximation_with_its_cosine(
    folder: Path, tiny: OpenedModel, pooling: Pooling
) -> None:
    shares = position_shares(tiny.loaded, tiny.tokenizer, TEXT, SentencePlan(pooling))
    hidden = states(folder, ids_of(folder, TEXT))
    mean = hidden.mean(axis=0)
    np.testing.assert_allclose(shares.shares, hidden @ mean / len(hidden) / (mean @ mean), atol=1e-5)
    assert not shares.exact
    assert shares.pooling == "mean"
    if pooling != "pooler":
        own = hidden[0 if pooling == "cls" else -1]
        assert f"{cosines(own, mean):.4f}" in shares.note


def test_dense_layers_that_are_not_linear_are_named(tiny: OpenedModel) -> None:
    shares = position_shares(tiny.loaded, tiny.tokenizer, TEXT, SentencePlan("mean", dense=(BENT,)))
    assert not shares.exact
    assert "not linear" in shares.note
    plain = position_shares(tiny.loaded, tiny.tokenizer, TEXT, MEAN)
    np.testing.assert_array_equal(shares.shares, plain.shares)


@pytest.mark.parametrize("side", ["right", "left"])
def test_what_is_cut_off_has_no_share(folder: Path, side: str) -> None:
    opened = opened_folder(folder)
    opened.tokenizer.tokenizer.truncation_side = side
    shares = position_shares(opened.loaded, opened.tokenizer, LONG, replace(MEAN, max_seq_length=20))
    count = len(ids_of(folder, LONG))
    assert (len(shares.tokens), shares.cut) == (20, count - 20)
    assert shares.cut_side == ("end" if side == "right" else "beginning")
    assert abs(shares.shares.sum() - 1) < 1e-9
    assert shares.uniform[0] == 1 / 20


def test_a_prompt_that_is_not_pooled_has_no_share(tiny: OpenedModel) -> None:
    plan = SentencePlan("mean", prompt="my pet : ", include_prompt=False)
    shares = position_shares(tiny.loaded, tiny.tokenizer, TEXT, plan)
    assert not shares.shares[:4].any()  # [CLS] my pet :
    assert not shares.uniform[:4].any()
    assert abs(shares.shares.sum() - 1) < 1e-9


def test_chunks_alone_are_vectors_of_sentence_transformers(bundled: OpenedModel) -> None:
    plan = recommended(bundled.source, bundled.settings)
    text = "The bees leave the hive in spring. They look for nectar. " * 3 + "A steel bridge spans the river. " * 9
    chunks = made(bundled, text, plan, 40, 8)
    library = SentenceTransformer(str(bundled_folder()), device="cpu")
    np.testing.assert_allclose(chunks.alone, library.encode(list(chunks.texts)), atol=2e-6)
    query = library.encode("the bees")
    shares = position_shares(bundled.loaded, bundled.tokenizer, text, plan)
    late = late_chunks(chunks, shares, "the bees", query)
    np.testing.assert_allclose(late.alone_scores, chunks.alone @ query, atol=2e-6)
    np.testing.assert_allclose(late.cosines, cosines(chunks.alone, chunks.late), atol=2e-6)
    np.testing.assert_array_equal(np.argsort(late.late_ranks), np.argsort(-late.late_scores, kind="stable"))
    assert late.moved == int(np.argmin(cosines(chunks.alone, chunks.late)))


@pytest.mark.parametrize("normalize", [False, True])
def test_late_chunks_are_means_of_one_long_run(folder: Path, tiny: OpenedModel, normalize: bool) -> None:
    chunks = made(tiny, TEXT, replace(MEAN, normalize=normalize), 6)
    hidden = states(folder, ids_of(folder, TEXT))
    assert chunks.windows == 1
    assert len(chunks.texts) > 2
    spans = [[start + 1, end + 1] for start, end in zip(chunks.starts, chunks.ends, strict=True)]
    spans[0][0], spans[-1][1] = 0, len(hidden)  # [CLS] and [SEP]
    for vector, (start, end) in zip(chunks.late, spans, strict=True):
        mean = hidden[start:end].mean(axis=0)
        np.testing.assert_allclose(vector, mean / (np.linalg.norm(mean) if normalize else 1), atol=2e-6)
    if not normalize:
        whole = (chunks.pooled[:, None] * chunks.late).sum(axis=0) / chunks.pooled.sum()
        np.testing.assert_allclose(whole, hidden.mean(axis=0), atol=2e-6)


@pytest.mark.parametrize("pooling", ["mean", "max", "weightedmean", "mean_sqrt_len_tokens", "lasttoken", "cls"])
@pytest.mark.parametrize("prompt", ["", "my pet : "])
@pytest.mark.parametrize("include_prompt", [True, False])
def test_one_chunk_that_is_the_whole_text_is_its_vector_in_both_ways(
    tiny: OpenedModel, pooling: Pooling, prompt: str, include_prompt: bool
) -> None:
    plan = SentencePlan(
        pooling, normalize=True, prompt=prompt, include_prompt=include_prompt, dense=(BENT,), truncate_dim=6
    )
    chunks = made(tiny, f"  {TEXT}\n", plan)
    assert chunks.texts == (TEXT,)
    np.testing.assert_allclose(chunks.late, chunks.alone, atol=1e-6)
    assert chunks.late.shape[1] == (HIDDEN if pooling == "cls" else 6)
    assert chunks.pooling == ("mean" if pooling == "cls" else pooling)
    assert any("which only the whole text has" in each for each in chunks.notices) == (pooling == "cls")


def test_windows_of_a_longer_text_are_runs_of_their_own(folder: Path, tiny: OpenedModel) -> None:
    chunks = made(tiny, LONG, replace(MEAN, max_seq_length=16), 7)
    ids = ids_of(folder, LONG)[1:-1]
    room, count = 14, len(ids)
    assert chunks.windows > 3
    hidden = np.full((count, HIDDEN), np.nan)
    runs = windows(count, room)
    for start, end, own, behind in runs:
        made_states = states(folder, [2, *ids[start:end], 3])
        hidden[own:behind] = made_states[1 + own - start : 1 + behind - start]
    assert not np.isnan(hidden).any()
    for index in range(1, len(chunks.texts) - 1):  # the first and the last have special tokens, too
        mean = hidden[chunks.starts[index] : chunks.ends[index]].mean(axis=0)
        np.testing.assert_allclose(chunks.late[index], mean, atol=2e-6)
    assert any(f"reads {room} at once" in each for each in chunks.notices)


@pytest.mark.parametrize(("count", "room"), [(15, 14), (100, 14), (29, 14), (1000, 254), (9, 1), (50, 3), (8192, 510)])
def test_windows_cover_the_text_once_and_share_a_quarter(count: int, room: int) -> None:
    runs = windows(count, room)
    assert [own for _, _, own, _ in runs] == [0, *(behind for *_, behind in runs[:-1])]
    assert runs[-1][3] == count
    for start, end, own, behind in runs:
        assert end - start == room
        assert 0 <= start <= own < behind <= end <= count
    for one, other in zip(runs, runs[1:], strict=False):
        assert one[1] - other[0] >= room // 4
        assert abs((one[1] - other[2]) - (other[2] - other[0])) <= 1  # as far from either edge


def decoder(folder: Path, kind: str) -> OpenedModel:
    torch.manual_seed(0)
    tokenizer = tiny_tokenizer()
    config = CONFIG_MAPPING[kind](**{**DECODERS[kind], "vocab_size": len(tokenizer), "initializer_range": 0.5})
    AutoModel.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return opened_folder(folder)


@pytest.mark.parametrize("kind", ["gpt2", "gpt_neox"])
def test_late_chunks_of_a_decoder_know_nothing_of_what_follows(kind: str, tmp_path: Path) -> None:
    opened = decoder(tmp_path / kind, kind)
    first = "I love my pet."
    plan = SentencePlan("lasttoken")
    one, other = (made(opened, f"{first} {rest}", plan, 5) for rest in ("The river bank.", "A python language."))
    np.testing.assert_allclose(one.late[0], other.late[0], atol=1e-6)
    assert any("from left to right" in each for each in one.notices)
    assert any("its last token" in each for each in one.notices)
    ids = ids_of(tmp_path / kind, f"{first} The river bank.")
    np.testing.assert_allclose(one.late[0], states(tmp_path / kind, ids)[5], atol=1e-5)


def test_an_encoder_reads_ahead(tiny: OpenedModel) -> None:
    assert not any("from left to right" in each for each in made(tiny, TEXT, MEAN, 5).notices)
    embedded = chunk_vectors(tiny.loaded, tiny.tokenizer, TEXT, replace(MEAN, layer=0), 5)
    assert not any("from left to right" in each for each in embedded.notices)


def test_chunks_end_at_sentences_and_are_the_whole_text(tiny: OpenedModel) -> None:
    text = "I love my pet. The python: a language! Why? The river bank, the love…\nMy river."
    chunks = made(tiny, text, MEAN, 9)
    assert "".join("".join(each.split()) for each in chunks.texts) == "".join(text.split())
    assert chunks.texts[0] == "I love my pet."
    assert all(each[-1] in ".!?…" for each in chunks.texts)
    assert (chunks.ends - chunks.starts).max() <= 9
    assert first_sentence(text) == "I love my pet."
    assert first_sentence("no end") == "no end"


@pytest.mark.parametrize("overlap", [0, 1, 3, 6])
@pytest.mark.parametrize("size", [1, 2, 7, 8, 50])
def test_every_token_is_in_a_chunk(size: int, overlap: int) -> None:
    if overlap >= size:
        return
    for seed in range(20):
        levels = np.random.default_rng(seed).choice([1, 1, 2, 3, 4], size=60)
        ranges = cut_tokens(levels, size, overlap)
        assert ranges[0][0] == 0
        assert ranges[-1][1] == 60
        for (start, end), (following, behind) in zip(ranges, ranges[1:], strict=False):
            assert start < following <= end < behind
            assert end - following <= overlap
        assert max(end - start for start, end in ranges) <= size


def test_no_character_is_cut_in_two(tiny: OpenedModel) -> None:
    levels = np.array([0, 0, 0, 1, 0, 0, 1])  # characters of three tokens each
    assert cut_tokens(levels, 1) == [(0, 3), (3, 6), (6, 7)]
    assert cut_tokens(levels, 5) == [(0, 3), (3, 7)]
    whole = whole_text(tiny.tokenizer, "pythons. The pet", MEAN)
    assert boundaries(whole).tolist() == [0, 1, 2, 4, 3]  # python ##s . the pet


@pytest.mark.parametrize(
    ("text", "sizes", "words"),
    [
        ("", (), "empty"),
        (" \n", (), "empty"),
        ("pet", (), "single token"),
        (TEXT, (0,), "give 1 to 27"),
        (TEXT, (-3,), "give 1 to 27"),
        (TEXT, (28,), "give 1 to 27"),
        (TEXT, (5, 5), "0 to 4"),
        (TEXT, (5, -1), "0 to 4"),
        ("pet " * 2_500, (1,), "at most 2,000"),
    ],
)
def test_bad_input_is_one_sentence(tiny: OpenedModel, text: str, sizes: tuple[int, ...], words: str) -> None:
    with pytest.raises(TextError, match=words):
        made(tiny, text, MEAN, *sizes)
    if not sizes:
        with pytest.raises(TextError, match=words):
            position_shares(tiny.loaded, tiny.tokenizer, text, MEAN)


@pytest.mark.parametrize("text", ["." * 100_000, ".\n" * 20_000, "\"'" * 40_000, "a" * 90_000, "🙂" * 5_000])
def test_a_hostile_text_is_read_quickly_or_refused(tiny: OpenedModel, text: str) -> None:
    started = perf_counter()
    try:
        whole = whole_text(tiny.tokenizer, text, MEAN)
        assert len(cut_tokens(boundaries(whole), 20, 3)) > 0
    except TextError:
        pass
    assert perf_counter() - started < 20


def test_a_long_text_of_a_model_with_many_positions_is_one_run(tmp_path: Path) -> None:
    changes: dict[str, Any] = {"max_position_embeddings": 4_100}
    opened = opened_folder(save_tiny("modernbert", tmp_path / "long", **changes))
    chunks = made(opened, "I love my pet. " * 800, MEAN, 128)
    assert chunks.windows == 1
    assert int(chunks.ends[-1]) == 4_000
    assert set((chunks.ends - chunks.starts).tolist()) == {125}
