"""The class that the architecture page describes, and what questions about it are asked with."""

from typing import NamedTuple

from bertviz_core.errors import CheckpointError
from bertviz_core.questions.models import architecture
from bertviz_core.questions.parameters import Options
from bertviz_core.trace.results import Tokens
from ui.cache import models, sources
from ui.cache.shared_model import SharedModel
from ui.widgets import controls


class ModelClass(NamedTuple):
    """A model and the task whose class is described."""

    name: str
    """Name of the model."""
    task: str
    """Task of the class; "base" for the base model."""

    @property
    def opened(self) -> SharedModel:
        """The model."""
        return SharedModel(self.name)

    def options(self, **values: str) -> Options:
        """Options of questions that no text changes."""
        return Options(task=self.task, values=values)

    def text_options(self, **values: str) -> Options:
        """Options of questions about the text of the session; without a tokenizer they are about no text."""
        read = self.tokens()
        texts, pair = ((), None) if read is None else ((controls.text(),), controls.pair())
        return Options(texts, pair, self.task, values)

    def tokens(self) -> Tokens | None:
        """The text of the session as the model reads it; None where its tokenizer is not on this machine."""
        try:
            return models.tokens(self.name, controls.text(), controls.pair())
        except CheckpointError:
            return None

    def counted(self) -> "ModelClass":
        """The class itself, or the family's base class where the class cannot be run on a text alone."""
        return ModelClass(self.name, architecture.counted_task(self.opened, self.options()))


def chosen_class(name: str) -> ModelClass:
    """The class that the checkpoint names, or that of the task chosen for the session."""
    options = Options(task=controls.chosen_task(sources.tasks(name)))
    return ModelClass(name, architecture.class_task(SharedModel(name), options))
