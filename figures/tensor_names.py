"""Names of tensors as labels: their ends, as long as keeps them apart, escaped."""

from collections import Counter
from collections.abc import Sequence

from figures.style import escape

MOST_LETTERS = 34
SAY_LITTLE = ("dense", "LayerNorm", "layer_norm", "norm", "linear", "decoder", "0", "1", "2")
"""Modules whose name says little without that of the module around them."""


def short_names(names: Sequence[str]) -> list[str]:
    """The ends of dotted names: a module that says something, and as many more as keep them apart."""
    split = [name.split(".") for name in names]
    lengths = [min(3 if parts[-2:][0] in SAY_LITTLE else 2, len(parts)) for parts in split]
    while True:
        ends = [".".join(parts[-length:]) for parts, length in zip(split, lengths, strict=True)]
        times = Counter(ends)
        longer = [i for i, end in enumerate(ends) if times[end] > 1 and lengths[i] < len(split[i])]
        if not longer:
            return ends
        for index in longer:
            lengths[index] += 1


def label(name: str) -> str:
    """A name as text for a figure, its beginning left out where it is very long."""
    return escape(name if len(name) <= MOST_LETTERS else f"…{name[1 - MOST_LETTERS :]}")
