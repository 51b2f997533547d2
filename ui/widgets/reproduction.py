"""Lines of Python that load the chosen model and read the text, which begin every "How this is computed"."""

from bertviz_core.questions.report import transformers_lines as lines
from bertviz_core.questions.report.transformers_lines import LONGEST as LONGEST
from bertviz_core.questions.report.transformers_lines import reading as reading
from bertviz_core.trace.results import Tokens
from ui.cache.shared_model import SharedModel


def model_lines(name: str, tokens: Tokens | None = None) -> str:
    """Lines that load a model by its name, and that read a text as `inputs` if there is one."""
    return lines.model_lines(SharedModel(name), tokens)


def head_lines(name: str, auto_class: str, tokens: Tokens) -> str:
    """Lines that load a model with a task head by a class of transformers, and read a text as `inputs`."""
    return lines.head_lines(SharedModel(name), auto_class, tokens)
