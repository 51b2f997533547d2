"""Models, runs, sources and ledgers that all sessions share."""

import gc
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from threading import Timer
from time import monotonic
from typing import Any, NamedTuple

import streamlit as st

from bertviz_core.checkpoints.rounding import Rounding, round_parameters, round_weights
from bertviz_core.errors import ModelNotFoundError, Progress, SupersededError, UnreachableHubError
from bertviz_core.models.catalog import type_facts
from bertviz_core.models.loading import LoadedModel, load_model, needed_nbytes
from bertviz_core.models.recording import RecordingCheck
from bertviz_core.models.sources import ModelSource, resolve
from bertviz_core.predictions.run import HeadModel, load_head
from bertviz_core.resources import ByteCache
from bertviz_core.trace.results import Tokens, Trace
from bertviz_core.trace.run import RUN_LOCK, give_back_memory, trace_unlocked
from bertviz_core.trace.tokenization import TextTokenizer, load_tokenizer, tokenize
from bertviz_core.trace.verification import check_recording, may_wait
from ui.cache.figures import cached_by_bytes, logged, shared
from ui.session import settings

REMEMBERED_S = 300.0
"""Seconds after which the Hub is asked again without a click."""
MOST_UNREACHED = 100
"""Most names that are remembered."""


@dataclass(frozen=True, slots=True)
class SourceKey:
    """Cache key of a model; it changes with the model's files."""

    name: str
    kind: str
    revision: str
    """Changes when the model's files change."""
    has_weights: bool


class Unreached(NamedTuple):
    """A model for which the Hub could not be reached."""

    message: str
    suggestion: str
    """Name of a similar model; "" if there is none."""
    since: float
    """When it was not reached, by the monotonic clock in seconds."""


def source(name: str) -> ModelSource:
    """Return the source of a model, looked up each time, since files change."""
    known = _unreached().get(name)
    if known is not None and monotonic() - known.since < REMEMBERED_S:
        try:
            return resolve(name, replace(settings(), allow_hub=False))  # it may have been copied here since
        except ModelNotFoundError:
            error = UnreachableHubError(known.message)
            error.suggestion = known.suggestion
            raise error from None
    try:
        return resolve(name, settings())
    except UnreachableHubError as error:
        names = _unreached()
        names[name] = Unreached(str(error), error.suggestion, monotonic())
        for old in list(names)[:-MOST_UNREACHED]:
            names.pop(old, None)
        raise


def forget_unreached() -> None:
    """Ask the Hub again for every name at the next look-up."""
    _unreached().clear()


@st.cache_resource(max_entries=1, show_spinner=False)
def _unreached() -> dict[str, Unreached]:
    """Names for which the Hub could not be reached, the latest last."""
    return {}


def source_key(name: str) -> SourceKey:
    """Return the cache key of a model for its current files."""
    return _source_key(source(name))


def _source_key(current: ModelSource) -> SourceKey:
    return SourceKey(current.name, current.kind, current.revision, current.has_weights)


def answer_key(name: str) -> tuple[SourceKey, str]:
    """Cache key of a model's answers: its files, and the source of its attention if that is not recorded.

    So results are computed again once recorded attention has failed its comparison.
    """
    origin = source(name)
    model: LoadedModel | None = loaded_models().get(_model_key(origin))
    attention = "" if model is None or model.attention_source == "recorded" else model.attention_source
    return _source_key(origin), attention


def tasks(name: str) -> tuple[str, ...]:
    """Tasks for which the model's family has a class."""
    facts = type_facts(source(name).model_type)
    return facts.tasks if facts else ()


WAIT_S = 0.05
"""Seconds between two checks whether a waiting run is still needed."""
CHECK_AFTER_S = 2.0
"""Seconds until recorded attention is compared with the model's own, so that the first page does not wait for it."""
Key = tuple[str, str, str, str, str, str | None, bytes]


class TraceCache:
    """The most recently used traces up to a budget of bytes; thread-safe."""

    def __init__(self, max_nbytes: int) -> None:
        """Create a cache of at most max_nbytes bytes of arrays."""
        self._traces = ByteCache(max_nbytes)

    @property
    def nbytes(self) -> int:
        """Bytes of all cached traces; never above the budget."""
        return self._traces.nbytes

    def __len__(self) -> int:
        """Number of cached traces."""
        return len(self._traces)

    def cached(self, loaded: LoadedModel, tokens: Tokens) -> Trace | None:
        """The cached trace of a model and its tokens; None where there is none."""
        return self._get(_key(loaded, tokens))

    def trace(
        self,
        loaded: LoadedModel,
        tokens: Tokens,
        is_needed: Callable[[int], bool] | None = None,
        progress: Progress | None = None,
        expected_nbytes: int = 0,
        most_waiting: int | None = None,
    ) -> Trace:
        """Return the cached trace of a model and its tokens, or run the model when it is free.

        Callers that wait for the same trace share one run. A caller that no longer wants the trace stops waiting:
        `is_needed` is called with the number of runs ahead, and may raise. Older traces are dropped to make room for
        the expected bytes.
        """
        result = self._get(_key(loaded, tokens))
        if result is not None:
            return result
        with RUN_LOCK.place(most_waiting) as place:
            its_turn = False
            while result is None:
                if is_needed is not None and not is_needed(place.ahead):
                    raise SupersededError
                if its_turn:
                    self._traces.make_room(expected_nbytes)
                    with logged("run", "trace", lambda: {"model": loaded.name, "tokens": len(tokens)}):
                        result = trace_unlocked(loaded, tokens, progress, check_later=True)
                    self._put(_key(loaded, tokens), result)
                    _check_soon(loaded)
                else:
                    its_turn = place.wait(WAIT_S)
                    result = self._get(_key(loaded, tokens))
        return result

    def _get(self, key: Key) -> Trace | None:
        trace: Trace | None = self._traces.get(key)
        return trace

    def _put(self, key: Key, trace: Trace) -> None:
        """Cache a trace, unless it is larger than the whole budget."""
        if trace.nbytes <= self._traces.max_nbytes:
            self._traces.put(key, trace, trace.nbytes)


