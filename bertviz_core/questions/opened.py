"""Subjects of questions: opened models and corpora, which load their parts on first use and cache them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Protocol, TypeVar

from bertviz_core.checkpoints.rounding import Rounding, round_parameters, round_weights
from bertviz_core.corpus.folder import Corpus, open_corpus
from bertviz_core.corpus.search import SearchIndex
from bertviz_core.errors import BertvizError, TextError
from bertviz_core.interventions.target_parsing import named_probe
from bertviz_core.isolation.regular_files import readable_path
from bertviz_core.models.loading import LoadedModel, chosen_device, load_model
from bertviz_core.models.skeleton import quietly
from bertviz_core.models.sources import ModelSource, folder_source, resolve
from bertviz_core.predictions.probing.results import Probe
from bertviz_core.predictions.run import HeadModel, load_head, stored_task
from bertviz_core.questions.question import Answer
from bertviz_core.resources import ByteCache
from bertviz_core.sentences.store.vectors import SentenceStore
from bertviz_core.settings import DEVICE, Settings
from bertviz_core.text import quoted
from bertviz_core.trace.results import Tokens, Trace
from bertviz_core.trace.run import trace
from bertviz_core.trace.tokenization import TextTokenizer, load_tokenizer, tokenize

T = TypeVar("T")
ANSWERS_NBYTES = 256 * 1024**2
"""Size of the cache of an opened model, in bytes; in the dashboard all sessions share one cache."""


class Store(Protocol):
    """A cache with a budget in bytes."""

    def get_or_compute(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the cached value of a key, or compute it."""
        ...


