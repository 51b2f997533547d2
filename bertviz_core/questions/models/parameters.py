"""Where the parameters of a model are: by component, by layer, as a tree, beside other models'."""

from bertviz_core.architecture.facts.derive import model_facts
from bertviz_core.architecture.results import Architecture
from bertviz_core.architecture.sizes import describe
from bertviz_core.architecture.structure.results import ModelFacts
from bertviz_core.errors import BertvizError, Named, TextError
from bertviz_core.figures.parameters.tree import FORMS
from bertviz_core.models.skeleton import task_of_class
from bertviz_core.parameters.ledger import source_ledger
from bertviz_core.parameters.results import Ledger, TreeNode
from bertviz_core.parameters.tree import parameter_tree as tree_of
from bertviz_core.parameters.tree import tree_depth
from bertviz_core.questions.opened import Opened, answered
from bertviz_core.questions.parameters import Options, Param, choice
from bertviz_core.questions.question import Answer, question
from bertviz_core.text import escape_controls

FORM = choice("form", FORMS, "how the tree of parameters is drawn")
DEPTH = Param("depth", "whole", "levels of modules that are drawn")
FIRST_DEPTH = 3


@question(figures=("components",))
def parameters(opened: Opened, options: Options) -> Answer[Ledger]:
    """The parameters of a model, or of the class of a task."""
    ledger = source_ledger(opened.source, opened.settings, options.task)
    return answered(opened, ledger, ledger=ledger)


@question(figures=("layers",))
def layered_parameters(opened: Opened, options: Options) -> Answer[Ledger]:
    """The same of a model with numbered layers."""
    ledger = parameters(opened, options).result
    if not ledger.layers:
        raise TextError(f"No numbered layers were found among the names of {opened.name!r}; draw its parameters.")
    return answered(opened, ledger, layered_ledger=ledger)


@question(figures=("parameters",), params=(FORM, DEPTH))
def parameter_tree(opened: Opened, options: Options) -> Answer[tuple[TreeNode, ...]]:
    """The modules of a model down to a depth."""
    form, ledger = options.get(FORM.key, FORMS[0]), parameters(opened, options).result
    if form not in FORMS:
        raise TextError("There is no ", Named(FORM.key), f" {escape_controls(form[:20])!r}; choose {', '.join(FORMS)}.")
    depth = max(options.whole(DEPTH.key, 10**9, FIRST_DEPTH), 1)
    nodes = tree_of(ledger, min(depth, tree_depth(ledger)))
    return answered(opened, nodes, ledger=ledger, nodes=nodes, form=form)


@question(figures=("models",))
def compared_parameters(opened: Opened, options: Options) -> Answer[list[Ledger]]:
    """The parameters of several models; the others are named where other questions have their texts."""
    names = tuple(dict.fromkeys((opened.name, *options.texts)))
    if len(names) < 2:
        raise TextError("This figure compares models, and one came; name another, too.")
    every = [opened.other(name) for name in names]
    ledgers = [source_ledger(each.source, each.settings, options.task) for each in every]
    models = tuple((each.source.name, each.source.revision) for each in every)
    return Answer(ledgers, models, drawn={"ledgers": ledgers})


@question(figures=("overview",))
def architecture(opened: Opened, options: Options) -> Answer[Architecture]:
    """The sizes of a model, and what its family has and lacks."""
    ledger = parameters(opened, options).result
    sizes = describe(opened.source, ledger, facts_of(opened, ledger))
    return answered(opened, sizes, architecture=sizes, ledger=ledger)


def facts_of(opened: Opened, ledger: Ledger) -> ModelFacts | None:
    """What a run without weights tells of the class of these parameters; None where it cannot be run so."""
    source = opened.source
    try:
        return model_facts(source.name, source.config, task_of_class(source.name, source.config, ledger.architecture))
    except BertvizError:
        return None
