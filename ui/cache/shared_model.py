"""Open models, corpora and training runs of this instance for questions, whose answers all sessions share."""

from abc import abstractmethod
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
import streamlit as st

from bertviz_core.checkpoints.rounding import Rounding
from bertviz_core.checkpoints.training.folder import TrainingRun, files_stamp, run_folder, training_run
from bertviz_core.corpus.corpora_folder import corpus_folder, stamp
from bertviz_core.corpus.folder import Corpus, open_corpus
from bertviz_core.corpus.search import SearchIndex, open_index
from bertviz_core.errors import BertvizError, TextError
from bertviz_core.models.loading import LoadedModel
from bertviz_core.models.sources import ModelSource
from bertviz_core.predictions.probing.results import Probe
from bertviz_core.predictions.run import HeadModel, stored_task
from bertviz_core.questions.models.training import TrainingSubject
from bertviz_core.questions.opened import CorpusSubject, Opened, OpenedSubject
from bertviz_core.questions.question import Answer, question_name
from bertviz_core.resources import retained_nbytes
from bertviz_core.sentences.store.vectors import SentenceStore
from bertviz_core.settings import Settings
from bertviz_core.trace.results import Tokens, Trace
from bertviz_core.trace.tokenization import TextTokenizer, load_tokenizer
from ui.cache import models
from ui.cache.figures import cached_by_bytes, logged, results, shared
from ui.cache.models import SourceKey, source, source_key
from ui.session import settings

T = TypeVar("T")
SPINNERS = {
    "parameters": "Counting parameters",
    "model_facts": "Running the modules without weights",
    "modules": "Building the modules",
    "module_shapes": "Tracing shapes",
    "operation_formula": "Reading the formula off the modules",
    "operation_counts": "Counting operations",
    "memory": "Estimating memory",
    "load_report": "Reading the header",
    "task_head": "Building the class",
    "tensor_values": "Reading the tensor",
    "tensor_change": "Reading the tensor",
    "reference_tokenizer": "Making the tokenizer",
    "products": "Running the layer both ways",
    "layer_parts": "Running the layer",
    "classes_without": "Asking without the head",
    "column_colours": "Reading the column",
    "corpus_hits": "Searching",
    "query": "Embedding the query",
    "refusal": "Comparing the weights",
    "classes": "Asking the task head",
    "tagged_tokens": "Asking the task head",
    "answers": "Asking the task head",
    "word_shift": "Asking the task head",
    "compared_predictions": "Asking both task heads",
    "journey": "Running the model",
    "compared_attention": "Running both models",
    "cosines_of_states": "Running both models",
    "own_word": "Asking the task head",
    "term_weights": "Asking the task head",
    "reading": "Running the model",
    "lens": "Asking the task head after every layer",
    "probe_answer": "Asking the probe",
    "late_interaction": "Comparing the tokens",
    "poolings": "Comparing the poolings",
    "late_chunks": "Embedding the query",
    "sentence_map": "Placing the sentences; UMAP is compiled when it is first used, which can take half a minute",
    "blocks": "Putting similar sentences together",
}
"""Name of a question, or of a part of one -> text of the spinner; others show none."""


@dataclass(frozen=True, slots=True)
class _RunTokens:
    """Placeholder for a trace in a cached answer; traces have their own cache and budget."""

    tokens: Tokens


@dataclass(frozen=True, slots=True)
class _CachedValue:
    """A cached value, and the state of the other models it depends on."""

    value: Any
    others: frozenset[SourceKey]

    @property
    def current(self) -> bool:
        """Whether the files of the other models are unchanged."""
        try:
            return all(source_key(each.name) == each for each in self.others)
        except BertvizError:
            return False  # recomputing the value raises the error


