"""Charts: figures that plotly draws in an element that stays, and what a reader clicks in them."""

import re
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
import streamlit as st
from jaxtyping import Float

from bertviz_core.figures.base.export import packed, plotly_module
from bertviz_core.figures.hidden_states.heatmaps import bytes_per_cell
from ui.components import component, file_text, script_path
from ui.components.frame import HISTORY_JS
from ui.session import stored

LIBRARY = script_path(f"plotly-{version('plotly')}.js", plotly_module)
"""Path of plotly.js below the dashboard's own address."""
CELL = "cell"
CHOOSING = (
    *("checkpoint_weights", "checkpoint_changes", "predictions_lens", "predictions_confusion", "causes_effects"),
    *("attention_changed", "predictions_label_errors"),
)
"""Charts in which a click selects something that is in the address anyway; their cell is not."""
CONFIG = {
    "displaylogo": False,
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
    "scrollZoom": False,
    "showSendToCloud": False,
}
SELECTS = {**CONFIG, "modeBarButtonsToRemove": ["autoScale2d"]}
"""Settings of plotly, and those of a chart in which points are selected."""
_chart = component(
    "chart",
    html='<div data-chart="" role="figure"></div>',
    js=f'const LIBRARY = "{LIBRARY}";\n{HISTORY_JS}' + file_text(__file__, "chart.js"),
    isolate_styles=False,
)


class Layers(NamedTuple):
    """What is drawn at each position of a control, between which the browser switches as the control moves."""

    header: Mapping[str, Any]
    cells: Sequence[np.ndarray]


MOST_BYTES = 300_000
"""Most bytes of all layers together; larger maps are sent one at a time."""


def fit_ahead(values: Float[np.ndarray, "states seq window"]) -> bool:
    """Whether all layers are small enough to be sent ahead."""
    return values.size * bytes_per_cell(values[0].size) <= MOST_BYTES


def all_layers(control_key: str, figures: Sequence[Any], alts: Sequence[str]) -> Layers:
    """What the browser needs to draw any of the figures, which are those of the positions of a control.

    A figure is a heatmap, and after it the numbers in its cells; titles differ.
    """
    cells = [np.ascontiguousarray(figure.data[0].z) for figure in figures]
    rows, columns = cells[0].shape
    layers = [_facts(figure, alt) for figure, alt in zip(figures, alts, strict=True)]
    exact = cells[0].dtype == np.float32
    header = {"control": control_key, "rows": rows, "columns": columns, "exact": exact, "layers": layers}
    return Layers(header, cells)


def all_figures(control_key: str, figures: Sequence[bytes], alts: Sequence[str]) -> Layers | None:
    """The JSON of the figures of the positions of a control; None where they are too large to be sent ahead."""
    if sum(map(len, figures)) > MOST_BYTES:
        return None
    layers = [{"alt": alt, "figure": figure.decode()} for figure, alt in zip(figures, alts, strict=True)]
    return Layers({"control": control_key, "layers": layers}, ())


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


def run_again() -> None:
    """What is clicked is read by the script that runs after it."""


def draw_chart(
    key: str,
    figure: bytes,
    alt: str,
    height: int,
    on_click: Callable[[], None] | None = None,
    selects: bool = False,
    layers: Layers | None = None,
) -> None:
    """Draw the JSON of a figure.

    `clicked_point` has what was clicked last, if `on_click` is given, which is called before the script runs;
    `chosen_points` has the selection in a figure that `selects` points.
    """
    header: dict[str, Any] = {"chart": key, "alt": alt, "height": height, "nbytes": len(figure)}
    header |= {"config": SELECTS if selects else CONFIG, "selects": selects, "clicks": on_click is not None}
    header["ahead"] = layers.header if layers else None
    data = packed(header, [np.frombuffer(figure, np.uint8), *(layers.cells if layers else ())])
    # The height is given so that the page reserves the space before the figure is drawn.
    _chart(key=key, data=data, height=height, on_point_change=on_click or run_again, on_chosen_change=run_again)


def chosen_points(chart_key: str) -> Mapping[str, Any]:
    """The selection of a chart: lists `lasso` and `box` of lines around points, and `points`; empty for none."""
    state = stored(chart_key)
    return (state.get("chosen") if state else None) or {}


def clicked_point(chart_key: str) -> Mapping[str, Any] | None:
    """The point of plotly's event that was clicked last in a chart."""
    state = stored(chart_key)
    return state.get("point") if state else None


def clicked_cell(chart_key: str) -> tuple[int, int] | None:
    """Return (row, column) of the cell last clicked in a chart, in the chart's own indices; None for none.

    Rows and columns are swapped if the trace's meta says that the map is transposed. The address has the chart and its
    cell, as in cell=representations_values.3.17. The caller checks whether such a cell exists.
    """
    named, point = chart_key not in CHOOSING, clicked_point(chart_key)
    if point is None:
        return _in_address(chart_key) if named else None
    row, column = cell_of(point)
    text = f"{chart_key}.{row}.{column}"
    if named and st.query_params.get(CELL) != text:
        st.query_params[CELL] = text
    return row, column


def cell_of(point: Mapping[str, Any]) -> tuple[int, int]:
    """Row and column of a clicked point of a map."""
    return int(point["row"]), int(point["column"])


def _in_address(chart_key: str) -> tuple[int, int] | None:
    """The chart's cell in the address; None where it is missing or malformed."""
    match = re.fullmatch(rf"{re.escape(chart_key)}\.([0-9]{{1,6}})\.([0-9]{{1,6}})", st.query_params.get(CELL, ""))
    return (int(match[1]), int(match[2])) if match else None
