"""The data's way through one layer, read off a run: which steps it takes, in which order, with which sizes."""

from collections.abc import Mapping, Sequence
from typing import Any

from bertviz_core import catalog
from bertviz_core.errors import UnsupportedModelError
from bertviz_core.families import family
from bertviz_core.layer_modules import layer_paths, stack_of
from bertviz_core.layer_steps import below, layer_steps
from bertviz_core.results import Architecture, Ledger
from bertviz_core.results.module_tree import FlowStep, LayerFlow, ModuleTree, ShapeRun
from bertviz_core.text_families import text_family
from bertviz_core.windows import layer_windows

OWN_ATTENTION: frozenset[str] = frozenset(
    [
        "bart",
        "canine",
        "deberta",
        "deberta-v2",
        "flaubert",
        "funnel",
        "ibert",
        "layoutlm",
        "luke",
        "markuplm",
        "megatron-bert",
        "mpnet",
        "mt5",
        "rembert",
        "roformer",
        "splinter",
        "squeezebert",
        "t5",
        "umt5",
        "xlm",
        "xlnet",
    ]
)
"""Families with ordinary softmax attention in code of their own."""
SIDE_BY_SIDE = ("use_parallel_residual", "parallel_attn")
"""Config words of families whose attention and feed-forward block read the same vectors, so that neither comes first
(Wang and Komatsuzaki 2021, GPT-J); their order in a run says nothing."""


def layer_flow(
    tree: ModuleTree, ledger: Ledger, run: ShapeRun, model: Architecture, config: Mapping[str, Any], layer: int
) -> LayerFlow:
    """The steps of one stored layer in the order in which a run took them.

    Args:
        tree: the module tree, not folded.
        ledger: the ledger of the same class.
        run: shapes of a run of the same class.
        model: sizes of the model.
        config: its config, defaults included.
        layer: zero-based index among the stored layers of the encoder, or of a decoder that stands alone.

    Raises:
        UnsupportedModelError: no layers are found among the names, so there is no way through one.
    """
    found = layer_paths(ledger, model.model_type)
    rows = {row.paths[0]: row for row in tree.rows}
    paths = [path for path in found.get(layer, ()) if path in rows]
    if not paths:
        raise UnsupportedModelError(
            f"The layers of {model.model!r} ({model.model_type}) are no modules of their own, so no layer can be "
            "drawn; the module tree shows all that there is."
        )
    parameters = [row for row in ledger.parameters if below(row.name, paths)]
    steps = layer_steps(paths, rows, parameters, run)
    order, first_norm = _order(steps)
    if any(config.get(word) is True for word in SIDE_BY_SIDE):
        order = ""
    entering = next((run.modules[path].inputs for path in run.modules if path in paths), ())
    hidden = entering[0][1][-1] if entering else model.hidden_size
    windows = layer_windows(config)
    counts = {row.layer: row for row in ledger.layers if row.component == stack_of(ledger)}
    return LayerFlow(
        model=tree.model,
        title=model.title,
        layer=layer,
        paths=tuple(paths),
        class_name=", ".join(rows[path].class_name for path in paths),
        order=order,
        first_norm=first_norm,
        steps=steps,
        softmax=_softmax(model.model_type),
        gated=_gated(steps),
        activation=str(model.hidden_act or ""),
        num_attention_heads=model.num_attention_heads,
        head_dim=model.head_dim,
        hidden=hidden,
        window=windows[layer] if layer < len(windows) else None,
        positions=next((each.answer for each in model.capabilities if each.name == "Positions"), ""),
        seq=run.seq,
        vectors=entering[0][1][1] if entering and len(entering[0][1]) == 3 else run.seq,
        applications=counts[layer].applications,
        total=sum(rows[path].numel for path in paths),
    )


def _order(steps: Sequence[FlowStep]) -> tuple[Any, bool]:
    """("post-norm", "pre-norm" or "", whether a normalisation comes first), from the order of blocks in the run."""
    blocks: list[str] = []
    kinds = {"projection": "a", "attention_output": "a", "attention_other": "a", "mixing": "a", "feed_forward": "f"}
    for step in steps:
        block = {**kinds, "norm": "n", "activation": ""}.get(step.kind, "?")
        if block and (not blocks or blocks[-1] != block):
            blocks.append(block)
    shape = "".join(blocks)
    known = {"anfn": "post-norm", "nanf": "pre-norm", "anf": "pre-norm"}
    return known.get(shape, ""), shape.startswith("n")


def _softmax(model_type: str) -> bool:
    facts = catalog.type_facts(model_type)
    ordinary = text_family(model_type).attention_maps in ("probabilities", "scores")
    own = model_type in OWN_ATTENTION or (facts is not None and facts.records_attention)
    return ordinary and own and family(model_type).attention != "none"


def _gated(steps: Sequence[FlowStep]) -> bool:
    """Whether what leaves the wide half is not what enters the narrow one: two maps in, or one of twice the width."""
    maps = [step for step in steps if step.kind == "feed_forward" and step.enters and step.leaves]
    if len(maps) == 3:
        return maps[0].leaves == maps[1].leaves == maps[2].enters
    return (
        len(maps) == 2
        and maps[0].leaves is not None
        and maps[1].enters is not None
        and (maps[0].leaves[-1] == 2 * maps[1].enters[-1])
    )