class SharedSubject(OpenedSubject):
    """A subject of this instance, whose values are cached for all sessions by the state of its files."""

    KIND: ClassVar[str] = "model"
    """What it is in the server's log."""
    _name: str

    @property
    def name(self) -> str:
        """The name under which it was opened."""
        return self._name

    @property
    def settings(self) -> Settings:
        """The settings of this server."""
        return settings()

    @abstractmethod
    def key(self, key: Hashable) -> Hashable:
        """The cache key of a value: the state of the subject's files, and the key itself."""

    def cached(self, key: Hashable) -> Any:
        """Return the cached value of a key; None if there is none."""
        return results().get(self.key(key))

    def timed(self, key: Hashable) -> AbstractContextManager[None]:
        """Log how long the answer to a question takes; parts of questions are not logged."""
        name = question_name(key)
        return logged("question", name, lambda: {self.KIND: self.name}) if name else nullcontext()

    def get_or_compute(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the cached value of a key, or compute it."""

        def computed() -> T:
            with self.timed(key):
                return make()

        return shared(results(), self.key(key), computed, value_nbytes, spinner_words(key))


class SharedModel(SharedSubject, Opened):
    """An `Opened` model of this instance, loaded once, with answers cached for all sessions."""

    def __init__(self, name: str, *runs: Trace) -> None:
        """Refer to a model without loading it; the caller's runs are used even if there is no room to cache them."""
        self._name, self._runs = name, runs
        self._others: frozenset[SourceKey] = frozenset()
        self._probe: Probe | None = None

    def with_probe(self, probe: Probe | None) -> "SharedModel":
        """Return the same model with a session's probe, which jobs cannot read from the session."""
        other = SharedModel(self.name, *self._runs)
        other._probe = probe
        return other

    @property
    def source(self) -> ModelSource:
        """Location of the model's files."""
        return source(self.name)

    @property
    def loaded(self) -> LoadedModel:
        """The model with its weights."""
        return models.loaded(self.name)

    def rounded(self, rounding: Rounding) -> LoadedModel:
        """A copy of the model with rounded weights, cached for all sessions."""
        return models.loaded(self.name, rounding)

    @property
    def tokenizer(self) -> TextTokenizer:
        """The model's tokenizer."""
        return models.tokenizer(self.name)

    def head(self, task: str | None) -> HeadModel:
        """Return the model with the head of a task; None for the head it was saved with."""
        return models.with_head(self.name, task or stored_task(self.source))

    def rounded_head(self, task: str | None, rounding: Rounding) -> HeadModel:
        """A rounded copy with the head of a task, cached for all sessions."""
        return models.with_head(self.name, task or stored_task(self.source), rounding)

    def probe(self, argument: str) -> tuple[Probe, str]:
        """Return the session's probe by its digest, and the class named after it."""
        digest, _, label = argument.partition("@")
        if self._probe is None or self._probe.digest != digest:
            raise TextError("The probe has changed; open the page Predictions, view Train a probe, and return here.")
        return self._probe, label

    def tokens(self, text: str, pair: str | None) -> Tokens:
        """The tokens of a text, or of a pair."""
        return models.tokens(self.name, text, pair)

    def trace(self, tokens: Tokens) -> Trace:
        """Run the model on these tokens; a trace of the caller is reused."""
        for run in self._runs:
            if run.model == self.source.name and _same_tokens(run.tokens, tokens):
                return run
        return models.traces().trace(self.loaded, tokens, most_waiting=settings().max_queued_runs)

    def other(self, name: str) -> "SharedModel":
        """Return another model of this instance; values that use it are recomputed when its files change."""
        if name == self.name:
            return self
        self._others |= {source_key(name)}
        return SharedModel(name, *self._runs)

    def get_or_compute(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the value of a key, computing it if it is not cached.

        Traces in an answer are not cached with it: they have their own budget.
        """
        new: list[T] = []

        def compute() -> _CachedValue:
            with self.timed(key):
                new.append(make())
            return _CachedValue(_without_runs(new[-1], self.source.name), self._others)

        cached_value = shared(results(), self.key(key), compute, _nbytes, spinner_words(key))
        if not cached_value.current:
            results().pop(self.key(key), cached_value)
            cached_value = shared(results(), self.key(key), compute, _nbytes, spinner_words(key))
        self._others |= cached_value.others
        return new[-1] if new else cast(T, self._with_runs(cached_value.value))

    def cached(self, key: Hashable) -> Any:
        """Return the cached value of a key; None if there is none or it is outdated."""
        cached_value = results().get(self.key(key))
        if cached_value is None or not cached_value.current:
            return None
        self._others |= cached_value.others
        return self._with_runs(cached_value.value)

    def key(self, key: Hashable) -> Hashable:
        """The cache key of a value: the state of the model's files, and the key itself."""
        return *models.answer_key(self.name), key

    def _with_runs(self, value: Any) -> Any:
        """Restore the traces of a cached answer."""
        if not isinstance(value, Answer):
            return value
        drawn = {name: self._run(each) for name, each in value.drawn.items()}
        return replace(value, result=self._run(value.result), drawn=drawn)

    def _run(self, value: Any) -> Any:
        return self.trace(value.tokens) if isinstance(value, _RunTokens) else value


def _without_runs(value: Any, model: str) -> Any:
    """Replace the traces of a model in an answer by their tokens."""
    if not isinstance(value, Answer):
        return value

    def short(each: Any) -> Any:
        return _RunTokens(each.tokens) if isinstance(each, Trace) and each.model == model else each

    return replace(value, result=short(value.result), drawn={name: short(each) for name, each in value.drawn.items()})


def _nbytes(cached_value: _CachedValue) -> int:
    return value_nbytes(cached_value.value)


def value_nbytes(value: Any) -> int:
    """Bytes of a cached value; a result that is also drawn is counted once."""
    if isinstance(value, TextTokenizer):
        return models.tokenizer_nbytes(value)
    if not isinstance(value, Answer):
        return retained_nbytes(value)
    inside = set(map(id, value.result)) if isinstance(value.result, tuple) else set()
    parts = {id(each): each for each in (value.result, *value.drawn.values()) if id(each) not in inside}
    return retained_nbytes((value.models, value.texts, value.notices)) + sum(map(retained_nbytes, parts.values()))


def _same_tokens(first: Tokens, second: Tokens) -> bool:
    same_text = (first.text, first.pair) == (second.text, second.pair)
    return first is second or (same_text and np.array_equal(first.input_ids, second.input_ids))


def spinner_words(key: Hashable) -> str:
    """The text of the spinner for a question's name, the second part of its key; "" for none."""
    name = key[1] if isinstance(key, tuple) and len(key) > 1 else ""
    return SPINNERS.get(name, "") if isinstance(name, str) else ""


class SentenceModel(SharedModel):
    """A model of this instance with its own tokenizer for jobs, which truncate and pad in their threads."""

    def __init__(self, name: str, *runs: Trace) -> None:
        """Open a model; loaded weights stay in memory during a job."""
        super().__init__(name, *runs)
        self._loaded, self._tokenizer = models.loaded(name), _tokenizer(source_key(name))

    @property
    def loaded(self) -> LoadedModel:
        """The model with its weights."""
        return self._loaded

    @property
    def tokenizer(self) -> TextTokenizer:
        """Its tokenizer for sentences."""
        return self._tokenizer

    @property
    def vector_store(self) -> SentenceStore:
        """The store of vectors on disk."""
        return vector_store()

    def other(self, name: str) -> "SentenceModel":
        """Another model in the same way; values that use it are recomputed when its files change."""
        return self if super().other(name) is self else SentenceModel(name)


@st.cache_resource(max_entries=1, show_spinner=False)
def vector_store() -> SentenceStore:
    """The store of vectors on disk."""
    return SentenceStore.of(settings())


@cached_by_bytes("Loading the tokenizer", models.tokenizer_nbytes)
def _tokenizer(key: SourceKey) -> TextTokenizer:
    return load_tokenizer(source(key.name), settings())


class SharedCorpus(SharedSubject, CorpusSubject):
    """A corpus of this instance; results about it are cached by its fingerprint for all sessions."""

    KIND = "corpus"

    def __init__(self, name: str, folder: Path | None = None) -> None:
        """Open a corpus in its current state."""
        folder = folder or corpus_folder(name, settings())
        self._name, self._corpus = name, _opened(str(folder), stamp(folder))

    @property
    def corpus(self) -> Corpus:
        """The corpus."""
        return self._corpus

    @property
    def model(self) -> SharedModel:
        """The model that computed the vectors; its files are looked up on first use."""
        return SharedModel(self.corpus.manifest.model)

    @property
    def index(self) -> SearchIndex | None:
        """The search index on this machine; None where there is none."""
        return open_index(self.corpus, settings())

    def key(self, key: Hashable) -> Hashable:
        """The cache key of a value: the state of the corpus' files, and the key itself."""
        return self.corpus.fingerprint, self.name, key


class SharedTraining(SharedSubject, TrainingSubject):
    """A training run of this instance; results about it are cached by its files for all sessions."""

    def __init__(self, name: str) -> None:
        """Open a training run in its current state."""
        folder = run_folder(name, settings())
        self._name, self._stamp = name, files_stamp(folder)
        self._run = _found(name, str(folder), self._stamp, settings())

    @property
    def run(self) -> TrainingRun:
        """Its checkpoints when it was opened."""
        return self._run

    def key(self, key: Hashable) -> Hashable:
        """The cache key of a value: the state of the run's files, and the key itself."""
        return self._name, self._stamp, key

    def get_or_compute_by_key(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the cached value of a key that names the files it depends on, or compute it."""
        return results().get_or_compute(key, make)


@cached_by_bytes("Opening the corpus")
def _opened(folder: str, stamped: tuple[tuple[str, int, int], ...]) -> Corpus:
    return open_corpus(Path(folder))


@cached_by_bytes("Looking for checkpoints")
def _found(name: str, folder: str, stamp: tuple[tuple[str, int, int], ...], _settings: Settings) -> TrainingRun:
    return training_run(name, Path(folder), _settings)
