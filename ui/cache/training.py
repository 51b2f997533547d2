"""Open the training runs of the models folder; a run is looked at again when its files have changed."""

from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, TypeVar

from bertviz_core.checkpoints.training.folder import TrainingRun, files_stamp, run_folder, training_run
from bertviz_core.questions.models.training import TrainingSubject
from bertviz_core.settings import Settings
from ui.cache.memoize import cached_by_bytes, results
from ui.cache.shared_model import value_nbytes
from ui.session import settings

T = TypeVar("T")


class SharedTraining(TrainingSubject):
    """A training run of this instance; results about it are cached by its files for all sessions."""

    def __init__(self, name: str) -> None:
        """Open a training run in its current state.

        Args:
            name: name of its folder in the models folder.

        Raises:
            CheckpointError: there is no such run, no checkpoint that can be read, or they are of different models.
        """
        folder = run_folder(name, settings())
        self._name, self._stamp = name, files_stamp(folder)
        self._run = _found(name, str(folder), self._stamp, settings())

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self._name

    @property
    def settings(self) -> Settings:
        """The settings of this server."""
        return settings()

    @property
    def run(self) -> TrainingRun:
        """Its checkpoints when it was opened."""
        return self._run

    def key(self, key: Hashable) -> Hashable:
        """The cache key of a value: the state of the run's files, and the key itself."""
        return self._name, self._stamp, key

    def cached(self, key: Hashable) -> Any:
        """The cached value of a key; None where there is none."""
        return results().get(self.key(key))

    def made(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the cached value of a key, or compute it."""
        value: T = results().made(self.key(key), make, value_nbytes)
        return value

    def kept(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the cached value of a key that names the files it depends on, or compute it."""
        return results().made(key, make)


@cached_by_bytes("Looking for checkpoints")
def _found(name: str, folder: str, stamp: tuple[tuple[str, int, int], ...], _settings: Settings) -> TrainingRun:
    return training_run(name, Path(folder), _settings)
