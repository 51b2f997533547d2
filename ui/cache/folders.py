"""Open the corpora and training runs of this instance; each is opened again when its files have changed."""

from collections.abc import Callable, Hashable
from pathlib import Path
from typing import TypeVar

from bertviz_core.checkpoints.training.folder import TrainingRun, files_stamp, run_folder, training_run
from bertviz_core.corpus.corpora_folder import corpus_folder, stamp
from bertviz_core.corpus.folder import Corpus, open_corpus
from bertviz_core.corpus.search import SearchIndex, open_index
from bertviz_core.questions.models.training import TrainingSubject
from bertviz_core.questions.opened import CorpusSubject
from bertviz_core.settings import Settings
from ui.cache.figures import cached_by_bytes, results
from ui.cache.shared_model import SharedModel, SharedSubject
from ui.session import settings

T = TypeVar("T")


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
