"""Encode the message for the attention view: u32 length of the header, JSON header, then raw arrays.

A weight is encoded as a whole number: the rounded square root of its share of the largest weight, so that small weights
survive. value = scale * (code / levels)^2 with 255 or 65,535 levels; the square root is off by half a level at most,
and by less than one for a tiny weight: code 0 is a weight of exactly 0, which has no number in its cell. Of 65,535
levels the next one is taken where two decimals, as cells have them, would not be those of the weight.
"""

from collections.abc import Collection, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from jaxtyping import Float, Int, UInt

from bertviz_core.attention.results import AttentionAtlas, AttentionMap, Axis, PooledMap
from bertviz_core.attention.tables import MEASURE_NAMES
from bertviz_core.figures.base.export import packed
from bertviz_core.figures.base.style import Theme, common_colours, diverging
from bertviz_core.text import escape_controls, shortened

MEASURES = {
    "entropy": ("entropy", 1.0, 2, " nats"),
    "distance": ("mean distance", 1.0, 1, " tokens"),
    "special_share": ("on special tokens", 100.0, 1, "%"),
    "diagonal_share": ("diagonal", 100.0, 1, "%"),
}
"""Field of HeadMeasures -> name before a number, factor, decimals, unit."""


def colours(theme: Theme) -> dict[str, Any]:
    """All colours of the view in this theme."""
    warm = [[2 * float(place) - 1, colour] for place, colour in diverging(theme) if float(place) >= 0.5]
    return {**common_colours(theme), "tint": warm, "hues": list(theme.hues)}


def measure(name: str, values: Float[np.ndarray, "layers heads"]) -> dict[str, Any]:
    """One number per head, layer by layer, and its format; None for a number that is not finite."""
    short, factor, digits, unit = MEASURES[name]
    shown = (values * factor).astype(np.float64).ravel()
    listed = [round(float(value), digits + 2) if np.isfinite(value) else None for value in shown]
    return {"name": MEASURE_NAMES[name], "short": short, "digits": digits, "unit": unit, "values": listed}


ATLAS_BYTES = 600_000
"""Most bytes of all thumbnails together; larger ones are max-pooled again."""
MAP_BYTES = 262_144
"""Most bytes of one opened map: 512 tokens with 255 levels, 362 tokens with 65,535."""
FILE_BYTES = 6_000_000
"""Most bytes of all full maps in an exported file; 8 MB as base64."""
LONGEST_LABEL = 60
Weights = Float[np.ndarray, "..."]
Codes = UInt[np.ndarray, "..."]


def codes(weights: Weights, scale: float, bits: int) -> Codes:
    """Whole numbers from 0 to 2^bits - 1 for weights from 0 to scale; 0 only for 0."""
    levels = 2**bits - 1
    steps: Codes = np.sqrt(np.clip(weights / np.float32(scale), 0, 1)) * np.float32(levels) + np.float32(0.5)
    steps[(weights > 0) & (steps < 1)] = 1
    if bits == 8:
        return steps.astype(np.uint8)
    found = np.floor(steps)
    read = np.float64(scale) * (found.astype(np.float64) / levels) ** 2
    beside = np.floor(read * 100 + 0.5) != np.floor(weights.astype(np.float64) * 100 + 0.5)
    exact: Codes = (found + np.where(beside, np.sign(weights - read), 0)).clip(0, levels).astype(np.uint16)
    return exact


def map_bits(cells: int) -> int:
    """Bits of each cell in an open map of this many cells."""
    return 16 if 2 * cells <= MAP_BYTES else 8


def identity(atlas: AttentionAtlas) -> str:
    """Hash an atlas; the browser caches what it received under this identity."""
    digest = blake2b(np.ascontiguousarray(atlas.thumbnails).tobytes(), digest_size=12)
    for axis, starts in ((atlas.queries, atlas.row_starts), (atlas.keys, atlas.column_starts)):
        digest.update(repr((axis.labels, axis.positions, starts.tolist())).encode("utf-8", "replace"))
    digest.update(repr((atlas.options, atlas.thumbnails.shape)).encode())
    return digest.hexdigest()


