"""From rows to a ledger: every row gets its place; components, layers and totals are sums of rows."""

import math
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from bertviz_core import catalog
from bertviz_core.arithmetic import component_arithmetic
from bertviz_core.families import BLOCK, layer_applications, layer_numbers
from bertviz_core.names import BUFFER, NUMBERS
from bertviz_core.parts import COMPONENTS, PARTS, component_of, inside_layer, part_of, reading_rank
from bertviz_core.results import Buffer, ComponentCount, LayerCount, Ledger, Parameter, Way
from bertviz_core.safetensors_header import DTYPE_NBYTES

DIGITS = bytes.maketrans(b"123456789", b"000000000")
MAX_FORMS = 10_000
"""Names, and forms of names, that are kept for one family; a stranger's file may have any number of them."""


class Place(NamedTuple):
    """What all names of one form tell: names that differ only in the digits of their numbers."""

    component: str
    part: str
    """Part of the layer; "" outside the layers."""
    counters: tuple[slice, ...]
    """Where in the name the numbers stand that count the layer."""
    stage: int
    """Its place in the way of the data: components in their order, in each before, in and behind the layers."""
    rank: int
    """Its order among the parameters of its stage or layer."""
    bias: bool
    """Whether it is a bias, which stands behind its weight."""
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

    def order(self, name: str, layer: int | None) -> "Order":
        """What a name of this form is sorted by; a bias stands behind its weight."""
        return self.stage, layer or 0, self.rank, f"{name[:-4]}~" if self.bias else name

    def row(
        self,
        name: str,
        stored_name: str | None,
        shape: tuple[int, ...],
        dtype: str,
        tied_to: str | None,
        trainable: bool,
        layer: int | None,
    ) -> Parameter:
        """The row of one parameter."""
        part = self.part or "other"
        return Parameter(
            name, stored_name, shape, math.prod(shape), dtype, trainable, tied_to, self.component, layer, part
        )


Order = tuple[int, int, int, str]
"""Place in the way of the data, layer, rank, name."""


class Located(NamedTuple):
    """Everything that one name tells."""

    place: Place
    layer: int | None
    order: Order


class Places:
    """Tells the places of names: what a name tells is worked out once for all names of its form.

    Names themselves are remembered too: the checkpoints of a family share them.
    """

    def __init__(self, model_type: str, prefix: str, wrapped: bool) -> None:
        self.model_type, self.prefix, self.wrapped = model_type, prefix, wrapped
        self.facts = catalog.type_facts(model_type)
        self._known: dict[bytes, Place] = {}
        self._located: dict[str, Located] = {}

    def of(self, name: str) -> Place:
        """The place of a name."""
        form = name.encode("utf-8", "surrogatepass").translate(DIGITS)
        found = self._known.get(form)
        if found is None:
            found = self._placed(name)
            if len(self._known) < MAX_FORMS:
                self._known[form] = found
        return found

    def located(self, name: str) -> Located:
        """Place, layer and order of a name."""
        found = self._located.get(name)
        if found is None:
            place = self.of(name)
            layer = place.layer(name)
            found = Located(place, layer, place.order(name, layer))
            if len(self._located) < MAX_FORMS:
                self._located[name] = found
        return found

    def named_row(
        self, name: str, shape: tuple[int, ...], dtype: str, tied_to: str | None, trainable: bool
    ) -> Parameter:
        """The row of a parameter that does not stand in a file."""
        place, layer, _ = self.located(name)
        return place.row(name, None, shape, dtype, tied_to, trainable, layer)

    def _placed(self, name: str) -> Place:
        component = component_of(name, self.prefix, self.wrapped)
        found = inside_layer(name, self.model_type) if component in ("encoder", "decoder") else None
        counters, inside = found or ((), "")
        part = part_of(inside, name, self.model_type) if found else ""
        behind, rank = reading_rank(name, component, part)
        stage = 3 * COMPONENTS.index(component) + (1 if counters else 2 * behind)
        bare = "*".join(NUMBERS.split(name)[::2]).removeprefix(f"{self.prefix}.")
        frozen = self.facts is not None and bare in self.facts.frozen
        buffer = BUFFER.search(name) is not None or (self.facts is not None and bare in self.facts.buffers)
        return Place(component, part, counters, stage, rank, name.endswith(".bias"), frozen, buffer)


@lru_cache(maxsize=64)
def places_of(model_type: str, prefix: str, wrapped: bool) -> Places:
    """The places of a family's names, kept from one ledger to the next."""
    return Places(model_type, prefix, wrapped)


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
    parameters = layer_numbers(parameters)
    counted = parameters
    if any(row.tied_to is not None for row in parameters):
        counted = [row for row in parameters if row.tied_to is None]
    by_dtype: dict[str, int] = defaultdict(int)
    groups: dict[str, list[Parameter]] = {part: [] for part in COMPONENTS}
    for row in counted:
        by_dtype[row.dtype] += row.numel
        groups[row.component].append(row)
    total = sum(by_dtype.values())
    return Ledger(
        model=name,
        model_type=str(config.get("model_type", "")),
        architecture=architecture,
        way=way,
        parameters=tuple(parameters),
        buffers=tuple(buffers),
        components=tuple(_component(part, rows) for part, rows in groups.items() if rows),
        layers=_layers(counted, config),
        total=total,
        trainable=total - sum([row.numel for row in counted if not row.trainable]),
        tensors=len(counted),
        tied=len(parameters) - len(counted),
        nbytes=int(sum(numel * DTYPE_NBYTES.get(dtype, 4) for dtype, numel in by_dtype.items())),
        stored_tensors=stored[0] if stored else None,
        stored_nbytes=stored[1] if stored else None,
    )


def _component(name: str, rows: list[Parameter]) -> ComponentCount:
    return ComponentCount(name, sum([row.numel for row in rows]), len(rows), component_arithmetic(rows))


def _layers(counted: list[Parameter], config: Mapping[str, Any]) -> tuple[LayerCount, ...]:
    sums: dict[tuple[str, int], dict[str, int]] = defaultdict(lambda: dict.fromkeys(PARTS, 0))
    for _, _, _, numel, _, _, _, component, layer, part in counted:
        if layer is not None:
            sums[component, layer][part] += numel
    runs = layer_applications(config)
    return tuple(
        LayerCount(component, layer, sum(parts.values()), **parts, applications=runs.get(layer, 1))
        for (component, layer), parts in sorted(sums.items())
    )
