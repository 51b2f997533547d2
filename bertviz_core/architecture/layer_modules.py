"""Find the modules of each layer by the names of their parameters."""

from collections.abc import Sequence

from bertviz_core.parameters.components import inside_layer, layer_numbers
from bertviz_core.parameters.results import Ledger


def layer_paths(ledger: Ledger, model_type: str, stack: str = "") -> dict[int, tuple[str, ...]]:
    """Dotted paths of the modules of each layer: usually one, several if a family has a list for each part.

    XLM has a list of attentions, one of feed-forward blocks and two of normalisations; CANINE has two short encoders
    besides the deep one. Only the longest lists count.

    Args:
        ledger: parameters of the class.
        model_type: its family.
        stack: "encoder" or "decoder"; stack_of(ledger) by default.
    """
    lists: dict[str, dict[int, str]] = {}
    stack = stack or stack_of(ledger)
    for row in layer_numbers([row for row in ledger.parameters if row.component == stack]):
        location = inside_layer(row.name, model_type) if row.layer is not None else None
        if location is not None and row.layer is not None:
            numbers = location[0]
            lists.setdefault(row.name[: numbers[0].start], {})[row.layer] = row.name[: numbers[-1].stop]
    longest = max(map(len, lists.values()), default=0)
    paths_by_layer: dict[int, tuple[str, ...]] = {}
    for modules in lists.values():
        for layer, path in modules.items() if len(modules) == longest else ():
            paths_by_layer[layer] = (*paths_by_layer.get(layer, ()), path)
    return paths_by_layer


def stack_of(ledger: Ledger) -> str:
    """The component whose layers are drawn: the encoder, or the decoder of a decoder-only model."""
    return "encoder" if any(row.component == "encoder" for row in ledger.layers) else "decoder"


def below(name: str, paths: Sequence[str]) -> bool:
    """Whether a name belongs to one of these modules."""
    return any(name.startswith(f"{path}.") for path in paths)
