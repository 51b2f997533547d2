"""Export the attention view as an HTML file that works without a network."""

import base64
import html
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np

from bertviz_core.attention.results import AttentionAtlas, AttentionMap, PooledMap
from ui.components.attention.payload import FILE_BYTES, view_payload
from ui.components.attention.view import CSS, HTML, JS

_PAGE = """<!DOCTYPE html>
<html lang="{lang}"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<style>{style}</style></head>
<body><h1>{title}</h1>
{view}
<p>{caption}</p>
<script type="text/plain" id="data">{data}</script>
<script type="module">{script}</script>
</body></html>
"""
_BODY = """
body {{ max-width: 1180px; margin: 24px auto; padding: 0 24px; color: {text}; background: {paper};
  font-family: "Source Sans", "Helvetica Neue", Arial, sans-serif; }}
h1 {{ font-size: 24px; font-weight: 600; margin: 0 0 16px; }}
"""


def attention_html(payload: bytes, title: str, caption: str, lang: str = "en") -> str:
    """Create an HTML page with the view of this message (payload.view_payload); it makes no requests.

    The message is embedded as base64, so that no token of a text can be read as markup, and the page's content
    security policy allows only its own code and style.
    """
    length = int.from_bytes(payload[:4], "little")
    look = json.loads(payload[4 : 4 + length])["look"]
    style = CSS + _BODY.format(text=look["text"], paper=look["paper"])
    script = f"{JS}\nstartAlone();"
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return _PAGE.format(
        lang=html.escape(lang),
        title=html.escape(title),
        caption=html.escape(caption),
        policy=policy,
        style=style,
        view=HTML,
        data=base64.b64encode(payload).decode("ascii"),
        script=script,
    )


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


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}"