def _key(loaded: LoadedModel, tokens: Tokens) -> Key:
    source = loaded.attention_source  # a model that failed its comparison is run again
    return loaded.name, loaded.revision, loaded.dtype, source, tokens.text, tokens.pair, tokens.input_ids.tobytes()


def _check_soon(loaded: LoadedModel) -> None:
    """Schedule the comparison of a model's recorded attention with its own, unless it has been made."""
    if may_wait(loaded) and loaded.recording_check is None:
        timer = Timer(CHECK_AFTER_S, checked, (loaded,))
        timer.daemon = True
        timer.start()


def checked(loaded: LoadedModel) -> RecordingCheck | None:
    """Return the result of the comparison, made now if needed; None for a model that failed it."""
    if loaded.attention_source == "recorded" and loaded.recording_check is None:
        with RUN_LOCK:
            check_recording(loaded)
    return loaded.recording_check


BYTES_PER_ENTRY = 300
"""Bytes per entry of a loaded vocabulary; measured: 144 for 30,000 word pieces, 284 for 250,000 unigrams."""


def loaded(name: str, rounding: Rounding | None = None) -> LoadedModel:
    """Return a model in memory, loaded from its current files, and rounded to a number format if one is named."""
    return _loaded(source(name), rounding)


def fits(name: str) -> bool:
    """Whether a model is in memory, or can be loaded without dropping another."""
    origin, cache = source(name), loaded_models()
    is_loaded = cache.get(_model_key(origin)) is not None
    return is_loaded or cache.nbytes + needed_nbytes(origin, settings()) <= cache.max_nbytes


def with_head(name: str, task: str, rounding: Rounding | None = None) -> HeadModel:
    """A loaded model, or its rounded copy, with the head of a task; both share the base weights."""
    origin = source(name)
    base = _loaded(origin, rounding)

    def load() -> HeadModel:
        head = load_head(origin, settings(), task, base)
        if rounding is None:
            return head
        round_parameters(head.model, rounding, tuple(base.model.parameters()))
        return replace(head, name=base.name)

    words = "Loading the task head" if rounding is None else "Loading the task head, and rounding its weights"
    head = _cached_head((*_model_key(origin, rounding), task), base, load, words)
    _loaded(
        source(name), rounding
    )  # marks the base as used last, so that the head, which refers to it, is dropped first
    return head


def _cached_head(key: Hashable, base: LoadedModel, load: Callable[[], HeadModel], words: str) -> HeadModel:
    """Return the cached head of a base model; it is loaded again where the base was dropped and loaded again."""
    cache = loaded_models()
    head = shared(cache, key, load, _head_nbytes, words)
    if head.base is not base:
        cache.pop(key, head)
        head = shared(cache, key, load, _head_nbytes, words)
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


def _model_key(origin: ModelSource, rounding: Rounding | None = None) -> tuple[Hashable, ...]:
    return origin.name, origin.kind, origin.revision, *((rounding,) if rounding else ())


def _loaded(origin: ModelSource, rounding: Rounding | None = None) -> LoadedModel:
    cache, again = loaded_models(), "Loading the model once more, and rounding its weights"

    def load() -> LoadedModel:
        _make_room(cache, needed_nbytes(origin, settings()))
        model = load_model(origin, settings())
        return model if rounding is None else round_weights(model, rounding)

    words = "Loading the model" if rounding is None else again
    return shared(cache, _model_key(origin, rounding), load, lambda loaded: sum(_tensors(loaded.model).values()), words)


def _make_room(cache: ByteCache, nbytes: int) -> None:
    """Free dropped models before a load, by garbage collection: modules and their hooks form reference cycles."""
    if cache.make_room(nbytes):
        gc.collect()
        give_back_memory(nbytes)


@st.cache_resource(max_entries=1, show_spinner=False)
def loaded_models() -> ByteCache:
    """The cache of models; one that is dropped during a run stays in memory until the run ends."""
    return ByteCache(settings().max_loaded_bytes)


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
