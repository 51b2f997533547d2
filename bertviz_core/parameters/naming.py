"""What the names of parameters tell: component, layer, part and order, worked out once for all names of a form."""

import math
from functools import lru_cache
from typing import NamedTuple

from bertviz_core import catalog
from bertviz_core.families import BLOCK
from bertviz_core.names import BUFFER, NUMBERS
from bertviz_core.parts import COMPONENTS, component_of, inside_layer, part_of, reading_rank
from bertviz_core.results import Parameter

DIGITS = bytes.maketrans(b"123456789", b"000000000")
MAX_FORMS = 10_000
"""Names, and forms of names, that are kept for one family; a stranger's file may have any number of them."""


class Place(NamedTuple):
    """What all names of one form tell: names that differ only in the digits of their numbers."""

    component: str
    part: str
    """Part of the layer; "other" outside the layers."""
    counters: tuple[slice, ...]
    """Where in the name the numbers stand that count the layer."""
    first: int
    """Where the forms of this one begin in the way of the data: components in their order, in each what stands before,
    in and behind the layers, 80 bits up; below the 64 bits of the layer the order within it."""
    bias: bool
    """Whether it is a bias, which stands behind its weight."""
    frozen: bool
    """Whether the class never trains it."""
    buffer: bool
    """Whether it is a buffer, no parameter."""


Located = tuple[Place, int | None, int, str]
"""Everything that one name tells: its place, the index of its layer, and where it stands in the way of the data:
place, layer and rank as one number (quicker to compare than three), then the name."""


class Places:
    """Tells the places of names: what a name tells is worked out once for all names of its form.

    Names themselves are remembered too: the checkpoints of a family share them.
    """

    def __init__(self, model_type: str, prefix: str, wrapped: bool) -> None:
        self.model_type, self.prefix, self.wrapped = model_type, prefix, wrapped
        self.facts = catalog.type_facts(model_type)
        self._known: dict[bytes, Place] = {}
        self._located: dict[str, Located] = {}

    def located(self, name: str) -> Located:
        """Place, layer and order of a name; a bias stands behind its weight."""
        found = self._located.get(name)
        if found is not None:
            return found
        form = name.encode("utf-8", "surrogatepass").translate(DIGITS)
        place = self._known.get(form)
        if place is None:
            place = self._placed(name)
            if len(self._known) < MAX_FORMS:
                self._known[form] = place
        counters, layer, order = place.counters, None, place.first
        if counters:
            layer = int(name[counters[0]])
            if len(counters) > 1:
                layer = layer * BLOCK + int(name[counters[1]])
            order += layer << 16
        found = place, layer, order, f"{name[:-4]}~" if place.bias else name
        if len(self._located) < MAX_FORMS:
            self._located[name] = found
        return found

    def named_row(
        self, name: str, shape: tuple[int, ...], dtype: str, tied_to: str | None, trainable: bool
    ) -> Parameter:
        """The row of a parameter that does not stand in a file."""
        place, layer, _, _ = self.located(name)
        count = math.prod(shape)
        return Parameter(name, None, shape, count, dtype, trainable, tied_to, place.component, layer, place.part)

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
        first = (stage << 80) + rank
        return Place(component, part or "other", counters, first, name.endswith(".bias"), frozen, buffer)


@lru_cache(maxsize=64)
def places_of(model_type: str, prefix: str, wrapped: bool) -> Places:
    """The places of a family's names, kept from one ledger to the next."""
    return Places(model_type, prefix, wrapped)
