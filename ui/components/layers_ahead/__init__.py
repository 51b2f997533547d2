"""All layers of a map, sent ahead: the browser draws another one while the layer control moves.

The map stays Streamlit's own chart, which plotly redraws in place. Frames of plotly would carry the layers too, but
only a slider inside the figure moves them, which would stand in every file and say nothing to table, CSV and title.
"""

import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from jaxtyping import Float

from bertviz_core.figures.hidden_states.heatmaps import bytes_per_cell

MOST_BYTES = 2_000_000
"""Of all layers together; beyond, each is sent when it is asked for."""
_component = st.components.v2.component(
    "layers_ahead", html="<span></span>", js=Path(__file__).with_name("layers_ahead.js").read_text(encoding="utf-8")
)


def fit_ahead(values: Float[np.ndarray, "states seq window"]) -> bool:
    """Whether all layers are small enough to be sent ahead."""
    return values.size * bytes_per_cell(values[0].size) <= MOST_BYTES


def layers_ahead(chart_key: str, control_key: str, figures: Sequence[Any], alts: Sequence[str]) -> None:
    """Let the browser draw the layers of a map as the control of its layer moves.

    Args:
        chart_key: of the chart, which may show any of the layers; later runs must draw the same one.
        control_key: of the control, whose places are those of the figures.
        figures: the map of every layer as it is drawn, a heatmap first and the numbers in its cells behind; no two have
            the same title.
        alts: what is seen in each.
    """
    cells = [np.ascontiguousarray(figure.data[0].z) for figure in figures]
    header = {
        "chart": chart_key,
        "control": control_key,
        "rows": cells[0].shape[0],
        "columns": cells[0].shape[1],
        "exact": cells[0].dtype == np.float32,
        "layers": [_facts(figure, alt) for figure, alt in zip(figures, alts, strict=True)],
    }
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    message = b"".join([struct.pack("<I", len(text)), text, *(each.tobytes() for each in cells)])
    _component(key=f"{chart_key}_ahead", data=message, height="content")


def _facts(figure: Any, alt: str) -> dict[str, Any]:
    """Title, scale and numbers of a map."""
    heatmap, numbers = figure.data[0], figure.data[1] if len(figure.data) > 1 else None
    return {
        "title": figure.layout.title.text,
        "alt": alt,
        "ends": [float(heatmap.zmin), float(heatmap.zmax)],
        "tickvals": [float(tick) for tick in heatmap.colorbar.tickvals],
        "ticktext": list(heatmap.colorbar.ticktext),
        "text": list(numbers.text) if numbers else [],
        "colours": list(numbers.textfont.color) if numbers else [],
    }
