"""What the names of parameters tell: component, layer, part and order, worked out once for all names of a form."""

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

from bertviz_core.models import catalog
from bertviz_core.models.catalog import TypeFacts
from bertviz_core.models.safetensors.results import StoredTensor
from bertviz_core.parameters.components import BLOCK, COMPONENTS, component_of, inside_layer, part_of, reading_rank
from bertviz_core.parameters.results import Parameter

LEGACY = (
    {"from": ["LayerNorm.gamma"], "to": ["LayerNorm.weight"]},
    {"from": ["LayerNorm.beta"], "to": ["LayerNorm.bias"]},
)
OLD_NAMES = (".gamma", ".beta")
NUMBERS = re.compile(r"(?:^|(?<=\.))(\d+)(?=\.)")
"""Numbers that stand for a layer or a group; split by it, a name is text and numbers in turn."""
BUFFER = re.compile(
    r"(^|\.)(position_ids|token_type_ids|num_batches_tracked|running_mean|running_var|inv_freq|masked_bias"
    r"|h\.\d+\.attn\.bias)$"
)

NamedTensor = tuple[str, tuple[int, ...], StoredTensor]
"""Name in the module, shape, and the stored tensor that it is, or that it is an even slice of."""


def module_tensors(tensors: Sequence[StoredTensor], facts: TypeFacts, base_only: bool) -> list[NamedTensor]:
    """The stored tensors under their names in the module.

    Args:
        tensors: what the header lists.
        facts: what is known of the model type.
        base_only: whether the config names the base class (or none), so that a prefix around everything goes away.
    """
    if facts.renames or [True for tensor in tensors if tensor.name.endswith(OLD_NAMES)]:
        steps = (*facts.renames, *LEGACY)
        named = [cut for tensor in tensors for cut in _renamed(tensor, steps)]
    else:
        named = [(tensor.name, tensor.shape, tensor) for tensor in tensors]
    prefix = f"{facts.prefix}."
    if base_only and facts.prefix and all(name.startswith(prefix) for name, _, _ in named):
        return [(name.removeprefix(prefix), shape, tensor) for name, shape, tensor in named]
    return named


def _renamed(tensor: StoredTensor, steps: Sequence[Mapping[str, Any]]) -> list[NamedTensor]:
    name = tensor.name
    for step in steps:
        match = _pattern(tuple(step["from"])).search(name)
        if match is None:
            continue
        targets = [_filled(target, match) for target in step["to"]]
        renamed = [name.replace(match.group(0), target, 1) for target in targets]
        if "chunk" not in step:
            name = renamed[0]
        elif tensor.shape and tensor.shape[step["chunk"]] % len(targets) == 0:
            axis = step["chunk"]
            shape = (*tensor.shape[:axis], tensor.shape[axis] // len(targets), *tensor.shape[axis + 1 :])
            return [(each, shape, tensor) for each in renamed]
    return [(name, tensor.shape, tensor)]


@cache
def _pattern(sources: tuple[str, ...]) -> re.Pattern[str]:
    """One pattern for several sources, the longest first; a pattern that ends in a letter ends on a name's boundary."""
    branches = []
    for source in sorted(sources, key=len, reverse=True):
        pattern = source.replace("*.", r".*\.")
        branches.append(f"(?:{pattern})" + (r"(?!\w)" if re.search(r"[a-zA-Z0-9]$", pattern) else ""))
    return re.compile("|".join(branches))


def _filled(target: str, match: re.Match[str]) -> str:
    groups = [group for group in match.groups() if group is not None]
    return target.replace(r"\1", groups[0]) if groups and r"\1" in target else target


DIGITS = bytes.maketrans(b"123456789", b"000000000")
MAX_FORMS = 10_000
"""Names, and forms of names, that are kept for one family; a stranger's file may have any number of them."""


class ParameterRole(NamedTuple):
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


ClassifiedName = tuple[ParameterRole, int | None, int, str]
"""Everything that one name tells: its place, the index of its layer, and where it stands in the way of the data:
place, layer and rank as one number (quicker to compare than three), then the name."""


class NameClassifier:
    """Tells the places of names: what a name tells is worked out once for all names of its form.

    Names themselves are remembered too: the checkpoints of a family share them.
    """

    def __init__(self, model_type: str, prefix: str, wrapped: bool) -> None:
        self.model_type, self.prefix, self.wrapped = model_type, prefix, wrapped
        self.facts = catalog.type_facts(model_type)
        self._known: dict[bytes, ParameterRole] = {}
        self._located: dict[str, ClassifiedName] = {}

    def located(self, name: str) -> ClassifiedName:
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

    def _placed(self, name: str) -> ParameterRole:
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
        return ParameterRole(component, part or "other", counters, first, name.endswith(".bias"), frozen, buffer)


@lru_cache(maxsize=64)
def name_classifier(model_type: str, prefix: str, wrapped: bool) -> NameClassifier:
    """The places of a family's names, kept from one ledger to the next."""
    return NameClassifier(model_type, prefix, wrapped)


def tie_pairs(architecture: str, facts: catalog.TypeFacts) -> dict[str, str]:
    """Names that the class can tie, and the base model in it, each with the name that it is tied to."""
    inner = facts.tied.get(facts.base_class, {}).items()
    return {
        **{f"{facts.prefix}.{alias}": f"{facts.prefix}.{to}" for alias, to in inner},
        **facts.tied.get(architecture, {}),
    }


def ties_that_hold(
    pairs: Mapping[str, str], config: Mapping[str, Any], facts: catalog.TypeFacts, names: set[str]
) -> dict[str, str]:
    """The pairs that hold for this config and whose source is stored."""
    if not config.get("tie_word_embeddings", facts.defaults.get("tie_word_embeddings", False)):
        return {}
    return {alias: to for alias, to in pairs.items() if to in names}


def left_out(ties: dict[str, str], rows: list[Parameter], names: set[str], places: NameClassifier) -> list[Parameter]:
    """Rows of the tied parameters that the file leaves out, since another has their values."""
    owners = {row.name: row for row in rows if row.name in ties.values()}
    return [
        places.named_row(alias, owners[to].shape, owners[to].dtype, to, owners[to].trainable)
        for alias, to in ties.items()
        if alias not in names
    ]
