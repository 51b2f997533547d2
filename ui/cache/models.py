"""Models, tokenizers and traces that all sessions share, each kind within its budget of bytes."""

import gc
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

import streamlit as st

from bertviz_core.checkpoints.rounding import Rounding, round_parameters, round_weights
from bertviz_core.models.loading import LoadedModel, load_model, needed_nbytes
from bertviz_core.models.sources import ModelSource
from bertviz_core.predictions.run import HeadModel, load_head
from bertviz_core.resources import ByteCache
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.run import give_back_memory
from bertviz_core.trace.tokenization import TextTokenizer, load_tokenizer, tokenize
from ui.cache.memoize import cached_by_bytes
from ui.cache.sources import SourceKey, source, source_key
from ui.cache.traces import TraceCache
from ui.session import settings

BYTES_PER_ENTRY = 300
"""Bytes per entry of a loaded vocabulary; measured: 144 for 30,000 word pieces, 284 for 250,000 unigrams."""


def loaded(name: str) -> LoadedModel:
    """Return a model in memory, loaded from its current files."""
    return _loaded(source(name))


def attention_source(name: str) -> str:
    """Return the source of a loaded model's attention if it is not recorded; "" for all other models.

    It is part of cache keys, so that results are recomputed once recorded attention has failed its comparison.
    """
    origin = source(name)
    loaded_model: LoadedModel | None = loaded_models().get((origin.name, origin.kind, origin.revision))
    return "" if loaded_model is None or loaded_model.attention_source == "recorded" else loaded_model.attention_source


def rounded(name: str, rounding: Rounding) -> LoadedModel:
    """A loaded model with its weights rounded to a number format."""
    origin, cache = source(name), loaded_models()

    def load() -> LoadedModel:
        _make_room(cache, needed_nbytes(origin, settings()))
        with st.spinner("Loading the model once more, and rounding its weights"):
            return round_weights(load_model(origin, settings()), rounding)

    return cache.get_or_compute((origin.name, origin.kind, origin.revision, rounding), load, _nbytes)


def with_head(name: str, task: str) -> HeadModel:
    """A loaded model with the head of a task; both share the base weights.

    Raises:
        BertvizError: the checkpoint has no such head, or cannot be loaded.
    """
    origin, base = source(name), loaded(name)

    def load() -> HeadModel:
        with st.spinner("Loading the head"):
            return load_head(origin, settings(), task, base)

    head = _cached_head((origin.name, origin.kind, origin.revision, task), base, load)
    loaded(name)  # marks the base as used last, so that the head, which refers to it, is dropped first
    return head


def rounded_head(name: str, task: str, rounding: Rounding) -> HeadModel:
    """A rounded copy of a model with the head of a task; errors are those of `with_head`."""
    origin, base = source(name), rounded(name, rounding)

    def load() -> HeadModel:
        with st.spinner("Loading the head, and rounding its weights"):
            head = load_head(origin, settings(), task, base)
            round_parameters(head.model, rounding, tuple(base.model.parameters()))
            return replace(head, name=base.name)

    head = _cached_head((origin.name, origin.kind, origin.revision, task, rounding), base, load)
    rounded(name, rounding)  # as above
    return head


def _cached_head(key: Hashable, base: LoadedModel, load: Callable[[], HeadModel]) -> HeadModel:
    """Return the cached head of a base model; it is loaded again where the base was dropped and loaded again."""
    cache = loaded_models()
    head = cache.get_or_compute(key, load, _head_nbytes)
    if head.base is not base:
        cache.pop(key)
        head = cache.get_or_compute(key, load, _head_nbytes)
    return head


def tokenizer(name: str) -> TextTokenizer:
    """A model's tokenizer."""
    return _tokenizer(source_key(name))


def tokens(name: str, text: str, pair: str | None) -> Tokens:
    """The tokens of a text, or of a pair."""
    return _tokens(source_key(name), text, pair)


def spelled(name: str, ids: list[int]) -> tuple[str, ...]:
    """The tokens with these ids in a model's vocabulary."""
    return _tokenizer(source_key(name)).spelled(ids)


def _loaded(origin: ModelSource) -> LoadedModel:
    cache = loaded_models()

    def load() -> LoadedModel:
        _make_room(cache, needed_nbytes(origin, settings()))
        with st.spinner("Loading the model"):
            return load_model(origin, settings())

    return cache.get_or_compute((origin.name, origin.kind, origin.revision), load, _nbytes)


def _make_room(cache: ByteCache, nbytes: int) -> None:
    """Free dropped models before a load, by garbage collection: modules and their hooks form reference cycles."""
    if cache.make_room(nbytes):
        gc.collect()
        give_back_memory(nbytes)


@st.cache_resource(max_entries=1, show_spinner=False)
def loaded_models() -> ByteCache:
    """The cache of models; one that is dropped during a run stays in memory until the run ends."""
    return ByteCache(settings().max_loaded_bytes)


def _nbytes(loaded: LoadedModel) -> int:
    return sum(_tensors(loaded.model).values())


def _head_nbytes(head: HeadModel) -> int:
    """Bytes of a head without its base model."""
    base = _tensors(head.base.model)
    return sum(nbytes for tensor, nbytes in _tensors(head.model).items() if tensor not in base)


def _tensors(model: Any) -> dict[int, int]:
    """Address of each parameter and buffer -> its bytes."""
    return {
        tensor.data_ptr() or id(tensor): tensor.numel() * tensor.element_size()
        for tensor in (*model.parameters(), *model.buffers())
    }


def tokenizer_nbytes(tokenizer: TextTokenizer) -> int:
    """Estimate the bytes of a tokenizer, which stores its vocabulary by word and by id."""
    return len(tokenizer.tokenizer) * BYTES_PER_ENTRY


@cached_by_bytes("Loading the tokenizer", tokenizer_nbytes)
def _tokenizer(key: SourceKey) -> TextTokenizer:
    return load_tokenizer(source(key.name), settings())


@cached_by_bytes()
def _tokens(key: SourceKey, text: str, pair: str | None) -> Tokens:
    return tokenize(_tokenizer(key), text, pair)


@st.cache_resource(max_entries=1, show_spinner=False)
def traces() -> TraceCache:
    """The cache of traces that all sessions share."""
    return TraceCache(settings().max_trace_bytes)
