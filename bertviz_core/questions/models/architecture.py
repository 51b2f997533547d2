"""Questions about parameters and architecture."""

from collections.abc import Iterable
from dataclasses import dataclass

from bertviz_core.architecture.cost import (
    BATCHES,
    STATED_TOKENS,
    accounts_for,
    activation_memory,
    checked_lengths,
    counted,
    crossover,
    curve_lengths,
    doubling_lengths,
    multiply_adds,
    operation_terms,
)
from bertviz_core.architecture.dataflow.derive import facts_of as facts_of_class
from bertviz_core.architecture.design import design_of
from bertviz_core.architecture.dry_run import DryWay, dry_way, runnable_task
from bertviz_core.architecture.layer_flow import layer_flow, layer_paths
from bertviz_core.architecture.module_tree import module_shapes, module_tree
from bertviz_core.architecture.results import (
    ActivationMemory,
    Architecture,
    Crossover,
    Design,
    Holding,
    LayerFlow,
    ModelFacts,
    ModuleTree,
    MultiplyAdds,
    OperationTerms,
    ShapeRun,
)
from bertviz_core.architecture.sizes import describe
from bertviz_core.checkpoints.load_report.report import compared_ledger
from bertviz_core.errors import BertvizError, Named, TextError
from bertviz_core.figures.parameters import FORMS
from bertviz_core.journey.steps import stages_of
from bertviz_core.models.skeleton import build_skeleton, model_config, task_of_class
from bertviz_core.parameters.ledger import config_ledger
from bertviz_core.parameters.results import Ledger, TreeNode
from bertviz_core.parameters.tree import parameter_tree as tree_of
from bertviz_core.parameters.tree import tree_depth
from bertviz_core.questions.opened import Opened, answered, names_of
from bertviz_core.questions.parameters import Options, Param, choice, flag
from bertviz_core.questions.question import Answer, question
from bertviz_core.text import escape_controls
from bertviz_core.trace.results import Tokens
from bertviz_core.trace.tokenization import position_limit as limit_of

FIRST_DEPTH = 3
FORM = choice("form", FORMS, "how the tree of parameters is drawn", "Form")
DEPTH = Param(
    "depth",
    "whole",
    "levels of modules that are drawn",
    label="Depth",
    bounds=lambda opened, options: (1, levels(opened, options), FIRST_DEPTH),
)


@question(figures=("components",))
def parameters(opened: Opened, options: Options) -> Answer[Ledger]:
    """Ledger of the parameters of a model or of a task class."""
    ledger = compared_ledger(opened.source, opened.settings, options.task)
    return answered(opened, ledger, ledger.notices, ledger=ledger)


def count_notices(opened: Opened) -> tuple[str, ...]:
    """Remarks on the parameters of a checkpoint, at most one."""
    return parameters(opened, Options()).result.notices


@question(figures=("layers",))
def layered_parameters(opened: Opened, options: Options) -> Answer[Ledger]:
    """Ledger of a model with numbered layers."""
    ledger = parameters(opened, Options(task=options.task)).result
    if not ledger.layers:
        raise TextError(f"No numbered layers were found among the names of {opened.name!r}; draw its parameters.")
    return answered(opened, ledger, ledger.notices, layered_ledger=ledger)


@question(figures=("parameters",), params=(FORM, DEPTH))
def parameter_tree(opened: Opened, options: Options) -> Answer[tuple[TreeNode, ...]]:
    """Module tree of a model down to a depth."""
    form, ledger = options.get(FORM.key, FORMS[0]), parameters(opened, Options(task=options.task)).result
    if form not in FORMS:
        raise TextError("There is no ", Named(FORM.key), f" {escape_controls(form[:20])!r}; choose {', '.join(FORMS)}.")
    depth = max(options.whole(DEPTH.key, 10**9, FIRST_DEPTH), 1)
    nodes = tree_of(ledger, min(depth, levels(opened, options)))
    return answered(opened, nodes, ledger.notices, ledger=ledger, nodes=nodes, form=form)


def levels(opened: Opened, options: Options) -> int:
    """Depth of the whole module tree."""
    return opened.get_or_compute(
        (__name__, "levels", options.task), lambda: tree_depth(parameters(opened, Options(task=options.task)).result)
    )


@question(figures=("models",))
def compared_parameters(opened: Opened, options: Options) -> Answer[list[Ledger]]:
    """Ledgers of several models; the texts of the options are the names of the others."""
    names = tuple(dict.fromkeys((opened.name, *options.texts)))
    if len(names) < 2:
        raise TextError("This figure compares models, and one came; name another, too.")
    every = [opened.other(name) for name in names]
    ledgers = [parameters(each, Options(task=options.task)).result for each in every]
    notices = tuple(f"{each.model}: {notice}" for each in ledgers for notice in each.notices)
    return Answer(ledgers, names_of(*every), notices=notices, drawn={"ledgers": ledgers})


@question(figures=("overview",))
def architecture(opened: Opened, options: Options) -> Answer[Architecture]:
    """Sizes of a model, and the capabilities of its family."""
    ledger = parameters(opened, Options(task=options.task)).result
    sizes = describe(opened.source, ledger, facts_of(opened, options.task))
    return answered(opened, sizes, ledger.notices, architecture=sizes, ledger=ledger)


