"""Errors that a user can cause (what was asked for, what was found, what to do), and how long work is ended."""

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Called as progress(done, total), in the units of the work; what it raises, such as SupersededError, ends the work."""


class Named(str):
    """Name of a parameter inside the message of an error; each face spells it in its own way (`layer`, `--layer`)."""

    __slots__ = ()


class BertvizError(Exception):
    """An error that a user can act on; its message is shown in the page, on the command line and in Python.

    The message may come in parts, joined as they stand; a `Named` among them is the name of one.
    """

    def __str__(self) -> str:
        """The message, parameters named as they are in Python."""
        return "".join(map(str, self.args))

    def spelled(self, spell: Callable[[str], str]) -> str:
        """The message with every parameter's name as `spell` writes it."""
        return "".join(spell(part) if isinstance(part, Named) else str(part) for part in self.args)

    meant = ""
    """Name of the model that may have been meant; "" where none is near."""


class ModelNotFoundError(BertvizError):
    """No model of this name is found, or it may not be opened here."""


class CheckpointError(BertvizError):
    """The files of a checkpoint are missing, damaged or in an unsupported format."""


class MissingFilesError(CheckpointError):
    """A model is known, but its weights or its tokenizer are not on this machine.

    `model` is its name, `what` is "weights" or "tokenizer".
    """

    def __init__(self, model: str, what: str, words: str) -> None:
        """The error for a model whose files are missing."""
        super().__init__(words)
        self.model = model
        self.what = what


class UnsupportedModelError(BertvizError):
    """The model is known, but does not support what was asked for."""


class HubError(BertvizError):
    """The Hub cannot be reached or refuses the request."""


class TextError(BertvizError):
    """The text cannot be read by the model."""


class NoDifferenceError(TextError):
    """A target is the same for two texts, so that no patch can bring back a difference."""


class OutOfMemoryError(TextError):
    """There is not memory enough for a run; one of fewer or shorter texts needs less."""


class CorpusError(BertvizError):
    """A corpus folder is missing, incomplete or damaged, or cannot be made of this input or at this place."""


class LessonError(BertvizError):
    """A lesson does not exist or its file is not a valid lesson."""


class BusyError(BertvizError):
    """Too many runs are waiting for the model already."""


class SupersededError(Exception):
    """The result is no longer wanted, because a newer request replaced this one; no user ever sees this."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory was refused.

    Python, NumPy and C++ raise MemoryError, torch a RuntimeError that says so, and a run of ours OutOfMemoryError.
    """
    words = f"{type(error).__name__} {error}".lower()
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
        isinstance(error, RuntimeError) and any(each in words for each in refusals)
    )
