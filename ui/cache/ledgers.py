"""Cached results, keyed by plain values: a model's name, its revision, options. Results are frozen and shared."""

from bertviz_core.architecture.results import Architecture
from bertviz_core.architecture.sizes import describe
from bertviz_core.models.catalog import type_facts
from bertviz_core.models.sources import ModelSource, resolve
from bertviz_core.parameters.ledger import source_ledger
from bertviz_core.parameters.results import Ledger, TreeNode
from bertviz_core.parameters.tree import parameter_tree, tree_depth
from ui.cache.decorator import cached_by_bytes
from ui.session import settings


def source(name: str) -> ModelSource:
    """Where a model is; looked up each time, since files change."""
    return resolve(name, settings())


def ledger(name: str, task: str | None = None) -> Ledger:
    """The parameter ledger of a model as its files are now."""
    found = source(name)
    return _ledger(found.name, found.kind, found.revision, found.has_weights, task)


def architecture(name: str) -> Architecture:
    """Sizes and capabilities of a model."""
    return describe(source(name), ledger(name))


def tree(name: str, depth: int, task: str | None = None) -> tuple[TreeNode, ...]:
    """The module tree of a model down to a depth."""
    found = source(name)
    return _tree(found.name, found.kind, found.revision, found.has_weights, task, depth)


def depth(name: str, task: str | None = None) -> int:
    """Levels of the whole module tree of a model."""
    found = source(name)
    return _depth(found.name, found.kind, found.revision, found.has_weights, task)


def tasks(name: str) -> tuple[str, ...]:
    """Tasks that a model's family has classes for."""
    facts = type_facts(source(name).model_type)
    return facts.tasks if facts else ()


@cached_by_bytes("Counting parameters")
def _ledger(name: str, kind: str, revision: str, has_weights: bool, task: str | None) -> Ledger:
    current = settings()
    return source_ledger(resolve(name, current), current, task)


@cached_by_bytes()
def _tree(name: str, kind: str, revision: str, has_weights: bool, task: str | None, depth: int) -> tuple[TreeNode, ...]:
    return parameter_tree(_ledger(name, kind, revision, has_weights, task), depth)


@cached_by_bytes()
def _depth(name: str, kind: str, revision: str, has_weights: bool, task: str | None) -> int:
    return tree_depth(_ledger(name, kind, revision, has_weights, task))
