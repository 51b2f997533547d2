"""What questions are asked about: an opened model or corpus, whose parts are loaded on first use and then kept."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Protocol, TypeVar

from bertviz_core.corpus.folder import Corpus, open_corpus
from bertviz_core.corpus.search.index import SearchIndex
from bertviz_core.errors import TextError
from bertviz_core.interventions.targets.parsing import named_probe
from bertviz_core.models.device import chosen_device
from bertviz_core.models.loading import LoadedModel, load_model
from bertviz_core.models.skeleton import quietly
from bertviz_core.models.sources import ModelSource, folder_source, resolve
from bertviz_core.predictions.loading import HeadModel, load_head, stored_task
from bertviz_core.predictions.probing.results import Probe
from bertviz_core.questions.byte_cache import ByteCache
from bertviz_core.questions.question import Answer
from bertviz_core.settings import DEVICE, Settings
from bertviz_core.text import quoted
from bertviz_core.trace.results import Tokens, Trace
from bertviz_core.trace.run import trace
from bertviz_core.trace.tokenization import TextTokenizer, load_tokenizer, tokenize

T = TypeVar("T")
ANSWERS_NBYTES = 256 * 1024**2
"""Bytes of the answers that an opened model keeps outside the dashboard, where all sessions share one budget."""


class Store(Protocol):
    """Keeps values by what they are made from, up to a budget of bytes."""

    def made(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value of a key: the one at hand, or a new one."""
        ...


class Opened(ABC):
    """A model that questions are asked about."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name under which it was opened."""

    @property
    @abstractmethod
    def settings(self) -> Settings:
        """What may be opened, and how much."""

    @property
    @abstractmethod
    def source(self) -> ModelSource:
        """Where it is."""

    @property
    @abstractmethod
    def loaded(self) -> LoadedModel:
        """The model with its weights."""

    @property
    @abstractmethod
    def tokenizer(self) -> TextTokenizer:
        """Its tokenizer."""

    @abstractmethod
    def head(self, task: str | None) -> HeadModel:
        """The model with the head of a task; None for the one that it was saved with."""

    @abstractmethod
    def probe(self, argument: str) -> tuple[Probe, str]:
        """The probe that a target names behind "probe:", and the class that it names, "" for none."""

    @abstractmethod
    def tokens(self, text: str, pair: str | None) -> Tokens:
        """The tokens of a text, or of a pair."""

    @abstractmethod
    def trace(self, tokens: Tokens) -> Trace:
        """One run of the model on these tokens."""

    @abstractmethod
    def other(self, name: str) -> "Opened":
        """Another model, under the same settings."""

    @abstractmethod
    def made(self, key: Hashable, make: Callable[[], T]) -> T:
        """A value of this model by what it is made from; one that is kept, or a new one."""


def answered(opened: Opened, result: T, notices: tuple[str, ...] = (), /, **drawn: object) -> Answer[T]:
    """An answer about a model alone.

    Args:
        opened: the model.
        result: what was computed.
        notices: what a reader must know.
        **drawn: arguments of the question's figures.
    """
    return Answer(result, ((opened.source.name, opened.source.revision),), (), notices, drawn)


class ModelCopy(ABC):
    """A model that was saved into a folder of its own."""

    @property
    @abstractmethod
    def folder(self) -> Path:
        """Where it is."""


