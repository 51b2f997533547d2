"""What a user can cause, each said in one sentence: what was asked, what was found, what to do."""


class BertvizError(Exception):
    """A refusal that a user can act on; its text is shown as it stands, in the page and on the command line."""


class ModelNotFoundError(BertvizError):
    """The name leads to no model that may be opened here."""


class CheckpointError(BertvizError):
    """The files of a checkpoint are missing, damaged, or of a format that is not opened."""


class MissingFilesError(CheckpointError):
    """A model's weights or tokenizer are on the Hub and not on this machine; `model` is its name."""

    def __init__(self, model: str, words: str) -> None:
        """The refusal, with the name of the model that lacks files."""
        super().__init__(words)
        self.model = model


class UnsupportedModelError(BertvizError):
    """The model is known, but it has not got what was asked for."""


class HubError(BertvizError):
    """The Hub did not answer, or refused."""


class TextError(BertvizError):
    """The text cannot be given to the model."""


class LessonError(BertvizError):
    """A lesson's file cannot be read as a lesson, or there is none of this name."""


class BusyError(BertvizError):
    """Too many wait for the model already."""


class SupersededError(Exception):
    """The one who asked for a run has asked for something else meanwhile; no user ever sees this."""
