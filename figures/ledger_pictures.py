"""Pictures of a model's parameters as pages and the command line name them: tree, layers, components, stack."""

from collections.abc import Sequence

from bertviz_core.results import Architecture, Ledger, TreeNode
from figures.architecture import model_stack
from figures.parameters import TreeForm, component_bar, layer_bars, model_bars, parameter_tree_figure
from figures.picture import Picture

FORMS: tuple[TreeForm, ...] = ("sunburst", "treemap", "icicle")
WAYS = {
    "header": "counted from the header of its checkpoint file",
    "config": "counted from its config, without its weights",
    "module": "counted from the module in memory",
}


def origin(ledger: Ledger) -> str:
    """Where the numbers come from, in words."""
    return f"{ledger.architecture}, {WAYS[ledger.way]}"


def tree_picture(ledger: Ledger, nodes: Sequence[TreeNode], form: TreeForm) -> Picture:
    """The module tree of a model."""
    title = f"Parameters of {ledger.model}: {ledger.total:,}"
    alt = f"{form} of the modules of {ledger.model} by parameters"
    return Picture(title, alt, lambda look: parameter_tree_figure(nodes, title, form, look))


def tree_words(ledger: Ledger) -> str:
    """What stands below the tree."""
    tensors = f"{ledger.total:,} parameters in {ledger.tensors:,} tensors"
    return f"Parameters of {ledger.model}: {tensors}, {origin(ledger)}."


def layers_picture(ledger: Ledger) -> Picture:
    """The layers of a model as stacked bars."""
    title = f"Parameters of each layer - {ledger.model}"
    alt = f"Stacked bars of the parameters of each layer of {ledger.model}"
    return Picture(title, alt, lambda look: layer_bars(ledger, title, look))


def components_picture(ledger: Ledger) -> Picture:
    """A model as one bar, cut into its components."""
    title = f"Components of {ledger.model}: {ledger.total:,} parameters"
    alt = f"One bar of {ledger.model}, cut into its components"
    return Picture(title, alt, lambda look: component_bar(ledger, look))


def models_picture(ledgers: Sequence[Ledger]) -> Picture:
    """Several models side by side."""
    title = "Parameters by component"
    return Picture(title, "Bars of several models by component", lambda look: model_bars(ledgers, title, look))


def stack_words(ledger: Ledger) -> str:
    """What stands below the stack."""
    return f"{ledger.model}: {ledger.total:,} parameters."


def stack_picture(architecture: Architecture, ledger: Ledger) -> Picture:
    """The blocks of a model, from its token ids to its outputs."""
    alt = f"Stack of {ledger.model}: embeddings, layers and outputs with their sizes"
    return Picture(f"{architecture.model}, bottom to top", alt, lambda look: model_stack(architecture, ledger, look))
