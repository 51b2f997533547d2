"""Figures of the command line that need no text: parameters, layers, components, models, the stack."""

from bertviz_core.architecture.sizes import describe
from bertviz_core.cli.figure.request import FigureOutput, FigureRequest, settings
from bertviz_core.errors import TextError
from bertviz_core.figures.architecture.model_stack import stack_picture, stack_words
from bertviz_core.figures.base.picture import FigureSpec
from bertviz_core.figures.parameters import (
    FORMS,
    components_picture,
    layers_picture,
    models_picture,
    tree_picture,
    tree_words,
)
from bertviz_core.models.sources import ModelSource, resolve
from bertviz_core.parameters.ledger import source_ledger
from bertviz_core.parameters.results import Ledger
from bertviz_core.parameters.tree import parameter_tree, tree_depth
from bertviz_core.text import escape_controls


def parameters(asked: FigureRequest) -> FigureOutput:
    """The tree of modules."""
    form = next((each for each in FORMS if each == asked.form), None)
    if form is None:
        raise TextError(f"There is no --form {escape_controls(asked.form[:20])!r}; choose {', '.join(FORMS)}.")
    source, ledger = _ledger(asked)
    nodes = parameter_tree(ledger, min(asked.depth, tree_depth(ledger)))
    return _of_ledger(source, tree_picture(ledger, nodes, form), tree_words(ledger))


def layers(asked: FigureRequest) -> FigureOutput:
    """The layers as stacked bars.

    Raises:
        TextError: the model has no numbered layers.
    """
    source, ledger = _ledger(asked)
    if not ledger.layers:
        raise TextError(f"No numbered layers were found among the names of {asked.model!r}; draw its parameters.")
    return _of_ledger(source, layers_picture(ledger))


def components(asked: FigureRequest) -> FigureOutput:
    """The model as one bar."""
    source, ledger = _ledger(asked)
    return _of_ledger(source, components_picture(ledger))


def overview(asked: FigureRequest) -> FigureOutput:
    """The stack of the model's blocks."""
    source, ledger = _ledger(asked)
    return _of_ledger(source, stack_picture(describe(source, ledger), ledger), stack_words(ledger))


def models(asked: FigureRequest) -> FigureOutput:
    """Several models side by side.

    Raises:
        TextError: none is named beside the first.
    """
    names = tuple(dict.fromkeys((asked.model, *asked.texts)))
    if len(names) < 2:
        raise TextError("This figure compares models, and one came; name the others behind it.")
    current = settings()
    sources = [resolve(name, current) for name in names]
    picture = models_picture([source_ledger(source, current, asked.task) for source in sources])
    return FigureOutput(picture, picture.title, tuple((source.name, source.revision) for source in sources))


def _ledger(asked: FigureRequest) -> "tuple[ModelSource, Ledger]":

    current = settings()
    source = resolve(asked.model, current)
    return source, source_ledger(source, current, asked.task)


def _of_ledger(source: "ModelSource", picture: "FigureSpec", words: str = "") -> FigureOutput:
    return FigureOutput(picture, words or picture.title, ((source.name, source.revision),))
