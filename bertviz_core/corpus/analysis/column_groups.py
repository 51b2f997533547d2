"""Group the values of a column into a few, for colours and partitions."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Float, Int

from bertviz_core.corpus.column_values import plain_values
from bertviz_core.tables.cells import label_text
from bertviz_core.text import counted

NAMED = 8
"""Number of values of a column with a code of their own; all others share one."""
OTHER, MISSING = "other", "no value"


@dataclass(frozen=True, slots=True, eq=False)
class ColumnValues:
    """Values of a column as indices into a short list."""

    names: tuple[str, ...]
    """The values, most frequent first; then one for all others and one for missing values, if any."""
    codes: Int[np.ndarray, " rows"]
    """Index of every row's value."""


def column_values(column: pa.ChunkedArray, named: int = NAMED) -> ColumnValues:
    """Encode a column by its most frequent values, ties by name.

    Numbers with more than `named` distinct values are binned into as many ranges with equally many rows.

    Args:
        column: a whole column of a corpus.
        named: number of values with a code of their own.
    """
    missing = np.asarray(pc.is_null(column, nan_is_null=True).to_numpy(), dtype=np.bool_)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if number:
        column = column.cast(kind)
        if pc.count_distinct(column).as_py() > named:
            # Integers of 64 bits, such as ids, may not be representable exactly; their ranges are rounded anyway.
            numbers = pc.cast(column, pa.float64(), safe=False)
            return _ranges(np.asarray(numbers.to_numpy(), dtype=np.float64), missing, named)
    if not pa.types.is_dictionary(column.type):
        column = pc.dictionary_encode(column)
    encoded = column.unify_dictionaries().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0) if encoded.num_chunks else pa.DictionaryArray.from_arrays([], pa.array([], kind))
    codes = np.asarray(pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False), dtype=np.int64)
    names = [label_text(value) for value in plain_values(encoded.dictionary)]
    codes[missing] = -1
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    order = sorted((place for place in range(len(names)) if counts[place]), key=lambda at: (-counts[at], names[at]))
    return _listed([names[place] for place in order[:named]], np.array(order, dtype=np.int64), codes, len(names), named)


def unlike(name: str, names: Collection[str]) -> str:
    """A name that none of these is: in parentheses where a value of the column is the name itself."""
    while name in names:
        name = f"({name})"
    return name


def _listed(
    names: list[str], order: Int[np.ndarray, " occurring"], codes: Int[np.ndarray, " rows"], known: int, named: int
) -> ColumnValues:
    """Encode values by frequency, with one code for all others and one for missing values."""
    place_of = np.full(known + 1, -1, dtype=np.int64)
    place_of[order] = np.minimum(np.arange(len(order)), named)
    if len(order) > named:
        names = [*names, unlike(counted(len(order) - named, OTHER), names)]
    if (codes < 0).any():
        place_of[-1] = len(names)
        names = [*names, unlike(MISSING, names)]
    return ColumnValues(tuple(names), place_of[codes].astype(np.int16))


def _ranges(numbers: Float[np.ndarray, " rows"], missing: Bool[np.ndarray, " rows"], named: int) -> ColumnValues:
    """Bin numbers into ranges with equally many rows."""
    known = numbers[~missing]
    method: Literal["linear", "lower"] = "linear" if np.isfinite(known).all() else "lower"  # between infinities is NaN
    edges = np.unique(np.quantile(known, np.linspace(0, 1, named + 1), method=method))
    if len(edges) < 2:
        edges = np.array([edges[0], edges[0]])
    codes = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(edges) - 2)
    names = [f"{low:,.6g} to {high:,.6g}" for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)]
    if missing.any():
        codes[missing] = len(names)
        names = [*names, MISSING]
    return ColumnValues(tuple(names), codes.astype(np.int16))
