"""A model object of the caller's own, saved as it is at that moment, so that it is opened as any folder is."""

import tempfile
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from bertviz_core.errors import BertvizError, CheckpointError, TextError
from bertviz_core.lazy_imports import transformers
from bertviz_core.models.skeleton import quietly
from bertviz_core.questions.opened import ModelCopy, OpenedModel
from bertviz_core.settings import Settings
from bertviz_core.text import first_line


@runtime_checkable
class Saveable(Protocol):
    """A model or a tokenizer of transformers: it writes itself into a folder."""

    def save_pretrained(self, save_directory: str, /) -> Any:
        """Write its files into a folder."""


class SavedModel(ModelCopy):
    """The folder with a copy of a model; it is removed when nothing that was opened from it is left."""

    def __init__(self, name: str, folder: Path, place: "tempfile.TemporaryDirectory[str] | None" = None) -> None:
        self.name = name
        """Name of its class."""
        self._folder, self._place = folder, place

    def __reduce__(self) -> tuple[type["SavedModel"], tuple[str, Path]]:
        """Pickled by the name of its folder, which lasts as long as the program that saved it needs it."""
        return SavedModel, (self.name, self._folder)

    @property
    def folder(self) -> Path:
        """Where it is.

        Raises:
            CheckpointError: the program that saved it has removed it.
        """
        if not self._folder.is_dir():
            raise CheckpointError(
                f"The model behind this result was an object ({self.name}) of a program that has ended; its numbers "
                "are all here, and for figures open the model again and repeat the question."
            )
        return self._folder


def saved_copy(model: Saveable, tokenizer: Saveable | None) -> SavedModel:
    """A copy of a model and its tokenizer in a temporary folder; neither of the two is changed.

    Args:
        model: a model of transformers, with or without a head.
        tokenizer: its tokenizer.

    Raises:
        TextError: one of them is no such object, or the tokenizer is missing.
        CheckpointError: the model cannot write itself.
        BertvizError: the disk refuses.
    """
    name = type(model).__name__
    if not isinstance(model, transformers.PreTrainedModel):
        raise TextError(
            f"name is an object of {name}, which is no model of transformers; give a PreTrainedModel, such as "
            "AutoModel.from_pretrained returns, or the name or folder of a model."
        )
    if not isinstance(tokenizer, transformers.PreTrainedTokenizerBase):
        came = "none was given" if tokenizer is None else f"an object of {type(tokenizer).__name__} was given"
        raise TextError(
            f"A model object needs a tokenizer of transformers, and {came}: open_model(model, tokenizer=tokenizer)."
        )
    place = tempfile.TemporaryDirectory(prefix="inside-bert-")
    try:
        with quietly():
            model.save_pretrained(place.name)
            tokenizer.save_pretrained(place.name)
    except OSError as error:
        raise BertvizError(
            f"The copy of {name} cannot be written into {tempfile.gettempdir()!r} ({error.strerror or error}); make "
            "room there, or set TMPDIR to another folder."
        ) from error
    except Exception as error:  # the library raises whatever a model half on another device or without data leads to
        raise CheckpointError(f"{name} cannot write itself into a folder: {first_line(error)}") from error
    return SavedModel(name, Path(place.name), place)


class LibraryModel(OpenedModel):
    """An opened model that follows the environment of the program in which it is unpickled."""

    def __reduce__(self) -> tuple[Any, tuple[object, ...]]:
        """Pickled by its name: it is opened again where it is unpickled, when something of it is needed."""
        return library_model, (self.name, self.task, self.device, self.copy)


def library_model(
    name: str, task: str | None = None, device: str | None = None, copy: ModelCopy | None = None
) -> LibraryModel:
    """The model of a name, under the settings of the environment; any folder may be named.

    Args:
        name: as `resolve` takes it.
        task: task of the head that is meant where none is named.
        device: where it runs; None for the device of the settings.
        copy: where its files are, for a model object of the caller's.
    """
    return LibraryModel(name, Settings.from_environment(any_folder=True), task, device, copy)
