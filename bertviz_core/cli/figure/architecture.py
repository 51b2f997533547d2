"""Figures of the command line that show how a model is put together: one layer, its cost, memory, its design."""

from bertviz_core.architecture.activation_memory import activation_memory
from bertviz_core.architecture.design import design_of
from bertviz_core.architecture.dry_run import module_shapes
from bertviz_core.architecture.layer_flow import layer_flow, layer_paths
from bertviz_core.architecture.module_tree import module_tree, task_of_class
from bertviz_core.architecture.multiply_adds import (
    BATCHES,
    STATED_TOKENS,
    counted,
    crossover,
    curve_lengths,
    doubling_lengths,
    formula_covers,
    multiply_adds,
    operation_terms,
)
from bertviz_core.architecture.results import Architecture, Holding
from bertviz_core.architecture.sizes import describe
from bertviz_core.cli.figure.request import FigureOutput, FigureRequest, settings
from bertviz_core.cli.options import tokenized
from bertviz_core.errors import UnsupportedModelError
from bertviz_core.figures.architecture.cost import cost_caption, cost_picture, memory_caption, memory_picture
from bertviz_core.figures.architecture.designs import design_caption, design_picture
from bertviz_core.figures.architecture.layer_flow import layer_caption, layer_picture
from bertviz_core.figures.base.picture import FigureSpec
from bertviz_core.models.skeleton import build_skeleton, model_config
from bertviz_core.models.sources import ModelSource, resolve
from bertviz_core.parameters.ledger import config_ledger, source_ledger
from bertviz_core.parameters.results import Ledger
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import position_limit

HOLDINGS: "dict[str, Holding]" = {"Inference": "inference", "Training": "training"}


def layer(asked: FigureRequest) -> FigureOutput:
    """The way through one layer, with the shapes of the text, or of 128 tokens without one."""
    source, model, ledger, task = _class(asked)
    layers = len(layer_paths(ledger, source.model_type))
    number = asked.number("layer", asked.layer, max(layers, 1), layers // 2)
    read, limit = _read(asked), _limit(source)
    text = min(STATED_TOKENS, limit or STATED_TOKENS) if read is None else read
    run = module_shapes(source.name, source.config, text, task)
    config = model_config(source.name, source.config).to_dict()
    tree = module_tree(source.name, source.config, task, fold=False)
    flow = layer_flow(tree, ledger, run, model, config, number)
    return _of(source, layer_picture(flow), layer_caption(flow), read)


def cost(asked: FigureRequest) -> FigureOutput:
    """Multiply-adds by length.

    Raises:
        UnsupportedModelError: the formula leaves most of the model's work out.
    """
    source = _source(asked)
    terms, limit, read = operation_terms(source.name, source.config), _limit(source), _read(asked)
    here = min(STATED_TOKENS, limit or STATED_TOKENS) if read is None else len(read)
    counts = counted(source.name, source.config, tuple(sorted({here, *doubling_lengths(limit)[-3:]})))
    if not formula_covers(terms, counts):
        raise UnsupportedModelError(
            f"The formula leaves out most of what {asked.model!r} computes; draw memory instead."
        )
    crossing = crossover(terms)
    costs = multiply_adds(terms, curve_lengths(limit, crossing.tokens, here))
    picture = cost_picture(costs, counts, crossing, limit, terms.model)
    return _of(source, picture, cost_caption(costs, crossing, counts, terms.model))


def memory(asked: FigureRequest) -> FigureOutput:
    """Bytes of activations by batch and length."""
    source = _source(asked)
    holding = HOLDINGS[asked.setting("holding", list(HOLDINGS))]
    found = activation_memory(source.name, source.config, holding, BATCHES, doubling_lengths(_limit(source)))
    return _of(source, memory_picture(found), memory_caption(found))


def design(asked: FigureRequest) -> FigureOutput:
    """Encoder, encoder with decoder, decoder; the model's own marked."""
    source, model, ledger, task = _class(asked)
    found = design_of(build_skeleton(source.name, source.config, task), ledger)
    return _of(source, design_picture(model, found), design_caption(model, found, ledger.total))


def _source(asked: FigureRequest) -> "ModelSource":

    return resolve(asked.model, settings())


def _class(asked: FigureRequest) -> "tuple[ModelSource, Architecture, Ledger, str]":
    """The model, its sizes, and the class that its checkpoint names, or that of the task asked for."""
    source = _source(asked)
    own = source_ledger(source, settings(), None)
    task = asked.task or task_of_class(source.name, source.config, own.architecture)
    return source, describe(source, own), config_ledger(source.name, source.config, task), task


def _limit(source: "ModelSource") -> int | None:
    """Tokens that a model has positions for; None for one without a count of positions."""
    found = position_limit(model_config(source.name, source.config).to_dict())
    return None if found is None else found.tokens


def _read(asked: FigureRequest) -> "Tokens | None":
    """The text as the model reads it; None where none was given."""
    return tokenized(asked.model, asked.text(), asked.pair) if asked.texts else None


def _of(source: "ModelSource", picture: "FigureSpec", words: str, read: "Tokens | None" = None) -> FigureOutput:
    texts = () if read is None else (read.text, read.pair)
    return FigureOutput(picture, words, ((source.name, source.revision),), texts)
