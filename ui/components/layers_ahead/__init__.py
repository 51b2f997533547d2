"""All layers of a map of hidden states, sent ahead: the browser draws another one while the slider moves."""

import json
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import streamlit as st
from jaxtyping import Float

from bertviz_core.figures.hidden_states.heatmaps import bytes_per_cell, coded_values

MOST_BYTES = 2_000_000
"""Of all layers together; beyond, each is sent when it is asked for."""
_component = st.components.v2.component(
    "layers_ahead", html="<span></span>", js=Path(__file__).with_name("layers_ahead.js").read_text(encoding="utf-8")
)


def fit_ahead(values: Float[np.ndarray, "states seq window"]) -> bool:
    """Whether all layers are small enough to be sent ahead."""
    return values.size * bytes_per_cell(values[0].size) <= MOST_BYTES


def layers_ahead(
    chart_key: str,
    slider_key: str,
    values: Float[np.ndarray, "states seq window"],
    titles: Sequence[str],
    alts: Sequence[str],
) -> None:
    """Let the browser draw the layers of a chart of hidden states as its slider moves.

    Args:
        chart_key: of the chart, which may show any of the layers; later runs must draw the same one.
        slider_key: of the slider whose value is the layer.
        values: the chart's cells at every layer.
        titles: the chart's title at every layer, no two the same.
        alts: what is seen in it.
    """
    coded = [coded_values(layer) for layer in values]
    header = {
        "chart": chart_key,
        "slider": slider_key,
        "rows": values.shape[1],
        "columns": values.shape[2],
        "exact": coded[0].cells.dtype == np.float32,
        "layers": [
            {"title": title, "alt": alt, "top": each.top, **each.ticks}
            for each, title, alt in zip(coded, titles, alts, strict=True)
        ],
    }
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    message = b"".join([struct.pack("<I", len(text)), text, *(each.cells.tobytes() for each in coded)])
    _component(key=f"{chart_key}_ahead", data=message, height="content")
