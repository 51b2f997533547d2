"""Errors that a user can cause, and the cancellation of long work."""

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called as progress(done, total); may raise, for example SupersededError, to stop the work."""


def no_progress(done: int, total: int, /) -> None:
    """Do nothing, where nobody watches the work."""


class Named(str):
    """Name of a parameter in an error message; each interface spells it in its own way (`layer`, `--layer`)."""

    __slots__ = ()


class BertvizError(Exception):
    """An error that a user can act on: its message states what was requested, what was found, and what to do.

    The arguments are parts of the message, which are concatenated; a `Named` is the name of a parameter.
    """

    def __str__(self) -> str:
        """The message, with parameters spelled as in Python."""
        return "".join(map(str, self.args))

    def spelled(self, spell: Callable[[str], str]) -> str:
        """The message, with parameters spelled by `spell`."""
        return "".join(spell(part) if isinstance(part, Named) else str(part) for part in self.args)

    suggestion = ""
    """Name of a similar model; "" if there is none."""

    @property
    def meant(self) -> str:
        """The name of `suggestion` in version 1.0."""
        return self.suggestion


class ModelNotFoundError(BertvizError):
    """There is no model of this name, or it may not be opened here."""


class CheckpointError(BertvizError):
    """The files of a checkpoint are missing, damaged or in an unsupported format."""


class MissingFilesError(CheckpointError):
    """A model is known, but its weights or its tokenizer are not on this machine.

    `model` is its name, `what` is "weights" or "tokenizer".
    """

    def __init__(self, model: str, what: str, message: str) -> None:
        """Create the error for the files of a model."""
        super().__init__(message)
        self.model = model
        self.what = what


class UnsupportedModelError(BertvizError):
    """The model does not support the request."""


class HubError(BertvizError):
    """The Hub cannot be reached or refuses the request."""


class UnreachableHubError(HubError):
    """The Hub cannot be reached: no request of any model would be answered now."""


class TextError(BertvizError):
    """The text cannot be read by the model."""


class NoDifferenceError(TextError):
    """A target has the same value for two texts, so that patching cannot restore a difference."""


class OutOfMemoryError(TextError):
    """There is not enough memory for a run; fewer or shorter texts need less."""


class CorpusError(BertvizError):
    """A corpus folder is missing, incomplete or damaged, or cannot be created."""


class LessonError(BertvizError):
    """A lesson does not exist or its file is not a valid lesson."""


class BusyError(BertvizError):
    """Too many runs are waiting for the model already."""


class SupersededError(Exception):
    """A newer request replaced this one; never shown to users."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means that memory could not be allocated.

    Python, NumPy and C++ raise MemoryError, torch a RuntimeError, and trace.forward OutOfMemoryError.
    """
    message = f"{type(error).__name__} {error}".lower()
    refusals = (
        "outofmemory",
        "out of memory",
        "alloc_failed",
        "not enough memory",
        "allocate memory",
        "bad_alloc",
        "start new thread",
    )
    return isinstance(error, (MemoryError, OutOfMemoryError)) or (
        isinstance(error, RuntimeError) and any(each in message for each in refusals)
    )