def view_payload(
    atlas: AttentionAtlas,
    opened: Sequence[AttentionMap | PooledMap],
    *,
    title: str,
    theme: Theme,
    special: Collection[int] = (),
    second: int | None = None,
    measures: Sequence[str] = tuple(MEASURES),
    heads: Sequence[tuple[int, int]] = ((0, 0),),
    answers: dict[str, Any] | None = None,
    with_atlas: bool = True,
    part: tuple[int, int, int, int] | None = None,
    most: int = ATLAS_BYTES,
    hidden: Float[np.ndarray, "layers heads queries"] | None = None,
    offers: bool = False,
) -> bytes:
    """Encode the message for the browser.

    Args:
        opened: full maps of single heads, read with the same options as the atlas.
        title: title of the files, such as the model's name.
        second: position of the first token of a pair's second text; None for a single text.
        measures: fields of HeadMeasures, in the order of the menu.
        heads: (layer, head) of the open heads, the main one first.
        answers: the browser's message that this answers.
        with_atlas: whether the thumbnails are included; the browser may have them.
        part: (first query, end, first key, end) of pooled maps; None for the whole.
        most: most bytes of the thumbnails.
        hidden: hidden share of every query of every head, for an atlas of full maps without open ones.
        offers: whether the browser may request further maps.
    """
    name = identity(atlas)
    header: dict[str, Any] = {"identity": name, "title": escape_controls(title), "look": colours(theme)}
    header |= {"heads": [list(head) for head in heads], "answers": answers, "offers": offers, "atlas": None, "maps": []}
    arrays: list[Codes] = []
    if with_atlas:
        description, thumbnails = _atlas(atlas, most)
        names = [name for name in measures if name in MEASURES]
        queries, keys = atlas.queries, atlas.keys
        same = (queries.labels, queries.positions) == (keys.labels, keys.positions)
        header["atlas"] = {
            **description,
            "queries": _axis(atlas.queries, special, second),
            "keys": None if same else _axis(atlas.keys, special, second),
            "hidden": None if hidden is None else [_shares(row) for row in hidden.reshape(-1, hidden.shape[-1])],
            "measures": [measure(name, getattr(atlas.measures, name)) for name in names],
        }
        arrays.append(thumbnails)
    offset = sum(array.nbytes for array in arrays)
    for each in opened:
        described, array = _map(atlas, each, part or (0, len(atlas.queries), 0, len(atlas.keys)))
        header["maps"].append({**described, "offset": offset})
        offset += array.nbytes
        arrays.append(array)
    return packed(header, arrays)


def _shares(row: Float[np.ndarray, " queries"]) -> list[float]:
    return [round(float(share), 6) for share in row]


def _axis(axis: Axis, special: Collection[int], second: int | None) -> dict[str, Any]:
    """Labels of an axis, its special tokens, and where the second text begins."""
    known = set(special)
    return {
        "second": axis.second_entry(second),
        "labels": [escape_controls(shortened(label, LONGEST_LABEL)) or "∅" for label in axis.labels],
        "special": [index for index, entry in enumerate(axis.positions) if entry and known.issuperset(entry)],
    }


def _atlas(atlas: AttentionAtlas, most: int) -> tuple[dict[str, Any], Codes]:
    layers, heads, rows, columns = atlas.thumbnails.shape
    factor = 1
    while layers * heads * -(-rows // factor) * -(-columns // factor) > most and factor < max(rows, columns):
        factor += 1
    row_groups, column_groups = np.arange(0, rows, factor), np.arange(0, columns, factor)
    thumbnails = atlas.thumbnails
    if factor > 1:
        thumbnails = np.maximum.reduceat(np.maximum.reduceat(thumbnails, row_groups, axis=2), column_groups, axis=3)
    full = thumbnails.shape[2:] == (len(atlas.queries), len(atlas.keys))
    bits = 16 if full and 2 * thumbnails.size <= most else 8  # whole maps can be opened without another message
    scale = _scale(thumbnails)
    described = {
        "layers": layers,
        "heads": heads,
        "bits": bits,
        "scale": scale,
        "rowEdges": _edges(atlas.row_starts[row_groups], len(atlas.queries)),
        "columnEdges": _edges(atlas.column_starts[column_groups], len(atlas.keys)),
        "weights": atlas.options.weights,
        "hides": _hides(atlas),
    }
    return described, codes(thumbnails, scale, bits)


def _hides(atlas: AttentionAtlas) -> bool:
    """Whether keys are hidden, so that rows do not sum to 1."""
    reading = atlas.options
    return reading.hide_special or reading.hide_punctuation or reading.block != "all"


def _map(
    atlas: AttentionAtlas, opened: AttentionMap | PooledMap, part: tuple[int, int, int, int]
) -> tuple[dict[str, Any], Codes]:
    rows, columns = opened.weights.shape
    hidden: list[float] | None = None
    row_edges: list[int] | None
    column_edges: list[int] | None
    if isinstance(opened, PooledMap):
        row_edges, column_edges = _edges(opened.row_starts, part[1]), _edges(opened.column_starts, part[3])
        if (row_edges[0], column_edges[0]) != (part[0], part[2]):
            raise ValueError(f"a map that begins at {row_edges[0]}, {column_edges[0]} for the part {part}")
    elif (rows, columns) != (len(atlas.queries), len(atlas.keys)):
        raise ValueError(f"a map of {rows} x {columns} in an atlas of {len(atlas.queries)} x {len(atlas.keys)}")
    else:
        row_edges = column_edges = None  # every entry is its own block
        hidden = _shares(opened.hidden_share) if opened.hidden_share.any() else None
    bits = map_bits(opened.weights.size)
    scale = _scale(opened.weights)
    described = {"layer": opened.layer, "head": opened.head or 0, "bits": bits, "scale": scale, "hidden": hidden}
    return {**described, "rowEdges": row_edges, "columnEdges": column_edges}, codes(opened.weights, scale, bits)


def _scale(weights: Weights) -> float:
    return float(weights.max(initial=0)) or 1.0


def _edges(starts: Int[np.ndarray, " blocks"], end: int) -> list[int]:
    """First entry of every block, and the end of the last."""
    return [*(int(start) for start in starts), end]
