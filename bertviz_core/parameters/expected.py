"""Compare a file with the class of its config by names and sizes, without torch.

The catalogue has the parameters of every packaged class for one config; a size there stands for the entry of
the config with that value. Where this is not enough to see that a file fits, the class itself must be built.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bertviz_core.models.catalog import TypeFacts, type_tensors
from bertviz_core.parameters.results import Ledger, Parameter

NUMBER = re.compile(r"(?<=\.)\d+(?=\.)")
TIMES_PLUS = ((1, 0), (2, 0), (3, 0), (4, 0), (1, 2))
"""(factor, summand) of an axis: of two to four fused matrices, or of a position table with two spare rows."""
COUNTS = re.compile(r"layers?|groups?")
"""Entries that count layers."""
NOT_SIZES, NOT_COUNTS = re.compile(r"layers?|groups?|heads?(\b|_)"), re.compile(r"layers?|groups?")
"""Entries that are no length of an axis, and those that are none even where no other has the value."""
HEADS, HEAD_WIDTHS = re.compile(r"heads$"), re.compile(r"^(d_kv|head_dim|d_head)$")
"""Entries whose product is the length of an axis, where the width of a head is an entry of its own."""


def fits_class(architecture: str, config: Mapping[str, Any], facts: TypeFacts, ledger: Ledger) -> bool:
    """Whether a file certainly has the parameters of the class of its config, no more and no less.

    Args:
        architecture: name of the class.
        config: the config.
        facts: facts about the type.
        ledger: the ledger of the file.
    """
    table = type_tensors(facts.model_type)
    if not table or not (architecture == facts.base_class or architecture in table["classes"]):
        return False
    if table["tied"] != bool(config.get("tie_word_embeddings", facts.defaults.get("tie_word_embeddings", False))):
        return False
    if any(_choice(config.get(key), value) != value for key, value in table["choices"].items()):
        return False
    prefix = f"{facts.of_class(architecture).prefix}."
    own = table["classes"].get(architecture, {"has": {}, "lacks": ()})
    base = {name: row for name, row in table["base"].items() if name not in own["lacks"]}
    found: dict[str, list[Parameter]] = {}
    for row in ledger.parameters:
        if row.tied_to is None:
            name = NUMBER.sub("*", row.name)
            bare = name.removeprefix(prefix)
            found.setdefault(bare if bare in base and name not in own["has"] else name, []).append(row)
    sizes = {key: (value, _entry(config, key, value)) for key, value in table["sizes"].items()}
    labels = {"num_labels": (2, len(config.get("id2label") or (0, 1)))}
    of_head = {**{key: pair for key, pair in sizes.items() if key != "type_vocab_size"}, **labels}
    return found.keys() == base.keys() | own["has"].keys() and all(
        _fits(rows, base[name], sizes) if name in base else _fits(rows, own["has"][name], of_head)
        for name, rows in found.items()
    )


def _choice(value: Any, default: Any) -> Any:
    """The value of an entry; lists may be written as one text (pos_att_type)."""
    is_text = isinstance(value, str) and isinstance(default, list)
    return default if value is None else value.lower().split("|") if is_text else value


def _entry(config: Mapping[str, Any], key: str, default: int) -> int:
    value = config.get(key, default)
    return value if type(value) is int else default


def _fits(rows: Sequence[Parameter], packaged: Sequence[int], sizes: Mapping[str, tuple[int, int]]) -> bool:
    """Whether there are as many parameters of a name as the config has layers, each of the shape of its sizes.

    Where several entries of the packaged config have a size, their values must agree.
    """
    count, *shape = packaged
    if {len(rows)} != _counts(count, rows[0].name, sizes) or len({row.shape for row in rows}) > 1:
        return False
    axes = [_values(size, sizes) for size in shape]
    return len(axes) == len(rows[0].shape) and all(
        {size} == values for size, values in zip(rows[0].shape, axes, strict=True)
    )


def _counts(count: int, name: str, sizes: Mapping[str, tuple[int, int]]) -> set[int]:
    """How many parameters there may be of a name that the packaged config has so often."""
    if not NUMBER.search(name):
        return {count}
    for fewer in (0, 1):  # the first layer of ModernBERT has no norm before its attention
        found = {
            key: own - fewer for key, (default, own) in sizes.items() if COUNTS.search(key) and default - fewer == count
        }
        of_stack = {key: own for key, own in found.items() if ("decoder" in key) == ("decoder." in name)}
        if found:
            return set((of_stack or found).values())
    return {count}


def _values(size: int, sizes: Mapping[str, tuple[int, int]]) -> set[int]:
    """How long an axis may be that has this size in the packaged config: as an entry, as heads, or as a multiple."""
    heads, widths = ([pair for key, pair in sizes.items() if each.search(key)] for each in (HEADS, HEAD_WIDTHS))
    products = [(many * wide, own * width) for many, own in heads for wide, width in widths]
    for pattern in (NOT_SIZES, NOT_COUNTS):
        pairs = [pair for key, pair in sizes.items() if not pattern.search(key)]
        if found := {own for packaged, own in (*pairs, *products) if packaged == size}:
            return found
    for pattern in (NOT_SIZES, NOT_COUNTS):
        pairs = [*products, *(pair for key, pair in sizes.items() if not pattern.search(key))]
        if found := {
            times * own + plus
            for times, plus in TIMES_PLUS
            for packaged, own in pairs
            if times * packaged + plus == size
        }:
            return found
    return {size}
