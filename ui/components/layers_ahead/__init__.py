"""Send all layers of a map ahead, so that the browser redraws it while the layer widget moves.

The map stays Streamlit's own chart, which plotly redraws in place. Frames of plotly need a slider inside the figure,
which would be in every file and would not update table, CSV and title.
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
"""Most bytes of all layers together; larger maps are sent one at a time."""
_component = st.components.v2.component(
    "layers_ahead", html="<span></span>", js=Path(__file__).with_name("layers_ahead.js").read_text(encoding="utf-8")
)


def fit_ahead(values: Float[np.ndarray, "states seq window"]) -> bool:
    """Whether all layers are small enough to be sent ahead."""
    return values.size * bytes_per_cell(values[0].size) <= MOST_BYTES


def layers_ahead(chart_key: str, control_key: str, figures: Sequence[Any], alts: Sequence[str]) -> None:
    """Redraw a map in the browser as the layer widget moves.

    Args:
        chart_key: key of the chart, which may show any of the layers; later runs must draw the same one.
        control_key: key of the widget, whose positions are those of the figures.
        figures: the figure of every layer: a heatmap, and after it the numbers in its cells; titles differ.
        alts: their descriptions for screen readers.
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