def last_norm(opened: Opened) -> tuple[str, ...]:
    """A remark where the last hidden state, as transformers returns it, is that behind a norm after the layers."""
    sizes, ledger = architecture(opened, Options()).result, parameters(opened, Options()).result
    layers = opened.loaded.num_hidden_layers
    what = f"The last hidden state is the output of the {{}}: what is shown of layer {layers - 1} includes it."
    return tuple(what.format(each.name) for each in stages_of(sizes, ledger, layers) if each.kind == "norm")


def facts_of(opened: Opened, task: str | None = None) -> ModelFacts | None:
    """Facts about a class from a run without weights; None if it cannot be run in this way.

    Args:
        task: task of the class; None for the class whose parameters the checkpoint contains.
    """

    def facts() -> ModelFacts | None:
        try:
            return facts_of_class(opened.source.name, opened.source.config, task or own_task(opened))
        except BertvizError:
            return None

    return opened.get_or_compute((__name__, "model_facts", task), facts)


def own_task(opened: Opened) -> str:
    """Task of the class whose parameters the checkpoint contains; "base" for the base model."""

    def known() -> str:
        ledger = parameters(opened, Options()).result
        return task_of_class(opened.source.name, opened.source.config, ledger.architecture)

    return opened.get_or_compute((__name__, "own_task"), known)


HOLDINGS: dict[str, Holding] = {"Inference": "inference", "Training": "training"}
FIRST_LEVELS = 4
LEVELS = Param("levels", "whole", "levels of the tree that are open", label="Levels open at first")
ONE_BY_ONE = flag("one_by_one", "every layer in rows of its own, equal layers together otherwise")
HOLDING = choice("holding", tuple(HOLDINGS), "whether activations are kept for a backward pass", "What is counted")
LAYER = Param(
    "layer",
    "layer",
    "the stored layer that is drawn, counted from 0, the first by default; in most models all are alike",
    label="Layer",
    bounds=lambda opened, options: (0, layer_count(opened, options) - 1, 0),
)


@dataclass(frozen=True, slots=True, eq=False)
class Cost:
    """Multiply-adds of a model class for a text, and by length."""

    terms: OperationTerms
    tokens: int
    """Number of tokens of the text, or the default."""
    of_text: MultiplyAdds
    """Multiply-adds for this length; empty if counting them would take too long."""
    costs: MultiplyAdds
    counts: MultiplyAdds
    """Counts of PyTorch for some lengths."""
    by_formula: bool
    """Whether the formula agrees with the counts of PyTorch."""
    crossing: Crossover
    """Length from which scores and mixing cost as much as the feed-forward blocks."""
    crossing_with_projections: Crossover
    """Length from which they do so together with the projections."""


@question(params=(ONE_BY_ONE,))
def modules(opened: Opened, options: Options) -> Answer[ModuleTree]:
    """Module tree of the selected class."""
    task = class_task(opened, options)
    return answered(opened, module_tree(opened.source.name, opened.source.config, task, not options.flag(ONE_BY_ONE)))


@question(figures=("modules",), params=(ONE_BY_ONE, LEVELS))
def drawn_modules(opened: Opened, options: Options) -> Answer[ModuleTree]:
    """Module tree of the selected class with the shapes of a run, as far as it is unfolded."""
    tree, run, unshaped = modules(opened, options).result, None, ""
    try:
        run = shapes(opened, options)
    except BertvizError as error:  # this class cannot run without its values
        unshaped = f"{error} The tree is shown without shapes."
    most = max(row.depth for row in tree.rows)
    levels = max(options.whole(LEVELS.key, most + 1, min(FIRST_LEVELS, most)), 1)
    read = None if unshaped else _read(opened, options)
    texts, notices = () if read is None else (read.text, read.pair), (unshaped,) if unshaped else ()
    drawn = {"module_tree": tree, "module_shapes": run, "module_levels": levels}
    return Answer(tree, names_of(opened), texts, notices, drawn)


@question(figures=("design",))
def design(opened: Opened, options: Options) -> Answer[Design]:
    """Whether the selected class is an encoder, a decoder or both."""
    task, ledger = class_task(opened, options), class_ledger(opened, options)
    skeleton = build_skeleton(opened.source.name, opened.source.config, task)
    kind = design_of(skeleton, ledger, facts_of(opened, task))
    sizes = architecture(opened, Options()).result
    return answered(opened, kind, own_architecture=sizes, design=kind, class_ledger=ledger)


@question(figures=("layer",), params=(LAYER,))
def layer(opened: Opened, options: Options) -> Answer[LayerFlow]:
    """Dataflow of one layer, with the shapes for the text, or for 128 tokens without a text."""
    task, ledger, read = class_task(opened, options), class_ledger(opened, options), _read(opened, options)
    layers = layer_count(opened, options)
    number = options.numbered("layer", max(layers, 1), 0, opened.name)
    run, sizes = shapes(opened, options), architecture(opened, Options()).result
    tree = modules(opened, Options(task=task, values={ONE_BY_ONE.key: "true"})).result
    flow = layer_flow(tree, ledger, run, sizes, facts_of(opened, task), number)
    texts = () if read is None else (read.text, read.pair)
    return Answer(flow, names_of(opened), texts, (), {"flow": flow})


