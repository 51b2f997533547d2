"""What a chart tells the server, and what the server sends it ahead."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import streamlit as st
from jaxtyping import Float

from bertviz_core.figures.hidden_states.heatmaps import bytes_per_cell
from ui.components import file_text, packed

_text = partial(file_text, __file__)

CELL = "cell"
CHOOSING = (
    *("checkpoint_weights", "checkpoint_changes", "predictions_lens", "predictions_confusion", "causes_effects"),
    *("attention_changed", "predictions_label_errors"),
)
"""Charts in which a click selects something that is in the address anyway; their cell is not."""
_cell_click = st.components.v2.component("cell_click", html="<span></span>", js=_text("cell_click.js"))


def cell_click(chart_key: str, on_cell: Callable[[int, int], None] | None = None) -> tuple[int, int] | None:
    """Return (row, column) of the cell last clicked in a chart, in the chart's own indices; None for none.

    Rows and columns are swapped if the trace's meta says that the map is transposed. The address has the chart and its
    cell, as in cell=representations_values.3.17. The caller checks whether such a cell exists. `on_cell` is called with
    a new one before the script runs, so that it may set other widgets.
    """
    state = _cell_click(
        key=f"{chart_key}_cell",
        data={"chart": chart_key},
        default={"cell": None},
        on_cell_change=partial(_report, f"{chart_key}_cell", on_cell),
        height="content",
    )
    named = chart_key not in CHOOSING
    if not state.cell:
        return _in_address(chart_key) if named else None
    row, column = int(state.cell[0]), int(state.cell[1])
    text = f"{chart_key}.{row}.{column}"
    if named and st.query_params.get(CELL) != text:
        st.query_params[CELL] = text
    return row, column


def _report(key: str, on_cell: Callable[[int, int], None] | None) -> None:
    state = st.session_state.get(key)
    if on_cell is not None and state and state["cell"]:
        on_cell(int(state["cell"][0]), int(state["cell"][1]))


def _in_address(chart_key: str) -> tuple[int, int] | None:
    """The chart's cell in the address; None where it is missing or malformed."""
    match = re.fullmatch(rf"{re.escape(chart_key)}\.([0-9]{{1,6}})\.([0-9]{{1,6}})", st.query_params.get(CELL, ""))
    return (int(match[1]), int(match[2])) if match else None


MOST_BYTES = 2_000_000
"""Most bytes of all layers together; larger maps are sent one at a time."""
_layers_ahead = st.components.v2.component("layers_ahead", html="<span></span>", js=_text("layers_ahead.js"))


def fit_ahead(values: Float[np.ndarray, "states seq window"]) -> bool:
    """Whether all layers are small enough to be sent ahead."""
    return values.size * bytes_per_cell(values[0].size) <= MOST_BYTES


def layers_ahead(chart_key: str, control_key: str, figures: Sequence[Any], alts: Sequence[str]) -> None:
    """Redraw a map in the browser as the layer widget moves, whose positions are those of the figures.

    The chart may show any of them, and later runs must draw the same one. A figure is a heatmap, and after it the
    numbers in its cells; titles differ.
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
    _layers_ahead(key=f"{chart_key}_ahead", data=packed(header, cells), height="content")


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
