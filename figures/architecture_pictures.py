"""Pictures of the architecture page as pages and the command line name them: a layer, its cost, its design."""

from collections.abc import Mapping

from bertviz_core.results import Architecture
from bertviz_core.results.design import Design
from bertviz_core.results.module_tree import LayerFlow
from bertviz_core.results.operations import ActivationMemory, Crossover, MultiplyAdds
from figures.data_flow import layer_drawing, layer_title
from figures.encoder_decoder import SUCH_AS, design_title, encoder_and_decoder
from figures.operations import binary_bytes, cost_curves, memory_map
from figures.picture import Picture


def layer_picture(flow: LayerFlow) -> Picture:
    """The way through one layer."""
    steps = ", ".join(step.name for step in flow.steps)
    alt = f"{layer_title(flow)}, bottom to top with the sizes of each step: {steps}"
    return Picture(layer_title(flow), alt, lambda look: layer_drawing(flow, look))


def layer_caption(flow: LayerFlow) -> str:
    """What stands below the drawing of a layer."""
    passes = f"; one run passes it {flow.applications} times" if flow.applications > 1 else ""
    return f"{layer_title(flow)}, {flow.class_name}, {flow.total:,} parameters{passes}."


def cost_picture(
    costs: MultiplyAdds, counted: Mapping[int, int], crossing: Crossover, limit: int | None, model: str
) -> Picture:
    """Multiply-adds by length; see figures.operations.cost_curves."""
    title = f"Multiply-adds of one text - {model}"
    last, total = int(costs.lengths[-1]), int(costs.total[-1])
    alt = f"{title}: feed-forward and projections grow in lines, scores in a square; {total:,} at {last:,} tokens"
    return Picture(title, alt, lambda look: cost_curves(costs, counted, crossing, limit, title, look))


def cost_caption(costs: MultiplyAdds, crossing: Crossover, counted: Mapping[int, int], model: str) -> str:
    """What stands below the curves."""
    equal = ""
    if crossing.tokens is not None:
        equal = f" Scores and mixing reach the feed-forward blocks at {crossing.tokens:,} tokens."
    own = ", ".join(f"{count:,} at {seq:,} tokens" for seq, count in counted.items())
    rings = f" Rings, counted by PyTorch: {own}." if own else ""
    return f"Multiply-adds of one forward pass of {model} on a text of so many tokens, by the formula.{equal}{rings}"


def memory_title(memory: ActivationMemory) -> str:
    """What the map shows, in a few words."""
    return f"Memory of activations in {memory.holding} - {memory.model}"


def memory_picture(memory: ActivationMemory) -> Picture:
    """Bytes of activations by batch and length."""
    title = memory_title(memory)
    known = memory.nbytes[memory.nbytes > 0]
    ends = f", {binary_bytes(int(known.min()))} to {binary_bytes(int(known.max()))}" if known.size else ""
    alt = f"{title}: texts in a batch by tokens of each{ends}"
    return Picture(title, alt, lambda look: memory_map(memory, title, look))


def memory_caption(memory: ActivationMemory) -> str:
    """What stands below the map."""
    what = (
        "tensors alive at the fullest moment of a forward pass without gradients"
        if memory.holding == "inference"
        else "what a forward pass keeps for the backward pass, dropout off"
    )
    return f"{memory_title(memory)}: {what}; float32, attention step by step, without the weights."


def design_picture(model: Architecture, design: Design) -> Picture:
    """The three designs, the model's own marked."""
    title = design_title(model.model, design)
    others = "; ".join(words for kind, words in SUCH_AS.items() if kind != design.kind)
    cross = ", with cross-attention" if design.cross_attention and design.kind == "decoder" else ""
    alt = f"{title}{cross}, marked beside the two other designs ({others})"
    return Picture(title, alt, lambda look: encoder_and_decoder(model, design, look))


def design_caption(model: Architecture, design: Design, total: int) -> str:
    """What stands below the three designs."""
    stacks = [
        f"{count} layers of the {name}"
        for name, count in (("encoder", design.encoder_layers), ("decoder", design.decoder_layers))
        if count
    ]
    return f"{design_title(model.model, design)}: {' and '.join(stacks) or 'no layers'}, {total:,} parameters."
