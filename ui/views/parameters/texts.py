"""Texts of the page Parameters, and the lines of Python that reproduce its numbers."""

from collections.abc import Sequence

from bertviz_core.models.sources import ModelSource
from bertviz_core.parameters.components import inside_layer
from bertviz_core.parameters.results import Ledger
from bertviz_core.parameters.tree import parameter_tree, tree_depth

TREE = (
    "A safetensors file begins with a header that lists every tensor with its shape. A tensor holds as many numbers as "
    "the product of its shape, and a module as many as its tensors together. Parameters that share one tensor (tied) "
    "are counted once, under their first name. Buffers, such as a table of position ids, are in the file but are not "
    "parameters."
)
LAYERS = (
    "A layer of hidden size h and feed-forward size f has query, key, value and output projections of h × h weights "
    "and h biases each, a feed-forward block of h × f + f and f × h + h, and two layer norms of 2 × h: in BERT base "
    "7,087,872 in each of 12 layers. Families depart from this: some have no biases, a gate in the feed-forward block, "
    "or one fused projection for query, key and value. Where layers share one block (ALBERT) it is counted once."
)
COMPONENTS = (
    "Every parameter belongs to one component: embeddings (tables of words, positions and types, and their norm), "
    "encoder or decoder (the layers), pooler, task head. The arithmetic column writes each total as products of "
    "shapes, such as 30,522 × 768 for the word table of BERT base: the size of the vocabulary times the hidden size."
)
COMPARE = (
    "Each bar is one model, counted from the header of its file or, without its weights, from its config. A model that "
    "shares its layers stores fewer than it runs: it computes like a deep one and is small on disk."
)


def tree(source: ModelSource, ledger: Ledger) -> tuple[str, str]:
    """Explanation and code of the tree: every named parameter and their sum."""
    return TREE, (
        f"{_model(source, ledger)}"
        "print(len(list(model.named_parameters())))\n"
        "print(sum(p.numel() for p in model.parameters()))\n"
    )


def layers(source: ModelSource, ledger: Ledger) -> tuple[str, str]:
    """Explanation and code of the layers: the sum of each."""
    order = [row.component for row in ledger.layers]
    first = [row for row in ledger.parameters if row.layer == 0 and row.component in order]
    first.sort(key=lambda row: order.index(row.component))  # stack by stack, as on the page
    stacks = dict.fromkeys(filter(None, (_stack(ledger, row.name) for row in first)))
    return LAYERS, f"{_model(source, ledger)}" + "".join(
        f"for i, layer in enumerate(model.get_submodule({stack!r})):\n"
        "    print(i, sum(p.numel() for p in layer.parameters()))\n"
        for stack in stacks
    )


def components(source: ModelSource, ledger: Ledger) -> tuple[str, str]:
    """Explanation and code of the components: the modules of each, and their sum."""
    modules: dict[str, list[str]] = {part.name: [] for part in ledger.components}
    nodes = {node.id: node for node in parameter_tree(ledger, tree_depth(ledger))}
    for node in nodes.values():
        if node.component and node.parent is not None and (not node.parent or not nodes[node.parent].component):
            modules[node.component].append(node.id)
    return COMPONENTS, (
        f"{_model(source, ledger)}"
        f"components = {{{', '.join(f'{name!r}: {tuple(ids)!r}' for name, ids in modules.items())}}}\n"
        "for component, modules in components.items():\n"
        "    print(component, sum(p.numel() for name, p in model.named_parameters() if name.startswith(modules)))\n"
    )


def compare(sources: Sequence[ModelSource], ledgers: Sequence[Ledger]) -> tuple[str, str]:
    """Explanation and code of several models: their sums, without their weights."""
    named = ",\n".join(
        f"    ({each.architecture!r}, {source.pretrained_name!r})"
        for source, each in zip(sources, ledgers, strict=True)
    )
    return COMPARE, (
        "import torch\nimport transformers\n\n"
        f"for kind, name in [\n{named},\n]:\n"
        "    config = transformers.AutoConfig.from_pretrained(name)\n"
        '    with torch.device("meta"):   # shapes without memory\n'
        "        model = getattr(transformers, kind)(config)\n"
        "    print(name, sum(p.numel() for p in model.parameters()))\n"
    )


def _model(source: ModelSource, ledger: Ledger) -> str:
    """The lines that build the model: with its weights, or from its config if only that was used for counting."""
    name = f"name = {source.pretrained_name!r}\n"
    if ledger.source != "config":
        imports = f"from transformers import {ledger.architecture}\n\n"
        return f"{imports}{name}model = {ledger.architecture}.from_pretrained(name)\n"
    return (
        f"import torch\nfrom transformers import AutoConfig, {ledger.architecture}\n\n{name}"
        "config = AutoConfig.from_pretrained(name)\n"
        'with torch.device("meta"):   # shapes without memory\n'
        f"    model = {ledger.architecture}(config)\n"
    )


def _stack(ledger: Ledger, name: str) -> str:
    """The module that contains the layers, from the name of a parameter in one of them."""
    counters, _ = inside_layer(name, ledger.model_type) or ((), "")
    return name[: counters[-1].start - 1] if counters else ""
