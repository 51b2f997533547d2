"""Runs are separate and correctly labelled, and their cache stays within its budget.

Covers `bertviz_core/errors.py`, `bertviz_core/models/recording.py`, `bertviz_core/trace/run.py`,
`bertviz_core/trace/cost.py`, `bertviz_core/trace/verification.py`, `ui/cache/models.py`.
"""

import dataclasses
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModel, ViTConfig, ViTModel

from bertviz_core.attention.maps import attention_probs
from bertviz_core.errors import Progress, SupersededError, TextError, UnsupportedModelError
from bertviz_core.hidden_states.embeddings import pooler_check
from bertviz_core.models.loading import LoadedModel, load_model
from bertviz_core.models.recording import recording
from bertviz_core.models.sources import folder_source, resolve
from bertviz_core.sentences.encoding import sentence_vectors
from bertviz_core.sentences.results import SentencePlan
from bertviz_core.settings import Settings
from bertviz_core.trace.cost import run_cost
from bertviz_core.trace.results import Tokens, Trace
from bertviz_core.trace.run import trace
from bertviz_core.trace.tokenization import TextTokenizer, load_tokenizer, tokenize
from tests.helpers.published import checkpoint
from tests.helpers.tiny_models import HEADS, LAYERS, PAIR, TEXT, save_tiny
from ui.cache import models
from ui.cache.models import TraceCache

SETTINGS = Settings.from_environment()
Opened = tuple[LoadedModel, TextTokenizer]


def opened(folder: Path, name: str, **changes: Any) -> Opened:
    source = folder_source(name, save_tiny(name, folder, **changes))
    return load_model(source, SETTINGS), load_tokenizer(source, SETTINGS)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Opened:
    return opened(tmp_path_factory.mktemp("bert"), "bert")


def arrays(value: Any) -> Iterator[Any]:
    """All arrays, numbers and strings of a result."""
    if dataclasses.is_dataclass(value):
        value = [getattr(value, field.name) for field in dataclasses.fields(value)]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, tuple | list):
        for each in value:
            yield from arrays(each)
    else:
        yield value


def test_a_trace_holds_numpy_and_nothing_of_torch(bert: Opened) -> None:
    loaded, tokenizer = bert
    found = trace(loaded, tokenize(tokenizer, TEXT, PAIR))
    chosen = list(arrays(found))
    assert {type(each) for each in chosen} <= {np.ndarray, str, int, float, type(None)}
    made = [each for each in chosen if isinstance(each, np.ndarray)]
    assert not any(array.flags.writeable for array in made)
    assert found.query is not None
    assert {array.dtype for array in (found.hidden_states, found.pooler_output, *found.query)} == {np.dtype("float32")}
    assert (found.device, found.dtype) == (loaded.device, "float32")
    assert found.num_hidden_layers == LAYERS
    assert found.num_attention_heads == HEADS
    assert found.seconds > 0


def test_nbytes_is_what_is_kept(bert: Opened) -> None:
    """No array of a trace keeps more memory alive than its own, and shared ones count once."""
    loaded, tokenizer = bert
    found = trace(loaded, tokenize(tokenizer, TEXT, PAIR))
    floats = {id(each): each for each in arrays(found) if isinstance(each, np.ndarray) and each.dtype == np.float32}
    texts = 4 * len(TEXT + PAIR)
    assert found.nbytes == sum(array.nbytes for array in floats.values()) + found.tokens.input_ids.nbytes + texts
    for array in floats.values():
        base = array
        while isinstance(base.base, np.ndarray):
            base = base.base
        assert base.nbytes == array.nbytes


def test_a_fused_projection_is_not_kept_whole(tmp_path: Path) -> None:
    loaded, tokenizer = opened(tmp_path, "modernbert")
    found = trace(loaded, tokenize(tokenizer, TEXT))
    assert found.value is not None
    for value in found.value:
        owner = value
        while isinstance(owner, np.ndarray) and owner.base is not None:
            owner = owner.base
        chosen = owner.nbytes if isinstance(owner, np.ndarray) else owner.untyped_storage().nbytes()
        assert chosen == value.nbytes


