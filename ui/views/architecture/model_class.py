"""The class that the architecture page describes, and the options of questions about it."""

from typing import NamedTuple

from bertviz_core.errors import CheckpointError
from bertviz_core.questions.models import architecture
from bertviz_core.questions.parameters import Options
from bertviz_core.trace.results import Tokens
from ui.cache import models, sources
from ui.cache.shared_model import SharedModel
from ui.widgets import text_fields
from ui.widgets.models import fields


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
        """Options of questions that do not depend on the text."""
        return Options(task=self.task, values=values)

    def text_options(self, **values: str) -> Options:
        """Options of questions about the session's text; without a text where there is no tokenizer."""
        read = self.tokens()
        texts, pair = ((), None) if read is None else ((text_fields.text(),), text_fields.pair())
        return Options(texts, pair, self.task, values)

    def tokens(self) -> Tokens | None:
        """Tokens of the session's text; None where the tokenizer is not on this machine."""
        try:
            return models.tokens(self.name, text_fields.text(), text_fields.pair())
        except CheckpointError:
            return None

    def counted(self) -> "ModelClass":
        """The class, or the family's base class where the class cannot run on a text alone."""
        return ModelClass(self.name, architecture.counted_task(self.opened, self.options()))


def chosen_class(name: str) -> ModelClass:
    """The class of the checkpoint, or that of the chosen task."""
    options = Options(task=fields.chosen_task(sources.tasks(name)))
    return ModelClass(name, architecture.class_task(SharedModel(name), options))
