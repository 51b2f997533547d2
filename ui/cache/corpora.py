"""The corpora of this instance as questions see them: opened once while their files stay as they are."""

from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, TypeVar

from bertviz_core.corpus.corpora_folder import corpus_folder, stamp
from bertviz_core.corpus.folder import Corpus, open_corpus
from bertviz_core.corpus.search.index import SearchIndex, open_index
from bertviz_core.questions.opened import CorpusSubject
from bertviz_core.settings import Settings
from ui.cache.memoize import cached_by_bytes, results
from ui.cache.shared_model import SharedModel, spinning, value_nbytes
from ui.session import settings

T = TypeVar("T")


class SharedCorpus(CorpusSubject):
    """A corpus of this instance, for all readers; what is found in it is kept by its fingerprint."""

    def __init__(self, name: str, folder: Path | None = None) -> None:
        """The corpus of a name as its files are now.

        Args:
            name: of the corpus.
            folder: where it is; None for below the folder of corpora.

        Raises:
            CorpusError: as corpus_folder and open_corpus.
        """
        folder = folder or corpus_folder(name, settings())
        self._name, self._corpus = name, _opened(str(folder), stamp(folder))

    @property
    def name(self) -> str:
        """The name that the page calls it by."""
        return self._name

    @property
    def settings(self) -> Settings:
        """What may be opened here."""
        return settings()

    @property
    def corpus(self) -> Corpus:
        """The corpus."""
        return self._corpus

    @property
    def model(self) -> SharedModel:
        """The model that made the vectors; whether it is here is known when something of it is asked for."""
        return SharedModel(self.corpus.manifest.model)

    @property
    def index(self) -> SearchIndex | None:
        """This machine's index of it; None where there is none."""
        return open_index(self.corpus, settings())

    def key(self, key: Hashable) -> Hashable:
        """What a value is kept by: the corpus' files, and what it is made from."""
        return self.corpus.fingerprint, self.name, key

    def at_hand(self, key: Hashable) -> Any:
        """A value of this corpus that is kept; None where it is not."""
        return results().get(self.key(key))

    def made(self, key: Hashable, make: Callable[[], T]) -> T:
        """A value of this corpus by what it is made from."""

        def kept() -> T:
            with spinning(key):
                return make()

        value: T = results().made(self.key(key), kept, value_nbytes)
        return value


@cached_by_bytes("Opening the corpus")
def _opened(folder: str, stamped: tuple[tuple[str, int, int], ...]) -> Corpus:
    return open_corpus(Path(folder))
