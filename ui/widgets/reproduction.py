"""Lines of Python that load the chosen model and read the text, for pages that are not declared yet."""

from bertviz_core.questions.report import model_lines as lines
from bertviz_core.questions.report.model_lines import LONGEST, reading
from bertviz_core.trace.results import Tokens
from ui.cache.shared_model import SharedModel

__all__ = ["LONGEST", "head_lines", "model_lines", "reader_lines", "reading"]


def model_lines(name: str, tokens: Tokens | None = None) -> str:
    """As bertviz_core.questions.report.model_lines, for a model by its name."""
    return lines.model_lines(SharedModel(name), tokens)


def head_lines(name: str, auto_class: str, tokens: Tokens) -> str:
    """The same with a task head by a class of transformers."""
    return lines.model_lines(SharedModel(name), tokens, auto_class)


def reader_lines(name: str) -> str:
    """Lines that load a model as `model` and its tokenizer as `tokenizer`."""
    return lines.reader_lines(SharedModel(name))
