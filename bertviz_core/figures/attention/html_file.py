"""Code and style of the attention view, and a self-contained file of it that works offline."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bertviz_core.attention.results import AttentionAtlas, AttentionMap, PooledMap
from bertviz_core.figures.attention.payload import FILE_BYTES, view_payload
from bertviz_core.figures.base.export import offline_page, without_comments

PARTS = ("data", "paint", "svg_pen", "atlas", "map", "pointer", "lines", "svg_file", "build", "view")
HTML = '<div class="attention"></div>'
_HERE = Path(__file__).parent
CSS = without_comments(_HERE / "view.css")
JS = "\n".join(without_comments(_HERE / f"js/{part}.js") for part in PARTS)


def attention_html(payload: bytes, title: str, caption: str) -> str:
    """Create an HTML page with the view of a message (payload.view_payload); it makes no requests."""
    return offline_page(payload, HTML, CSS, JS, title, caption)


def file_payload(
    atlas: AttentionAtlas,
    opened: Sequence[AttentionMap | PooledMap],
    map_of: Callable[[int, int], AttentionMap],
    most: int = FILE_BYTES,
    **more: Any,
) -> bytes:
    """Encode the message of a file: every head in full if all have at most `most` bytes, else only the open ones."""
    layers, heads = atlas.thumbnails.shape[:2]
    if layers * heads * len(atlas.queries) * len(atlas.keys) > most:
        return view_payload(atlas, opened, **more)
    maps = [[map_of(layer, head) for head in range(heads)] for layer in range(layers)]
    whole = replace(
        atlas,
        thumbnails=np.stack([np.stack([each.weights for each in row]) for row in maps]),
        row_starts=np.arange(len(atlas.queries)),
        column_starts=np.arange(len(atlas.keys)),
    )
    hidden = np.stack([np.stack([each.hidden_share for each in row]) for row in maps])
    return view_payload(whole, [], most=most, hidden=hidden, **more)