class OpenedSubject(ABC):
    """What every subject of questions has: a name, settings, and a cache of values."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name under which it was opened."""

    @property
    @abstractmethod
    def settings(self) -> Settings:
        """Settings and limits."""

    @property
    def notices(self) -> tuple[str, ...]:
        """What of its files decides numbers and is not followed, one sentence each."""
        return ()

    def notices_of(self, models: Iterable[str]) -> tuple[str, ...]:
        """Its notices, and those of other models by their names, for an answer about all of them."""
        return self.notices

    @abstractmethod
    def get_or_compute(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return a cached value of the subject in its present state, or compute it."""


class Opened(OpenedSubject):
    """A model as the subject of questions."""

    @property
    @abstractmethod
    def source(self) -> ModelSource:
        """The resolved model."""

    @property
    def notices(self) -> tuple[str, ...]:
        """What of its files decides numbers and is not followed, one sentence each."""
        return self.source.notices

    def notices_of(self, models: Iterable[str]) -> tuple[str, ...]:
        """Its notices, and those of other models by their names; a rounded copy has none of its own."""
        notices = list(self.notices)
        for name in models:
            if name not in (self.name, self.source.name):
                with suppress(BertvizError):
                    notices += self.other(name).notices
        return tuple(dict.fromkeys(notices))

    @property
    @abstractmethod
    def loaded(self) -> LoadedModel:
        """The model in memory."""

    @abstractmethod
    def rounded(self, rounding: Rounding) -> LoadedModel:
        """A copy of the model in memory with its weights rounded to a number format; the model stays as it is."""

    @property
    @abstractmethod
    def tokenizer(self) -> TextTokenizer:
        """The tokenizer."""

    @property
    def vector_store(self) -> SentenceStore | None:
        """Cache of sentence vectors on disk; None to compute all."""
        return None

    @abstractmethod
    def head(self, task: str | None) -> HeadModel:
        """The model with the head of a task; None for the head that it was saved with."""

    def rounded_head(self, task: str | None, rounding: Rounding) -> HeadModel:
        """A copy of the model with the head of a task and rounded weights; it is loaded anew each time."""
        head = load_head(self.source, self.settings, task, self.rounded(rounding))
        round_parameters(head.model, rounding, tuple(head.base.model.parameters()))
        return replace(head, name=head.base.name)

    @abstractmethod
    def probe(self, argument: str) -> tuple[Probe, str]:
        """The probe of a target "probe:FILE", and the class in it, "" for none."""

    @abstractmethod
    def tokens(self, text: str, pair: str | None) -> Tokens:
        """Tokenize a text or pair."""

    @abstractmethod
    def trace(self, tokens: Tokens) -> Trace:
        """Run the model on tokens."""

    @abstractmethod
    def other(self, name: str) -> "Opened":
        """Open another model with the same settings."""


def answered(opened: Opened, result: T, notices: tuple[str, ...] = (), /, **drawn: object) -> Answer[T]:
    """An answer about a single model.

    Args:
        notices: remarks on the result.
        **drawn: arguments of the figures of the question.
    """
    return Answer(result, names_of(opened), (), notices, drawn)


def names_of(*models: Opened) -> tuple[tuple[str, str], ...]:
    """Name and revision of each of these models, as captions have them."""
    return tuple(dict.fromkeys(each.source.cited for each in models))


class ModelCopy(ABC):
    """A copy of a model object in a folder."""

    @property
    @abstractmethod
    def folder(self) -> Path:
        """Path of the folder."""


class OpenedModel(Opened):
    """A model for the command line and notebooks; its parts are loaded on first use and cached."""

    def __init__(
        self,
        name: str,
        settings: Settings,
        task: str | None = None,
        device: str | None = None,
        copy: ModelCopy | None = None,
    ) -> None:
        """Create an opened model; its name is resolved on the first access to `source`.

        Args:
            name: name for `resolve`.
            settings: settings and limits.
            task: default task of the head; None for that of the head that it was saved with.
            device: device to run on; None for that of the settings.
            copy: folder with the files of a model object.
        """
        self.task, self.device, self.copy = task, device, copy
        self._name, self._settings = name, settings
        self._store: Store = ByteCache(ANSWERS_NBYTES)
        self._heads: dict[str, HeadModel] = {}

    def __reduce__(self) -> tuple[type["OpenedModel"], tuple[object, ...]]:
        """Pickle by name; the copy loads the model on first use."""
        return OpenedModel, (self.name, self._settings, self.task, self.device, self.copy)

    def __deepcopy__(self, memo: dict[int, object]) -> "OpenedModel":
        """Return itself: an opened model is immutable, so copies of a result may share it."""
        return self

    @property
    def name(self) -> str:
        """Name under which it was opened."""
        return self._name

    @cached_property
    def settings(self) -> Settings:
        """Settings and limits, with the selected device."""
        if self.device is None:
            return self._settings
        if not DEVICE.fullmatch(self.device):
            raise TextError(f"There is no device {quoted(self.device, 20)}; give auto, cpu, cuda, cuda:1 or mps.")
        chosen_device(self.device, "device")
        return replace(self._settings, device=self.device)

    @cached_property
    def source(self) -> ModelSource:
        """The resolved model."""
        if self.copy is not None:
            return folder_source(self.name, self.copy.folder, self.settings)
        return resolve(self.name, self.settings)

    @cached_property
    def loaded(self) -> LoadedModel:
        """The model in memory."""
        with quietly():
            return load_model(self.source, self.settings)

    def rounded(self, rounding: Rounding) -> LoadedModel:
        """A copy of the model with rounded weights, loaded anew."""
        with quietly():
            return round_weights(load_model(self.source, self.settings), rounding)

    @cached_property
    def tokenizer(self) -> TextTokenizer:
        """The tokenizer."""
        with quietly():
            return load_tokenizer(self.source, self.settings)

    def head(self, task: str | None) -> HeadModel:
        """The model with the head of a task, by default that of the opened model."""
        known = task or self.task or stored_task(self.source)
        if known not in self._heads:
            self._heads[known] = load_head(self.source, self.settings, known, self.loaded)
        return self._heads[known]

    def probe(self, argument: str) -> tuple[Probe, str]:
        """The probe of a file, and the class given after it."""
        return named_probe(argument, self._settings)

    def tokens(self, text: str, pair: str | None) -> Tokens:
        """Tokenize a text or pair."""
        with quietly():
            return tokenize(self.tokenizer, text, pair)

    def trace(self, tokens: Tokens) -> Trace:
        """Run the model on tokens, once for all questions about them."""
        return self.get_or_compute((__name__, "trace", *tokens.identity), lambda: trace(self.loaded, tokens))

    def other(self, name: str) -> "OpenedModel":
        """Open another model with the same device and settings."""
        return self if name == self.name else OpenedModel(name, self.settings)

    def get_or_compute(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return a cached value, or compute it."""
        return self._store.get_or_compute(key, make)


class CorpusSubject(OpenedSubject):
    """A corpus as the subject of questions, with the model that computed its vectors; its name is the folder's."""

    @property
    @abstractmethod
    def corpus(self) -> Corpus:
        """The corpus."""

    @property
    @abstractmethod
    def model(self) -> Opened:
        """The model that computed the vectors; it is resolved on first use."""

    @property
    @abstractmethod
    def index(self) -> SearchIndex | None:
        """Search index; None for an exhaustive search."""

    @property
    def notices(self) -> tuple[str, ...]:
        """The notices of the model that computed the vectors; none if it is not on this machine any more."""
        try:
            return resolve(self.corpus.manifest.model, replace(self.settings, allow_hub=False)).notices
        except BertvizError:
            return ()


class OpenedFolder(CorpusSubject):
    """A corpus in a folder, for the command line and notebooks."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        """Open the corpus in a folder, which is in the models or corpora folder unless the settings permit any."""
        self._settings, self._corpus = settings, open_corpus(readable_path(folder, settings))
        self._store: Store = ByteCache(ANSWERS_NBYTES)

    def __reduce__(self) -> tuple[type["OpenedFolder"], tuple[Path, Settings]]:
        """Pickle by folder and settings."""
        return OpenedFolder, (self.corpus.path, self.settings)

    @property
    def name(self) -> str:
        """Name of the folder."""
        return self.corpus.path.name

    @property
    def settings(self) -> Settings:
        """Settings and limits."""
        return self._settings

    @property
    def corpus(self) -> Corpus:
        """The corpus."""
        return self._corpus

    @cached_property
    def model(self) -> OpenedModel:
        """The model that computed the vectors."""
        return OpenedModel(self.corpus.manifest.model, self.settings)

    @property
    def index(self) -> SearchIndex | None:
        """Always None: search is exhaustive."""
        return None

    def get_or_compute(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return a cached value, or compute it."""
        return self._store.get_or_compute(key, make)