class OpenedModel(Opened):
    """A model by its name, for the command line and notebooks; what it has is loaded on first use and then kept."""

    def __init__(
        self,
        name: str,
        settings: Settings,
        task: str | None = None,
        device: str | None = None,
        copy: ModelCopy | None = None,
    ) -> None:
        """The model of a name; whether there is one is known when `source` is asked for.

        Args:
            name: as `resolve` takes it.
            settings: what may be opened, and how much.
            task: task of the head that is meant where none is named; None for the one that it was saved with.
            device: where it runs; None for the device of the settings.
            copy: where its files are, for a model that has no name of its own.
        """
        self.task, self.device, self.copy = task, device, copy
        self._name, self._settings = name, settings
        self._store: Store = ByteCache(ANSWERS_NBYTES)
        self._heads: dict[str, HeadModel] = {}

    def __reduce__(self) -> tuple[type["OpenedModel"], tuple[object, ...]]:
        """Pickled by its name: it is opened again where it is unpickled, when something of it is needed."""
        return OpenedModel, (self.name, self._settings, self.task, self.device, self.copy)

    def __deepcopy__(self, memo: dict[int, object]) -> "OpenedModel":
        """Itself: nothing changes an opened model, and copies of a result may share it."""
        return self

    @property
    def name(self) -> str:
        """The name under which it was opened."""
        return self._name

    @cached_property
    def settings(self) -> Settings:
        """What may be opened, with the device that was chosen.

        Raises:
            BertvizError: there is no such device.
        """
        if self.device is None:
            return self._settings
        if not DEVICE.fullmatch(self.device):
            raise TextError(f"There is no device {quoted(self.device, 20)}; give auto, cpu, cuda, cuda:1 or mps.")
        chosen_device(self.device, "device")
        return replace(self._settings, device=self.device)

    @cached_property
    def source(self) -> ModelSource:
        """Where its files are.

        Raises:
            BertvizError: there is none of this name, or it may not be opened, or there is no such device.
        """
        if self.copy is not None:
            return folder_source(self.name, self.copy.folder, self.settings)
        return resolve(self.name, self.settings)

    @cached_property
    def loaded(self) -> LoadedModel:
        """The model with its weights."""
        with quietly():
            return load_model(self.source, self.settings)

    @cached_property
    def tokenizer(self) -> TextTokenizer:
        """Its tokenizer."""
        with quietly():
            return load_tokenizer(self.source, self.settings)

    def head(self, task: str | None) -> HeadModel:
        """The model with the head of a task, or with the one that is meant where none is named."""
        known = task or self.task or stored_task(self.source)
        if known not in self._heads:
            self._heads[known] = load_head(self.source, self.settings, known, self.loaded)
        return self._heads[known]

    def probe(self, argument: str) -> tuple[Probe, str]:
        """The probe of a file, and the class that is named behind it."""
        return named_probe(argument)

    def tokens(self, text: str, pair: str | None) -> Tokens:
        """The tokens of a text, or of a pair."""
        with quietly():
            return tokenize(self.tokenizer, text, pair)

    def trace(self, tokens: Tokens) -> Trace:
        """One run of the model on these tokens."""
        return trace(self.loaded, tokens)

    def other(self, name: str) -> "OpenedModel":
        """Another model on the same device, under the same settings."""
        return self if name == self.name else OpenedModel(name, self.settings)

    def made(self, key: Hashable, make: Callable[[], T]) -> T:
        """A value by what it is made from."""
        return self._store.made(key, make)


class CorpusSubject(ABC):
    """A corpus that questions are asked about, and the model that made its vectors."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of its folder."""

    @property
    @abstractmethod
    def settings(self) -> Settings:
        """What may be opened, and how much."""

    @property
    @abstractmethod
    def corpus(self) -> Corpus:
        """The corpus."""

    @property
    @abstractmethod
    def model(self) -> Opened:
        """The model that made the vectors; whether it is here is known when something of it is asked for."""

    @property
    @abstractmethod
    def index(self) -> SearchIndex | None:
        """The index by which it is searched; None to compare every row."""

    @abstractmethod
    def made(self, key: Hashable, make: Callable[[], T]) -> T:
        """A value of this corpus by what it is made from; one that is kept, or a new one."""


class OpenedFolder(CorpusSubject):
    """A corpus in a folder, for the command line and notebooks."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        """The corpus in a folder.

        Raises:
            CorpusError: there is none, or it is damaged.
        """
        self._settings, self._corpus = settings, open_corpus(folder)
        self._store: Store = ByteCache(ANSWERS_NBYTES)

    def __reduce__(self) -> tuple[type["OpenedFolder"], tuple[Path, Settings]]:
        """Pickled by its folder."""
        return OpenedFolder, (self.corpus.path, self.settings)

    @property
    def name(self) -> str:
        """Name of the folder."""
        return self.corpus.path.name

    @property
    def settings(self) -> Settings:
        """What may be opened, and how much."""
        return self._settings

    @property
    def corpus(self) -> Corpus:
        """The corpus."""
        return self._corpus

    @cached_property
    def model(self) -> OpenedModel:
        """The model that made the vectors."""
        return OpenedModel(self.corpus.manifest.model, self.settings)

    @property
    def index(self) -> SearchIndex | None:
        """None: every row is compared."""
        return None

    def made(self, key: Hashable, make: Callable[[], T]) -> T:
        """A value by what it is made from."""
        return self._store.made(key, make)
