"""Parameter ledger, sizes and module tree of a model, shared by several pages."""

from bertviz_core.architecture.results import Architecture
from bertviz_core.parameters.results import Ledger, TreeNode
from bertviz_core.questions.models import architecture as parameters
from bertviz_core.questions.parameters import Options
from ui.cache.shared_model import SharedModel


def ledger(name: str, task: str | None = None) -> Ledger:
    """The parameter ledger of a model from its current files."""
    return parameters.parameters(SharedModel(name), Options(task=task)).result


def architecture(name: str) -> Architecture:
    """Sizes and capabilities of a model."""
    return parameters.architecture(SharedModel(name), Options()).result


def tree(name: str, depth: int, task: str | None = None) -> tuple[TreeNode, ...]:
    """The module tree of a model down to a depth."""
    options = Options(task=task, values={parameters.DEPTH.key: str(depth)})
    return parameters.parameter_tree(SharedModel(name), options).result


def depth(name: str, task: str | None = None) -> int:
    """Number of levels of a model's whole module tree."""
    return parameters.levels(SharedModel(name), Options(task=task))
