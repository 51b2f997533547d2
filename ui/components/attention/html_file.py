"""Export the attention view as an HTML file that works without a network."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bertviz_core.attention.results import AttentionAtlas, AttentionMap, PooledMap
from bertviz_core.figures.base.export import offline_page
from ui.components.attention.payload import FILE_BYTES, view_payload
from ui.components.attention.view import CSS, HTML, JS


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
    """Encode the message of a file: every head in full if there is room for all, otherwise only the open ones.

    Args:
        atlas: all heads.
        opened: maps of the open heads.
        map_of: computes the map of a layer and head; called for every head if there is room.
        most: most bytes of all maps together; as base64 they are a third longer.
        more: further arguments of view_payload: title, theme, special, measures and heads.
    """
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
