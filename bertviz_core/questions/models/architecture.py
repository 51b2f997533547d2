"""How a model is built and what a run of it costs, known from its config alone."""

from collections.abc import Iterable

from bertviz_core.architecture.cost.activation_memory import activation_memory
from bertviz_core.architecture.cost.counting import counted
from bertviz_core.architecture.cost.multiply_adds import (
    BATCHES,
    STATED_TOKENS,
    checked_lengths,
    crossover,
    curve_lengths,
    doubling_lengths,
    foretells,
    multiply_adds,
    operation_terms,
)
from bertviz_core.architecture.cost.results import ActivationMemory, Crossover, Holding, MultiplyAdds
from bertviz_core.architecture.design import design_of
from bertviz_core.architecture.dry_run import runnable_task
from bertviz_core.architecture.layer_flow import layer_flow
from bertviz_core.architecture.layer_modules import layer_paths
from bertviz_core.architecture.module_shapes import module_shapes
from bertviz_core.architecture.module_tree import module_tree
from bertviz_core.architecture.results import Design, LayerFlow
from bertviz_core.architecture.sizes import describe
from bertviz_core.models.skeleton import build_skeleton, model_config, task_of_class
from bertviz_core.parameters.ledger import config_ledger
from bertviz_core.parameters.results import Ledger
from bertviz_core.questions.models.parameters import facts_of, parameters
from bertviz_core.questions.opened import Opened, answered
from bertviz_core.questions.parameters import Options, Param, choice
from bertviz_core.questions.question import Answer, question
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import position_limit

HOLDINGS: dict[str, Holding] = {"Inference": "inference", "Training": "training"}
HOLDING = choice("holding", tuple(HOLDINGS), "whether activations are kept for a backward pass")
LAYER = Param("layer", "layer", "the layer that is drawn, the middle one by default")


@question(figures=("design",))
def design(opened: Opened, options: Options) -> Answer[Design]:
    """Whether the class that is meant is an encoder, a decoder or both."""
    own, task, ledger = _class(opened, options)
    skeleton = build_skeleton(opened.source.name, opened.source.config, task)
    kind = design_of(skeleton, ledger, facts_of(opened, ledger))
    sizes = describe(opened.source, own, facts_of(opened, own))
    return answered(opened, kind, own_architecture=sizes, design=kind, class_ledger=ledger)


@question(figures=("layer",), params=(LAYER,))
def layer(opened: Opened, options: Options) -> Answer[LayerFlow]:
    """The way through one layer, with the shapes of the text, or of 128 tokens without one."""
    (own, task, ledger), source, read = _class(opened, options), opened.source, _read(opened, options)
    layers = len(layer_paths(ledger, source.model_type))
    number = options.numbered("layer", max(layers, 1), layers // 2, opened.name)
    run = module_shapes(source.name, source.config, _stated(opened) if read is None else read, task)
    sizes = describe(source, own, facts_of(opened, own))
    tree = module_tree(source.name, source.config, task, fold=False)
    flow = layer_flow(tree, ledger, run, sizes, facts_of(opened, ledger), number)
    texts = () if read is None else (read.text, read.pair)
    return Answer(flow, ((source.name, source.revision),), texts, (), {"flow": flow})


@question(figures=("cost",))
def cost(opened: Opened, options: Options) -> Answer[MultiplyAdds]:
    """Multiply-adds by length: by a formula where it gives what PyTorch counts, else as PyTorch counts."""
    source, read, limit = opened.source, _read(opened, options), _position_limit(opened)
    task, here = _counted_task(opened, options), _stated(opened) if read is None else len(read)

    def counts_at(lengths: Iterable[int]) -> MultiplyAdds:
        return counted(source.name, source.config, tuple(sorted(set(lengths))), task)

    terms = operation_terms(source.name, source.config, task)
    costs = counts = counts_at(checked_lengths(limit, here))
    crossing = Crossover(None)
    if foretells(terms, counts):
        crossing = crossover(terms)
        costs = multiply_adds(terms, curve_lengths(limit, crossing.tokens, here))
    else:
        costs = counts = counts_at((here, *doubling_lengths(limit)))
    drawn = {"counts": counts, "crossing": crossing, "position_limit": limit, "model_name": source.name}
    return answered(opened, costs, costs=costs, **drawn)


@question(figures=("memory",), params=(HOLDING,))
def memory(opened: Opened, options: Options) -> Answer[ActivationMemory]:
    """Bytes of activations by batch and length."""
    holding, source = HOLDINGS[options.choice(HOLDING)], opened.source
    lengths, task = doubling_lengths(_position_limit(opened)), _counted_task(opened, options)
    kept = activation_memory(source.name, source.config, holding, BATCHES, lengths, task)
    return answered(opened, kept, memory=kept)


def _counted_task(opened: Opened, options: Options) -> str:
    """The task that is meant, or "base" where its class cannot be run on a text alone."""
    _, task, _ = _class(opened, options)
    return runnable_task(opened.source.name, opened.source.config, task)


def _class(opened: Opened, options: Options) -> tuple[Ledger, str, Ledger]:
    """The ledger of the class that the checkpoint names; the task that is meant, and the ledger of its class."""
    source = opened.source
    own = parameters(opened, Options()).result
    task = options.task or task_of_class(source.name, source.config, own.architecture)
    return own, task, config_ledger(source.name, source.config, task)


def _read(opened: Opened, options: Options) -> Tokens | None:
    """The text as the model reads it; None where none was given."""
    return opened.tokens(options.text(), options.pair) if options.texts else None


def _position_limit(opened: Opened) -> int | None:
    """Tokens that the model has positions for; None for one without a count of positions."""
    limit = position_limit(model_config(opened.source.name, opened.source.config).to_dict())
    return None if limit is None else limit.tokens


def _stated(opened: Opened) -> int:
    """Tokens of a text that nobody typed."""
    return min(STATED_TOKENS, _position_limit(opened) or STATED_TOKENS)
