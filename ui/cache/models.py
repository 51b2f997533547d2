"""Models, tokenizers and traces that sessions share, each within its bytes: one load and one run at a time."""

import gc
from typing import Any

import streamlit as st

from bertviz_core.checkpoints.rounding import Rounding, round_weights
from bertviz_core.errors import BertvizError
from bertviz_core.models.loading import LoadedModel, load_model, needed_nbytes
from bertviz_core.models.local_files import tokenizer_folder
from bertviz_core.models.sources import ModelSource, resolve
from bertviz_core.predictions.loading import HeadModel, load_head
from bertviz_core.questions.byte_cache import ByteCache
from bertviz_core.settings import Settings
from bertviz_core.trace.recorded_arrays import give_back_memory
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import TextTokenizer, load_tokenizer, tokenize
from ui.cache.memoize import cached_by_bytes
from ui.cache.sources import SourceKey, source, source_key
from ui.cache.traces import TraceCache
from ui.session import model_names, settings

BYTES_PER_ENTRY = 300
"""Of a vocabulary, once loaded; 144 were measured with 30,000 word pieces, 284 with 250,000 unigrams."""


def loaded(name: str) -> LoadedModel:
    """A model in memory, as its files are now."""
    return _loaded(source(name))


def attention_source(name: str) -> str:
    """Where the attention of a model in memory comes from if not from what was recorded; "" for all other models.

    What is known of a model's attention is made anew once its recorded attention has failed its comparison.
    """
    origin = source(name)
    held: LoadedModel | None = loaded_models().get((origin.name, origin.kind, origin.revision))
    return "" if held is None or held.attention_source == "recorded" else held.attention_source


def rounded(name: str, rounding: Rounding) -> LoadedModel:
    """A model in memory with its weights rounded to a format, beside the model as it is."""
    origin, held = source(name), loaded_models()

    def load() -> LoadedModel:
        _make_room(held, needed_nbytes(origin, settings()))
        with st.spinner("Loading the model once more, and rounding its weights"):
            return round_weights(load_model(origin, settings()), rounding)

    return held.made((origin.name, origin.kind, origin.revision, rounding), load, _nbytes)


def with_head(name: str, task: str) -> HeadModel:
    """A model in memory with the head of a task around it; the base weights are in memory once.

    Raises:
        BertvizError: as bertviz_core.predictions.loading.load_head.
    """
    origin, base, held = source(name), loaded(name), loaded_models()
    key = (origin.name, origin.kind, origin.revision, task)

    def load() -> HeadModel:
        with st.spinner("Loading the head"):
            return load_head(origin, settings(), task, base)

    head = held.made(key, load, _head_nbytes)
    if head.base is not base:  # its base was let go and loaded anew
        held.pop(key)
        head = held.made(key, load, _head_nbytes)
    loaded(name)  # used last, so that the head, which holds on to it, is let go first
    return head


def tokenizer(name: str) -> TextTokenizer:
    """A model's tokenizer."""
    return _tokenizer(source_key(name))


def tokens(name: str, text: str, pair: str | None) -> Tokens:
    """A text, or a pair, as a model reads it."""
    return _tokens(source_key(name), text, pair)


def spelled(name: str, ids: list[int]) -> tuple[str, ...]:
    """Tokens of some rows of a model's vocabulary."""
    return _tokenizer(source_key(name)).spelled(ids)


def special_tokens(name: str) -> dict[str, str]:
    """Spelling -> role, such as cls, of the special tokens of a model; the role that BERT's names know comes first."""
    spellings = _tokenizer(source_key(name)).tokenizer.special_tokens_map
    roles = {role.removesuffix("_token"): str(spelling) for role, spelling in spellings.items()}
    first = sorted(roles, key=lambda role: role in ("bos", "eos"), reverse=True)
    return {roles[role]: role for role in first}


def tokenizer_names() -> tuple[str, ...]:
    """Models that are offered and whose tokenizer is on this machine."""
    current = settings()
    return tuple(name for name in model_names() if _has_tokenizer(name, current))


def _has_tokenizer(name: str, current: Settings) -> bool:
    try:
        tokenizer_folder(resolve(name, current), current)
    except BertvizError:
        return False
    return True


def _loaded(origin: ModelSource) -> LoadedModel:
    held = loaded_models()

    def load() -> LoadedModel:
        _make_room(held, needed_nbytes(origin, settings()))
        with st.spinner("Loading the model"):
            return load_model(origin, settings())

    return held.made((origin.name, origin.kind, origin.revision), load, _nbytes)


def _make_room(held: ByteCache, nbytes: int) -> None:
    """Let go of models before a load, so that both are never in memory: modules and their hooks refer to each other."""
    if held.make_room(nbytes):
        gc.collect()
        give_back_memory(nbytes)


@st.cache_resource(max_entries=1, show_spinner=False)
def loaded_models() -> ByteCache:
    """The models in memory; one that is let go while a run uses it stays until that run is over."""
    return ByteCache(settings().max_loaded_bytes)


def _nbytes(loaded: LoadedModel) -> int:
    return sum(_tensors(loaded.model).values())


def _head_nbytes(head: HeadModel) -> int:
    """Bytes of what a head has beside its base."""
    base = _tensors(head.base.model)
    return sum(nbytes for tensor, nbytes in _tensors(head.model).items() if tensor not in base)


def _tensors(model: Any) -> dict[int, int]:
    """Address of each parameter and buffer -> its bytes."""
    return {
        tensor.data_ptr() or id(tensor): tensor.numel() * tensor.element_size()
        for tensor in (*model.parameters(), *model.buffers())
    }


def tokenizer_nbytes(tokenizer: TextTokenizer) -> int:
    """About the bytes of a tokenizer: of its vocabulary's entries, which it keeps by word and by id."""
    return len(tokenizer.tokenizer) * BYTES_PER_ENTRY


@cached_by_bytes("Loading the tokenizer", tokenizer_nbytes)
def _tokenizer(key: SourceKey) -> TextTokenizer:
    return load_tokenizer(source(key.name), settings())


@cached_by_bytes()
def _tokens(key: SourceKey, text: str, pair: str | None) -> Tokens:
    return tokenize(_tokenizer(key), text, pair)


@st.cache_resource(max_entries=1, show_spinner=False)
def traces() -> TraceCache:
    """The traces that all sessions share."""
    return TraceCache(settings().max_trace_bytes)
