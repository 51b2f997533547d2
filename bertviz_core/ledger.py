"""From rows to a ledger: every row gets its place; components, layers and totals are sums of rows."""

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

from bertviz_core.arithmetic import component_arithmetic
from bertviz_core.catalog import TypeFacts
from bertviz_core.families import BLOCK, layer_applications, layer_numbers
from bertviz_core.names import BUFFER, NUMBERS, NamedTensor
from bertviz_core.parts import COMPONENTS, PARTS, component_of, inside_layer, part_of, reading_rank
from bertviz_core.results import Buffer, ComponentCount, LayerCount, Ledger, Parameter, Way
from bertviz_core.safetensors_header import DTYPE_NBYTES

DIGITS = bytes.maketrans(b"123456789", b"000000000")


class Place(NamedTuple):
    """What all names of one form tell: names that differ only in the digits of their numbers."""

    component: str
    part: str
    """Part of the layer; "" outside the layers."""
    counters: tuple[slice, ...]
    """Where in the name the numbers stand that count the layer."""
    behind: bool
    """Whether it stands behind the layers of its component."""
    rank: int
    """Its order among the parameters around it."""
    frozen: bool
    """Whether the class never trains it."""
    buffer: bool
    """Whether it is a buffer, no parameter."""

    def layer(self, name: str) -> int | None:
        """Index of the layer that a name of this form stands in."""
        if not self.counters:
            return None
        layer = int(name[self.counters[0]])
        return layer if len(self.counters) == 1 else layer * BLOCK + int(name[self.counters[1]])

    def row(
        self,
        name: str,
        stored_name: str | None,
        shape: tuple[int, ...],
        dtype: str,
        tied_to: str | None,
        trainable: bool | None = None,
    ) -> Parameter:
        """The row of one parameter; trainable unless said otherwise or frozen by its class."""
        return Parameter(
            name,
            stored_name,
            shape,
            math.prod(shape),
            dtype,
            not self.frozen if trainable is None else trainable,
            tied_to,
            self.component,
            self.layer(name),
            self.part or "other",
        )


class Places:
    """Tells the places of names: what a name tells is worked out once for all names of its form."""

    def __init__(self, model_type: str, prefix: str, wrapped: bool, facts: TypeFacts | None = None) -> None:
        self.model_type, self.prefix, self.wrapped, self.facts = model_type, prefix, wrapped, facts
        self._known: dict[bytes, Place] = {}

    def of(self, name: str) -> Place:
        """The place of a name."""
        form = name.encode("utf-8", "surrogatepass").translate(DIGITS)
        found = self._known.get(form)
        if found is None:
            found = self._known[form] = self._placed(name)
        return found

    def _placed(self, name: str) -> Place:
        component = component_of(name, self.prefix, self.wrapped)
        found = inside_layer(name, self.model_type) if component in ("encoder", "decoder") else None
        counters, inside = found or ((), "")
        part = part_of(inside, name, self.model_type) if found else ""
        bare = "*".join(NUMBERS.split(name)[::2]).removeprefix(f"{self.prefix}.")
        frozen = self.facts is not None and bare in self.facts.frozen
        buffer = BUFFER.search(name) is not None or (self.facts is not None and bare in self.facts.buffers)
        return Place(component, part, counters, *reading_rank(name, component, part), frozen, buffer)


def reading_order(placed: tuple[NamedTensor, Place]) -> tuple[int, float, int, str, bool]:
    """Sort key that puts the tensors of a file into the order of the data's way through the model."""
    tensor, place = placed
    layer = place.layer(tensor.name)
    outside = float("inf") if place.behind else -1.0
    module, _, last = tensor.name.rpartition(".")
    return COMPONENTS.index(place.component), outside if layer is None else layer, place.rank, module, last == "bias"


def balanced_ledger(
    name: str,
    config: Mapping[str, Any],
    architecture: str,
    way: Way,
    parameters: list[Parameter],
    buffers: list[Buffer],
    stored: tuple[int, int] | None,
) -> Ledger:
    """The ledger of these rows.

    Args:
        name: name of the model.
        config: its config.
        architecture: class whose parameters these are.
        way: how the rows were found.
        parameters: the rows, tied ones included.
        buffers: what is no parameter.
        stored: tensors and bytes in the file; None where no file was read.
    """
    model_type = str(config.get("model_type", ""))
    parameters = layer_numbers(parameters)
    counted = [row for row in parameters if row.tied_to is None]
    return Ledger(
        model=name,
        model_type=model_type,
        architecture=architecture,
        way=way,
        parameters=tuple(parameters),
        buffers=tuple(buffers),
        components=_components(counted),
        layers=_layers(counted, config),
        total=sum(row.numel for row in counted),
        trainable=sum(row.numel for row in counted if row.trainable),
        tensors=len(counted),
        tied=len(parameters) - len(counted),
        nbytes=int(sum(row.numel * DTYPE_NBYTES.get(row.dtype, 4) for row in counted)),
        stored_tensors=stored[0] if stored else None,
        stored_nbytes=stored[1] if stored else None,
    )


def _components(counted: list[Parameter]) -> tuple[ComponentCount, ...]:
    groups = {name: [row for row in counted if row.component == name] for name in COMPONENTS}
    return tuple(
        ComponentCount(name, sum(row.numel for row in rows), len(rows), component_arithmetic(rows))
        for name, rows in groups.items()
        if rows
    )


def _layers(counted: list[Parameter], config: Mapping[str, Any]) -> tuple[LayerCount, ...]:
    sums: dict[tuple[str, int], dict[str, int]] = defaultdict(lambda: dict.fromkeys(PARTS, 0))
    for row in counted:
        if row.layer is not None:
            sums[row.component, row.layer][row.part] += row.numel
    runs = layer_applications(config)
    return tuple(
        LayerCount(component, layer, sum(parts.values()), **parts, applications=runs.get(layer, 1))
        for (component, layer), parts in sorted(sums.items())
    )
