"""Where a model's layers are among its modules, from the names of its parameters."""

from bertviz_core.families import layer_numbers
from bertviz_core.parts import inside_layer
from bertviz_core.results import Ledger


def stack_of(ledger: Ledger) -> str:
    """The component whose layers are drawn: the encoder's, or those of a decoder that stands alone."""
    return "encoder" if any(row.component == "encoder" for row in ledger.layers) else "decoder"


def layer_paths(ledger: Ledger, model_type: str) -> dict[int, tuple[str, ...]]:
    """Dotted paths of the modules that make each layer: mostly one; several where a family lists its parts one by one.

    XLM has a list of attentions, one of feed-forward blocks and two of normalisations; CANINE has, beside its deep
    encoder, two short ones: of lists that number the same layers those count that reach as far as the longest.
    """
    lists: dict[str, dict[int, str]] = {}
    stack = stack_of(ledger)
    for row in layer_numbers([row for row in ledger.parameters if row.component == stack]):
        place = inside_layer(row.name, model_type) if row.layer is not None else None
        if place is not None and row.layer is not None:
            numbers = place[0]
            lists.setdefault(row.name[: numbers[0].start], {})[row.layer] = row.name[: numbers[-1].stop]
    longest = max(map(len, lists.values()), default=0)
    found: dict[int, tuple[str, ...]] = {}
    for each in lists.values():
        for layer, path in each.items() if len(each) == longest else ():
            found[layer] = (*found.get(layer, ()), path)
    return found
