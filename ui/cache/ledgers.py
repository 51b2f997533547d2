"""Parameters and sizes of a model: results kept by what they are made from. Results are frozen and shared."""

from bertviz_core.architecture.facts.bundled import facts_of
from bertviz_core.architecture.results import Architecture
from bertviz_core.architecture.sizes import describe
from bertviz_core.architecture.structure.results import ModelFacts
from bertviz_core.errors import BertvizError
from bertviz_core.models.skeleton import task_of_class
from bertviz_core.parameters.ledger import source_ledger
from bertviz_core.parameters.results import Ledger, TreeNode
from bertviz_core.parameters.tree import parameter_tree, tree_depth
from ui.cache.decorator import cached_by_bytes
from ui.cache.sources import SourceKey, source, source_key
from ui.session import settings


def ledger(name: str, task: str | None = None) -> Ledger:
    """The parameter ledger of a model as its files are now."""
    return _ledger(source_key(name), task)


def architecture(name: str) -> Architecture:
    """Sizes and capabilities of a model."""
    return describe(source(name), ledger(name), facts(name))


def facts(name: str, task: str | None = None) -> ModelFacts | None:
    """What a run of the modules tells of a model; None where its family cannot be run without weights.

    Args:
        name: name of the model.
        task: task of the class; None for the class of the parameters that are there.
    """
    return _facts(source_key(name), own_task(name) if task is None else task)


def own_task(name: str) -> str:
    """The task of the class whose parameters a checkpoint holds; "base" for the base model."""
    return _own_task(source_key(name))


def tree(name: str, depth: int, task: str | None = None) -> tuple[TreeNode, ...]:
    """The module tree of a model down to a depth."""
    return _tree(source_key(name), task, depth)


def depth(name: str, task: str | None = None) -> int:
    """Levels of the whole module tree of a model."""
    return _depth(source_key(name), task)


@cached_by_bytes("Counting parameters")
def _ledger(key: SourceKey, task: str | None) -> Ledger:
    return source_ledger(source(key.name), settings(), task)


@cached_by_bytes()
def _own_task(key: SourceKey) -> str:
    return task_of_class(key.name, source(key.name).config, _ledger(key, None).architecture)


@cached_by_bytes("Running the modules without weights")
def _facts(key: SourceKey, task: str) -> ModelFacts | None:
    try:
        return facts_of(key.name, source(key.name).config, task)
    except BertvizError:
        return None


@cached_by_bytes()
def _tree(key: SourceKey, task: str | None, depth: int) -> tuple[TreeNode, ...]:
    return parameter_tree(_ledger(key, task), depth)


@cached_by_bytes()
def _depth(key: SourceKey, task: str | None) -> int:
    return tree_depth(_ledger(key, task))
