"""Where a model is, and its parameters: results kept by what they are made from. Results are frozen and shared."""

from dataclasses import dataclass

from bertviz_core.architecture.results import Architecture
from bertviz_core.architecture.sizes import describe
from bertviz_core.models.catalog import type_facts
from bertviz_core.models.sources import ModelSource, resolve
from bertviz_core.parameters.ledger import source_ledger
from bertviz_core.parameters.results import Ledger, TreeNode
from bertviz_core.parameters.tree import parameter_tree, tree_depth
from ui.cache.decorator import cached_by_bytes
from ui.session import settings


@dataclass(frozen=True, slots=True)
class SourceKey:
    """What results about a model are kept by: another key wherever the model's files have changed."""

    name: str
    """Name that the model is asked for by."""
    kind: str
    """Which of the places it comes from."""
    revision: str
    """What changes when its files change."""
    has_weights: bool
    """Whether its weights are on this machine."""


def source(name: str) -> ModelSource:
    """Where a model is; looked up each time, since files change."""
    return resolve(name, settings())


def source_key(name: str) -> SourceKey:
    """The key of a model as its files are now."""
    current = source(name)
    return SourceKey(current.name, current.kind, current.revision, current.has_weights)


def ledger(name: str, task: str | None = None) -> Ledger:
    """The parameter ledger of a model as its files are now."""
    return _ledger(source_key(name), task)


def architecture(name: str) -> Architecture:
    """Sizes and capabilities of a model."""
    return describe(source(name), ledger(name))


def tree(name: str, depth: int, task: str | None = None) -> tuple[TreeNode, ...]:
    """The module tree of a model down to a depth."""
    return _tree(source_key(name), task, depth)


def depth(name: str, task: str | None = None) -> int:
    """Levels of the whole module tree of a model."""
    return _depth(source_key(name), task)


def tasks(name: str) -> tuple[str, ...]:
    """Tasks that a model's family has classes for."""
    facts = type_facts(source(name).model_type)
    return facts.tasks if facts else ()


@cached_by_bytes("Counting parameters")
def _ledger(key: SourceKey, task: str | None) -> Ledger:
    return source_ledger(source(key.name), settings(), task)


@cached_by_bytes()
def _tree(key: SourceKey, task: str | None, depth: int) -> tuple[TreeNode, ...]:
    return parameter_tree(_ledger(key, task), depth)


@cached_by_bytes()
def _depth(key: SourceKey, task: str | None) -> int:
    return tree_depth(_ledger(key, task))
