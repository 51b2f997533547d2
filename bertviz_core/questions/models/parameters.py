"""Questions about parameters: by component, by layer, as a tree, and in comparison with other models."""

from bertviz_core.architecture.dataflow.derive import facts_of as facts_of_class
from bertviz_core.architecture.results import Architecture, ModelFacts
from bertviz_core.architecture.sizes import describe
from bertviz_core.checkpoints.load_report.report import compared_ledger
from bertviz_core.errors import BertvizError, Named, TextError
from bertviz_core.figures.parameters.tree import FORMS
from bertviz_core.models.skeleton import task_of_class
from bertviz_core.parameters.results import Ledger, TreeNode
from bertviz_core.parameters.tree import parameter_tree as tree_of
from bertviz_core.parameters.tree import tree_depth
from bertviz_core.questions.opened import Opened, answered
from bertviz_core.questions.parameters import Options, Param, choice
from bertviz_core.questions.question import Answer, question
from bertviz_core.text import escape_controls

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
    ledger = parameters(opened, options).result
    if not ledger.layers:
        raise TextError(f"No numbered layers were found among the names of {opened.name!r}; draw its parameters.")
    return answered(opened, ledger, ledger.notices, layered_ledger=ledger)


@question(figures=("parameters",), params=(FORM, DEPTH))
def parameter_tree(opened: Opened, options: Options) -> Answer[tuple[TreeNode, ...]]:
    """Module tree of a model down to a depth."""
    form, ledger = options.get(FORM.key, FORMS[0]), parameters(opened, options).result
    if form not in FORMS:
        raise TextError("There is no ", Named(FORM.key), f" {escape_controls(form[:20])!r}; choose {', '.join(FORMS)}.")
    depth = max(options.whole(DEPTH.key, 10**9, FIRST_DEPTH), 1)
    nodes = tree_of(ledger, min(depth, levels(opened, options)))
    return answered(opened, nodes, ledger.notices, ledger=ledger, nodes=nodes, form=form)


def levels(opened: Opened, options: Options) -> int:
    """Depth of the whole module tree."""
    return opened.get_or_compute(
        (__name__, "levels", options.task), lambda: tree_depth(parameters(opened, options).result)
    )


@question(figures=("models",))
def compared_parameters(opened: Opened, options: Options) -> Answer[list[Ledger]]:
    """Ledgers of several models; the texts of the options are the names of the others."""
    names = tuple(dict.fromkeys((opened.name, *options.texts)))
    if len(names) < 2:
        raise TextError("This figure compares models, and one came; name another, too.")
    every = [opened.other(name) for name in names]
    ledgers = [parameters(each, Options(task=options.task)).result for each in every]
    models = tuple((each.source.name, each.source.revision) for each in every)
    notices = tuple(f"{each.model}: {notice}" for each in ledgers for notice in each.notices)
    return Answer(ledgers, models, notices=notices, drawn={"ledgers": ledgers})


@question(figures=("overview",))
def architecture(opened: Opened, options: Options) -> Answer[Architecture]:
    """Sizes of a model, and the capabilities of its family."""
    ledger = parameters(opened, options).result
    sizes = describe(opened.source, ledger, facts_of(opened, options.task))
    return answered(opened, sizes, ledger.notices, architecture=sizes, ledger=ledger)


def facts_of(opened: Opened, task: str | None = None) -> ModelFacts | None:
    """Facts about a class from a run without weights; None if it cannot be run in this way.

    Args:
        opened: the model.
        task: task of the class; None for the class whose parameters the checkpoint contains.
    """

    def facts() -> ModelFacts | None:
        try:
            return facts_of_class(opened.source.name, opened.source.config, task or own_task(opened))
        except BertvizError:
            return None

    return opened.get_or_compute((__name__, "model_facts", task), facts)


def own_task(opened: Opened) -> str:
    """Task of the class whose parameters the checkpoint contains; "base" for the base model.

    Raises:
        BertvizError: the config or the header cannot be read.
    """

    def known() -> str:
        ledger = parameters(opened, Options()).result
        return task_of_class(opened.source.name, opened.source.config, ledger.architecture)

    return opened.get_or_compute((__name__, "own_task"), known)