@question(figures=("cost",))
def cost(opened: Opened, options: Options) -> Answer[Cost]:
    """Multiply-adds by length, from a formula if it agrees with PyTorch's counts, otherwise from these."""
    limit, read = position_limit(opened), _read(opened, options)
    here = _stated(opened) if read is None else len(read)
    terms = operation_formula(opened, options)
    counts = operation_counts(opened, options, checked_lengths(limit, here))
    by_formula = accounts_for(terms, counts)
    if by_formula:
        crossing, projections = crossover(terms), crossover(terms, projections=True)
        costs = multiply_adds(terms, curve_lengths(limit, crossing.tokens, here))
        of_text = multiply_adds(terms, [here])
    else:
        crossing = projections = Crossover(None)
        costs = counts = operation_counts(opened, options, (here, *doubling_lengths(limit)))
        of_text = operation_counts(opened, options, (here,))
    known = Cost(terms, here, of_text, costs, counts, by_formula, crossing, projections)
    drawn = {"counts": counts, "crossing": crossing, "position_limit": limit, "by_formula": by_formula}
    return answered(opened, known, costs=costs, model_name=opened.source.name, **drawn)


@question(figures=("memory",), params=(HOLDING,))
def memory(opened: Opened, options: Options) -> Answer[ActivationMemory]:
    """Bytes of activations by batch size and length."""
    holding, source = HOLDINGS[options.choice(HOLDING)], opened.source
    lengths, task = doubling_lengths(position_limit(opened)), counted_task(opened, options)
    activations = activation_memory(source.name, source.config, holding, BATCHES, lengths, task)
    return answered(opened, activations, memory=activations)


def class_task(opened: Opened, options: Options) -> str:
    """The selected task; defaults to that of the class whose parameters the checkpoint contains."""
    return options.task or own_task(opened)


def class_ledger(opened: Opened, options: Options) -> Ledger:
    """Ledger of the selected class, from its config."""
    source, task = opened.source, class_task(opened, options)
    return opened.get_or_compute(
        (__name__, "class_ledger", task), lambda: config_ledger(source.name, source.config, task)
    )


def layer_count(opened: Opened, options: Options) -> int:
    """Number of encoder layers that can be drawn."""
    return len(layer_paths(class_ledger(opened, options), opened.source.model_type))


def shapes(opened: Opened, options: Options) -> ShapeRun:
    """Shapes in the modules of the selected class for the text, or for 128 tokens without a text."""
    source, task, read = opened.source, class_task(opened, options), _read(opened, options)
    row = _stated(opened) if read is None else read
    key = (__name__, "module_shapes", task, None if read is None else (read.text, read.pair))
    return opened.get_or_compute(key, lambda: module_shapes(source.name, source.config, row, task))


def counted_task(opened: Opened, options: Options) -> str:
    """The selected task; "base" if its class cannot be run on a text alone."""
    source, task = opened.source, class_task(opened, options)
    return opened.get_or_compute(
        (__name__, "runnable_task", task), lambda: runnable_task(source.name, source.config, task)
    )


def way_of(opened: Opened, options: Options) -> DryWay | None:
    """How the selected class is run without weights; None if it cannot be."""
    source, task = opened.source, class_task(opened, options)

    def known() -> DryWay | None:
        try:
            return dry_way(source.name, source.config, task)
        except BertvizError:
            return None

    return opened.get_or_compute((__name__, "dry_way", task), known)


def operation_formula(opened: Opened, options: Options) -> OperationTerms:
    """Formula for the multiply-adds of a class."""
    source, task = opened.source, counted_task(opened, options)
    key = (__name__, "operation_formula", task)
    return opened.get_or_compute(key, lambda: operation_terms(source.name, source.config, task, facts_of(opened, task)))


def operation_counts(opened: Opened, options: Options, lengths: Iterable[int]) -> MultiplyAdds:
    """Counts of multiply-adds by PyTorch for some lengths, by part."""
    source, task, each = opened.source, counted_task(opened, options), tuple(sorted(set(lengths)))
    key = (__name__, "operation_counts", task, each)
    return opened.get_or_compute(key, lambda: counted(source.name, source.config, each, task))


def position_limit(opened: Opened) -> int | None:
    """Maximum number of positions; None without a limit."""

    def known() -> int | None:
        limit = limit_of(model_config(opened.source.name, opened.source.config).to_dict())
        return None if limit is None else limit.tokens

    return opened.get_or_compute((__name__, "position_limit"), known)


def _read(opened: Opened, options: Options) -> Tokens | None:
    """Tokens of the text; None without a text."""
    return opened.tokens(options.text(), options.pair) if options.texts else None


def _stated(opened: Opened) -> int:
    """Default number of tokens without a text."""
    return min(STATED_TOKENS, position_limit(opened) or STATED_TOKENS)
