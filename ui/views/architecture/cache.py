"""What the architecture page computes, kept by plain values: model, class, text, options."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from bertviz_core.architecture.cost.activation_memory import activation_memory
from bertviz_core.architecture.cost.counting import counted
from bertviz_core.architecture.cost.multiply_adds import STATED_TOKENS, operation_terms
from bertviz_core.architecture.cost.results import ActivationMemory, Holding, MultiplyAdds, OperationTerms
from bertviz_core.architecture.design import design_of
from bertviz_core.architecture.dry_run import DryWay, dry_way, runnable_task
from bertviz_core.architecture.layer_flow import layer_flow
from bertviz_core.architecture.layer_modules import layer_paths
from bertviz_core.architecture.module_shapes import module_shapes
from bertviz_core.architecture.module_tree import module_tree
from bertviz_core.architecture.results import Design, LayerFlow, ModuleTree, ShapeRun
from bertviz_core.errors import BertvizError, CheckpointError
from bertviz_core.models.skeleton import build_skeleton, model_config
from bertviz_core.parameters.ledger import config_ledger
from bertviz_core.parameters.results import Ledger
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import position_limit
from ui.cache import ledgers, models, sources
from ui.cache.decorator import cached_by_bytes
from ui.cache.sources import SourceKey, source_key
from ui.widgets import controls


class ModelClass(NamedTuple):
    """The class that the page describes."""

    name: str
    """Name of the model."""
    task: str
    """Task of the class; "base" for the base model."""


def chosen_class(name: str) -> ModelClass:
    """The class that the checkpoint names, or that of the task chosen for the session."""
    task = controls.chosen_task(sources.tasks(name))
    return ModelClass(name, task or ledgers.own_task(name))


def tree(of: ModelClass, fold: bool = True) -> ModuleTree:
    """The module tree of a class."""
    return _tree(source_key(of.name), of.task, fold)


def class_ledger(of: ModelClass) -> Ledger:
    """The ledger of a class."""
    return _class_ledger(source_key(of.name), of.task)


def read(name: str) -> Tokens | None:
    """The text of the session as the model reads it; None where its tokenizer is not on this machine."""
    try:
        return models.tokens(name, controls.text(), controls.pair())
    except CheckpointError:
        return None


def shapes(of: ModelClass) -> ShapeRun:
    """Shapes of the session's text through the modules of a class; of a stated length without a tokenizer."""
    run = read(of.name)
    return _shapes(source_key(of.name), of.task, _text(run), run)


def layer_count(of: ModelClass) -> int:
    """Layers of the encoder that can be drawn."""
    return len(layer_paths(class_ledger(of), sources.source(of.name).model_type))


def flow(of: ModelClass, layer: int) -> LayerFlow:
    """The way through one layer of a class."""
    reading = read(of.name)
    return _flow(source_key(of.name), of.task, _text(reading), layer, reading)


def whole_config(name: str) -> Mapping[str, Any]:
    """All values of a model's config, those that its file leaves out included."""
    config: Mapping[str, Any] = model_config(name, sources.source(name).config).to_dict()
    return config


def most_tokens(name: str) -> int | None:
    """Tokens that a model has positions for; None for one without a count of positions."""
    limit = position_limit(whole_config(name))
    return None if limit is None else limit.tokens


def design(of: ModelClass) -> Design:
    """Whether a class is an encoder, a decoder or both."""
    return _design(source_key(of.name), of.task)


def way(of: ModelClass) -> DryWay | None:
    """How a class is run without values; None where it cannot be."""
    try:
        return _way(source_key(of.name), of.task)
    except BertvizError:
        return None


def countable(of: ModelClass) -> ModelClass:
    """The class itself, or the family's base class where the class cannot be run on a text alone."""
    return ModelClass(of.name, _runnable(source_key(of.name), of.task))


def terms(of: ModelClass) -> OperationTerms:
    """The formula for the multiply-adds of a class."""
    return _terms(source_key(of.name), of.task)


def counts(of: ModelClass, lengths: tuple[int, ...]) -> MultiplyAdds:
    """PyTorch's own count of multiply-adds for some lengths, part by part."""
    return _counts(source_key(of.name), of.task, lengths)


def memory(of: ModelClass, holding: Holding, batches: tuple[int, ...], lengths: tuple[int, ...]) -> ActivationMemory:
    """Bytes of activations by batch and length."""
    return _memory(source_key(of.name), of.task, holding, batches, lengths)


def _text(tokens: Tokens | None) -> tuple[str, str | None] | None:
    """What results on the session's text are kept by; None without a tokenizer."""
    return None if tokens is None else (tokens.text, tokens.pair)


@cached_by_bytes("Building the modules")
def _tree(key: SourceKey, task: str, fold: bool) -> ModuleTree:
    return module_tree(key.name, sources.source(key.name).config, task, fold)


@cached_by_bytes()
def _class_ledger(key: SourceKey, task: str) -> Ledger:
    return config_ledger(key.name, sources.source(key.name).config, task)


@cached_by_bytes()
def _design(key: SourceKey, task: str) -> Design:
    model = build_skeleton(key.name, sources.source(key.name).config, task)
    return design_of(model, _class_ledger(key, task), ledgers.facts(key.name, task))


@cached_by_bytes()
def _flow(
    key: SourceKey,
    task: str,
    text: tuple[str, str | None] | None,
    layer: int,
    _tokens: Tokens | None,
) -> LayerFlow:
    tree, run = _tree(key, task, False), _shapes(key, task, text, _tokens)
    model, facts = ledgers.architecture(key.name), ledgers.facts(key.name, task)
    return layer_flow(tree, _class_ledger(key, task), run, model, facts, layer)


@cached_by_bytes("Tracing shapes")
def _shapes(
    key: SourceKey,
    task: str,
    text: tuple[str, str | None] | None,
    _tokens: Tokens | None,
) -> ShapeRun:
    limit = most_tokens(key.name) or STATED_TOKENS
    row = min(STATED_TOKENS, limit) if _tokens is None else _tokens
    return module_shapes(key.name, sources.source(key.name).config, row, task)


@cached_by_bytes("Reading the formula off the modules")
def _terms(key: SourceKey, task: str) -> OperationTerms:
    return operation_terms(key.name, sources.source(key.name).config, task, ledgers.facts(key.name, task))


@cached_by_bytes()
def _runnable(key: SourceKey, task: str) -> str:
    return runnable_task(key.name, sources.source(key.name).config, task)


@cached_by_bytes()
def _way(key: SourceKey, task: str) -> DryWay:
    return dry_way(key.name, sources.source(key.name).config, task)


@cached_by_bytes("Counting operations")
def _counts(key: SourceKey, task: str, lengths: tuple[int, ...]) -> MultiplyAdds:
    return counted(key.name, sources.source(key.name).config, lengths, task)


@cached_by_bytes("Estimating memory")
def _memory(
    key: SourceKey,
    task: str,
    holding: Holding,
    batches: tuple[int, ...],
    lengths: tuple[int, ...],
) -> ActivationMemory:
    return activation_memory(key.name, sources.source(key.name).config, holding, batches, lengths, task)
