"""Figures of the command line that show how a model is put together: one layer, its cost, memory, its design."""

from typing import TYPE_CHECKING

from bertviz_core.cli_figure_asked import Asked, Made, settings
from bertviz_core.errors import UnsupportedModelError

if TYPE_CHECKING:
    from bertviz_core.results import Architecture, Ledger
    from bertviz_core.results.operations import Holding
    from bertviz_core.results.trace import Tokens
    from bertviz_core.sources import ModelSource
    from figures.picture import Picture

HOLDINGS: "dict[str, Holding]" = {"Inference": "inference", "Training": "training"}


def layer(asked: Asked) -> Made:
    """The way through one layer, with the shapes of the text, or of 128 tokens without one."""
    from bertviz_core.drawn_lengths import STATED_TOKENS
    from bertviz_core.layer_flow import layer_flow
    from bertviz_core.layer_modules import layer_paths
    from bertviz_core.module_shapes import module_shapes
    from bertviz_core.module_tree import module_tree
    from bertviz_core.skeleton import model_config
    from figures.architecture_pictures import layer_caption, layer_picture

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


def cost(asked: Asked) -> Made:
    """Multiply-adds by length.

    Raises:
        UnsupportedModelError: the formula leaves most of the model's work out.
    """
    from bertviz_core.drawn_lengths import STATED_TOKENS, curve_lengths, doubling_lengths, formula_covers
    from bertviz_core.operations import counted, crossover, multiply_adds, operation_terms
    from figures.architecture_pictures import cost_caption, cost_picture

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


def memory(asked: Asked) -> Made:
    """Bytes of activations by batch and length."""
    from bertviz_core.activation_memory import activation_memory
    from bertviz_core.drawn_lengths import BATCHES, doubling_lengths
    from figures.architecture_pictures import memory_caption, memory_picture

    source = _source(asked)
    holding = HOLDINGS[asked.setting("holding", list(HOLDINGS))]
    found = activation_memory(source.name, source.config, holding, BATCHES, doubling_lengths(_limit(source)))
    return _of(source, memory_picture(found), memory_caption(found))


def design(asked: Asked) -> Made:
    """Encoder, encoder with decoder, decoder; the model's own marked."""
    from bertviz_core.design import design_of
    from bertviz_core.skeleton import build_skeleton
    from figures.architecture_pictures import design_caption, design_picture

    source, model, ledger, task = _class(asked)
    found = design_of(build_skeleton(source.name, source.config, task), ledger)
    return _of(source, design_picture(model, found), design_caption(model, found, ledger.total))


def _source(asked: Asked) -> "ModelSource":
    from bertviz_core.sources import resolve

    return resolve(asked.model, settings())


def _class(asked: Asked) -> "tuple[ModelSource, Architecture, Ledger, str]":
    """The model, its sizes, and the class that its checkpoint names, or that of the task asked for."""
    from bertviz_core.architecture import describe
    from bertviz_core.module_tree import task_of_class
    from bertviz_core.parameters import config_ledger, source_ledger

    source = _source(asked)
    own = source_ledger(source, settings(), None)
    task = asked.task or task_of_class(source.name, source.config, own.architecture)
    return source, describe(source, own), config_ledger(source.name, source.config, task), task


def _limit(source: "ModelSource") -> int | None:
    """Tokens that a model has positions for; None for one without a count of positions."""
    from bertviz_core.skeleton import model_config
    from bertviz_core.token_limits import position_limit

    found = position_limit(model_config(source.name, source.config).to_dict())
    return None if found is None else found.tokens


def _read(asked: Asked) -> "Tokens | None":
    """The text as the model reads it; None where none was given."""
    from bertviz_core.cli_text import tokenized

    return tokenized(asked.model, asked.text(), asked.pair) if asked.texts else None


def _of(source: "ModelSource", picture: "Picture", words: str, read: "Tokens | None" = None) -> Made:
    texts = () if read is None else (read.text, read.pair)
    return Made(picture, words, ((source.name, source.revision),), texts)