def test_the_bundled_model_equals_its_own_eager_run() -> None:
    source = resolve("all-MiniLM-L6-v2", SETTINGS)
    loaded, tokens = load_model(source, SETTINGS), tokenize(load_tokenizer(source, SETTINGS), TEXT, "Like any python.")
    own = AutoModel.from_pretrained(str(source.folder), attn_implementation="eager")
    inputs = {
        "input_ids": torch.tensor(tokens.input_ids)[None],
        "token_type_ids": torch.tensor(tokens.token_type_ids)[None],
    }
    with torch.no_grad():
        expected = own(**inputs, output_hidden_states=True, output_attentions=True)
    found = trace(loaded, tokens)
    assert found.num_hidden_layers == 6
    assert found.num_attention_heads == 12
    for state, other in zip(found.hidden_states, expected.hidden_states, strict=True):
        np.testing.assert_allclose(state, other[0], atol=1e-5)
    for layer in range(6):
        np.testing.assert_allclose(attention_probs(found, layer), expected.attentions[layer][0], atol=1e-5)
    check = pooler_check(loaded, found)
    assert check is not None
    assert check.max_difference < 1e-5


def test_two_threads_inside_the_same_model_never_mix(bert: Opened) -> None:
    """Both threads are in the same layer at the same time, layer by layer, and each records only its own text."""
    loaded, tokenizer = bert
    barrier = threading.Barrier(2, timeout=30)
    texts = [tokenize(tokenizer, TEXT), tokenize(tokenizer, PAIR, TEXT)]
    alone = [trace(loaded, tokens) for tokens in texts]

    def meet(*_: object) -> None:
        barrier.wait()

    hooks = [
        module.register_forward_pre_hook(meet)
        for name, module in loaded.model.named_modules()
        if name.endswith("attention.self")
    ]

    def run(tokens: Tokens) -> list[Any]:
        with torch.inference_mode(), recording() as records:
            loaded.model(input_ids=torch.tensor(tokens.input_ids)[None],
                         token_type_ids=torch.tensor(tokens.token_type_ids)[None])  # fmt: skip
            return [(record.query[0].numpy(), record.key[0].numpy()) for record in records]

    try:
        with ThreadPoolExecutor(2) as pool:
            together = list(pool.map(run, texts))
    finally:
        for hook in hooks:
            hook.remove()
    for found, records in zip(alone, together, strict=True):
        assert found.query is not None
        assert found.key is not None
        assert len(records) == LAYERS
        for layer, (query, key) in enumerate(records):
            np.testing.assert_allclose(query, found.query[layer], atol=1e-6)
            np.testing.assert_allclose(key, found.key[layer], atol=1e-6)


def test_nothing_is_recorded_where_nobody_listens(bert: Opened) -> None:
    loaded, tokenizer = bert
    ids = torch.tensor(tokenize(tokenizer, TEXT).input_ids)[None]
    with recording() as outer:
        with recording() as inner:
            loaded.model(input_ids=ids)
        assert len(inner) == LAYERS
        assert outer == []
    loaded.model(input_ids=ids)
    assert len(inner) == LAYERS


def test_many_threads_get_what_one_gets(bert: Opened, tmp_path: Path) -> None:
    other = opened(tmp_path, "mpnet")
    inputs = [(pair, f"{'my ' * count}python {TEXT}") for count in range(6) for pair in (bert, other)]
    alone = [trace(loaded, tokenize(tokenizer, text)) for (loaded, tokenizer), text in inputs]
    start = threading.Barrier(4, timeout=30)

    def part(offset: int) -> list[Trace]:
        start.wait()
        return [trace(pair[0], tokenize(pair[1], text)) for pair, text in inputs[offset::4]]

    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(part, range(4)))
    for index, expected in enumerate(alone):
        found = parts[index % 4][index // 4]
        assert found.tokens.text == expected.tokens.text
        np.testing.assert_array_equal(found.hidden_states, expected.hidden_states)
        np.testing.assert_array_equal(attention_probs(found, 1), attention_probs(expected, 1))


def test_a_model_that_records_in_part_falls_back_to_its_own_maps(tmp_path: Path) -> None:
    loaded, tokenizer = opened(tmp_path, "bert")
    tokens = tokenize(tokenizer, TEXT, PAIR)
    recorded = trace(loaded, tokens)
    deaf = AutoModel.from_pretrained(tmp_path, attn_implementation="eager").config
    loaded.model.encoder.layer[1].attention.self.config = deaf
    fallen = trace(loaded, tokens)
    assert (recorded.attention_source, fallen.attention_source) == ("recorded", "eager")
    assert fallen.query is None
    np.testing.assert_allclose(fallen.hidden_states, recorded.hidden_states, atol=1e-5)
    for layer in range(LAYERS):
        np.testing.assert_allclose(attention_probs(fallen, layer), attention_probs(recorded, layer), atol=1e-5)


def test_bigbird_is_full_for_short_texts_and_sparse_for_long_ones_in_any_order(tmp_path: Path) -> None:
    loaded, tokenizer = opened(tmp_path, "big_bird")
    short, long = tokenize(tokenizer, TEXT), tokenize(tokenizer, "love my pet python " * 9)
    heard: list[int] = []
    loaded.model.encoder.layer[1].register_forward_hook(lambda *_: heard.append(len(heard)))
    first, sparse = trace(loaded, short), trace(loaded, long)
    before = len(heard)
    again = trace(loaded, short)
    assert len(heard) > before > 0, "a hook of the caller's was taken away when the model changed its attention"
    assert (first.attention_source, sparse.attention_source, again.attention_source) == ("eager", "none", "eager")
    np.testing.assert_array_equal(first.hidden_states, again.hidden_states)
    np.testing.assert_array_equal(attention_probs(first, 2), attention_probs(again, 2))
    own = AutoModel.from_pretrained(tmp_path, attn_implementation="eager")
    with torch.no_grad():
        expected = own(input_ids=torch.tensor(long.input_ids)[None], output_hidden_states=True)
    for state, other in zip(sparse.hidden_states, expected.hidden_states, strict=True):
        np.testing.assert_allclose(state, other[0, : len(long)], atol=1e-5)


def test_another_models_tokens_are_refused(bert: Opened) -> None:
    tokens = tokenize(bert[1], TEXT)
    with pytest.raises(TextError, match=r"id 500.*37 rows"):
        trace(bert[0], dataclasses.replace(tokens, input_ids=tokens.input_ids + 500 - tokens.input_ids.max()))


def test_types_that_the_model_has_not_are_left_out(tmp_path: Path) -> None:
    loaded, tokenizer = opened(tmp_path, "bert", type_vocab_size=1)
    tokens = tokenize(tokenizer, TEXT, PAIR)
    without = trace(loaded, dataclasses.replace(tokens, token_type_ids=None))
    np.testing.assert_array_equal(trace(loaded, tokens).hidden_states, without.hidden_states)


def test_a_model_that_needs_more_than_a_text_says_so(tmp_path: Path, bert: Opened) -> None:
    loaded = load_model(folder_source("tiny", save_tiny("xmod", tmp_path, default_language=None)), SETTINGS)
    with pytest.raises(UnsupportedModelError, match="cannot be run on a text alone: Input language unknown"):
        trace(loaded, tokenize(bert[1], TEXT))


def test_a_model_of_pictures_says_that_it_reads_no_text(tmp_path: Path, bert: Opened) -> None:
    """With any tokenizer in its folder."""
    sizes = {"hidden_size": 12, "num_attention_heads": 2, "intermediate_size": 14, "image_size": 16, "patch_size": 8}
    ViTModel(ViTConfig(num_hidden_layers=3, **sizes)).save_pretrained(tmp_path)
    loaded = load_model(folder_source("tiny", tmp_path), SETTINGS)
    with pytest.raises(UnsupportedModelError, match="cannot be run on a text alone"):
        trace(loaded, tokenize(bert[1], TEXT))
    with pytest.raises(UnsupportedModelError, match="cannot be run on a text alone"):
        sentence_vectors(loaded, bert[1], [TEXT], SentencePlan("mean"))


def cached(cache: TraceCache, pair: Opened, text: str) -> Trace:
    return cache.trace(pair[0], tokenize(pair[1], text))


def test_the_cache_gives_the_same_trace_again(bert: Opened) -> None:
    cache = TraceCache(10**9)
    first = cached(cache, bert, TEXT)
    assert cached(cache, bert, TEXT) is first
    assert cached(cache, bert, PAIR) is not first
    assert cache.trace(bert[0], tokenize(bert[1], TEXT, "")) is not first
    assert len(cache) == 3
    assert cache.nbytes >= 3 * first.hidden_states.nbytes


def test_the_cache_keeps_to_its_bytes_and_lets_go_of_the_longest_unused(bert: Opened) -> None:
    texts = ["my pet", "my bank", "my river", "my python"]
    one = cached(TraceCache(10**9), bert, "my language").nbytes
    cache = TraceCache(3 * one)
    chosen = {text: cached(cache, bert, text) for text in texts[:3]}
    assert cached(cache, bert, texts[0]) is chosen[texts[0]]
    cached(cache, bert, texts[3])
    assert cache.nbytes <= 3 * one
    assert cached(cache, bert, texts[0]) is chosen[texts[0]]
    assert cached(cache, bert, texts[1]) is not chosen[texts[1]]
    small = TraceCache(one // 2)
    assert cached(small, bert, TEXT).tokens.text == TEXT
    assert (len(small), small.nbytes) == (0, 0)


def test_many_who_want_the_same_trace_get_one_run(bert: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []
    real = models.trace_unlocked

    def counted(loaded: LoadedModel, tokens: Tokens, progress: Progress | None, check_later: bool) -> Trace:
        runs.append(tokens.text)
        return real(loaded, tokens, progress, check_later)

    monkeypatch.setattr(models, "trace_unlocked", counted)
    cache, start = TraceCache(10**9), threading.Barrier(6, timeout=30)

    def ask(_: int) -> Trace:
        start.wait()
        return cached(cache, bert, TEXT)

    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(ask, range(6)))
    assert runs == [TEXT]
    assert all(each is found[0] for each in found)


def test_a_superseded_click_stops_waiting_and_runs_nothing(bert: Opened) -> None:
    cache = TraceCache(10**9)
    calls = []

    def is_needed(_ahead: int) -> bool:
        calls.append(True)
        return len(calls) < 3

    with models.RUN_LOCK, pytest.raises(SupersededError):
        cache.trace(bert[0], tokenize(bert[1], TEXT), is_needed)
    assert len(calls) == 3
    assert len(cache) == 0
    assert cache.trace(bert[0], tokenize(bert[1], TEXT), lambda ahead: ahead == 0).tokens.text == TEXT


def test_a_run_tells_its_layers_and_ends_where_it_is_no_longer_wanted(bert: Opened) -> None:
    tokens, progress_calls = tokenize(bert[1], TEXT), []

    def progress(done: int, layers: int) -> None:
        progress_calls.append((done, layers))
        if stop and done == 2:
            raise SupersededError

    stop = False
    layers = trace(bert[0], tokens, progress).num_hidden_layers
    assert progress_calls == [(done, layers) for done in range(1, layers + 1)]
    stop, progress_calls = True, []
    cache = TraceCache(10**9)
    with pytest.raises(SupersededError):
        cache.trace(bert[0], tokens, progress=progress)
    assert progress_calls == [(1, layers), (2, layers)]
    with models.RUN_LOCK.place() as next_one:
        assert next_one.ahead == 0
    assert len(cache) == 0


def test_the_memory_said_before_a_run_is_what_its_trace_takes(bert: Opened) -> None:
    tokens = tokenize(bert[1], TEXT)
    found, message = trace(bert[0], tokens), run_cost(bert[0], len(tokens))
    beside = (
        tokens.input_ids.nbytes + 4 * len(TEXT) + (0 if found.pooler_output is None else found.pooler_output.nbytes)
    )
    assert found.nbytes == message.nbytes + beside
    assert message.seconds == 0  # too little work to measure the machine
    assert run_cost(bert[0], 10_000).seconds > 0
    assert run_cost(bert[0], len(tokens), runs=1_000_000).seconds > 0  # many small runs are a lot of work


def test_older_traces_make_room_before_a_run(bert: Opened) -> None:
    first = trace(bert[0], tokenize(bert[1], TEXT))
    cache = TraceCache(2 * first.nbytes)
    cached(cache, bert, TEXT)
    cache.trace(bert[0], tokenize(bert[1], "Another."), expected_nbytes=2 * first.nbytes)
    assert len(cache) == 1


def test_an_error_frees_the_lock(bert: Opened) -> None:
    tokens, cache = tokenize(bert[1], TEXT), TraceCache(10**9)
    with pytest.raises(TextError):
        cache.trace(bert[0], dataclasses.replace(tokens, input_ids=tokens.input_ids + 500))
    assert cached(cache, bert, TEXT).tokens.text == TEXT


@pytest.fixture(scope="module")
def bert_base() -> Opened:
    """bert-base-uncased from the Hub's cache, or downloaded if the Hub is available."""
    source = checkpoint("bert-base-uncased")
    return load_model(source, SETTINGS), load_tokenizer(source, SETTINGS)


@pytest.mark.network
def test_source_documents_values_of_bert_base_uncased(bert_base: Opened) -> None:
    facts = json.loads(Path(__file__).with_name("bert_base_uncased.json").read_text())
    loaded, tokenizer = bert_base
    for text, ids in facts["input_ids"].items():
        assert tokenize(tokenizer, text).input_ids.tolist() == ids
    last = facts["last_hidden_state"]
    found = trace(loaded, tokenize(tokenizer, last["text"]))
    states = found.hidden_states[-1]
    assert [1, *states.shape] == last["shape"]
    for row, values in last["rows_first3_last3"].items():
        np.testing.assert_allclose([*states[int(row), :3], *states[int(row), -3:]], values, atol=2e-4)
    first = facts["cls_embedding_first"]
    np.testing.assert_allclose(states[0, : len(first)], first, atol=2e-4)
    assert found.pooler_output is not None
    pooled = facts["pooler_output_first"]
    np.testing.assert_allclose(found.pooler_output[: len(pooled)], pooled, atol=2e-4)
    check = pooler_check(loaded, found)
    assert check is not None
    assert check.max_difference < 1e-5
