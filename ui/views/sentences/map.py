"""A map of sentences, with a list of the selected ones."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from jaxtyping import Float

from bertviz_core.figures.base.fitted import USUAL_HEIGHT
from bertviz_core.figures.sentences.map import GROUPS, drawn_points, sentence_map_figure
from bertviz_core.hidden_states.geometry import inside_polygon
from bertviz_core.questions.texts.sentences import sentence_points
from bertviz_core.sentences.projection import umap_available
from bertviz_core.sentences.results import MapMethod, SentenceMap, SentenceVectors
from bertviz_core.text import counted, formula_safe
from ui.cache.shared_model import SharedModel
from ui.views.sentences import controls
from ui.views.sentences.similarity import SentenceInputs, made_by
from ui.views.sentences.texts import vector_code
from ui.widgets.figure_block import download_row, explained, folded_table, numbers_table, page_theme
from ui.widgets.formatting import variance_words

KEY = "sentences_map"
HOW: Mapping[MapMethod, tuple[str, str]] = {
    "pca": (
        "Principal component analysis turns the vectors, their mean taken off, so that the first axis holds as much of "
        "their variance as one axis can, and the second as much of the rest; the shares stand at the axes. Points "
        "far apart are far apart in the model too; points close together need not be where the shares are small.",
        "centred = v - v.mean(0)\n_, s, axes = torch.linalg.svd(centred, full_matrices=False)\n"
        "points, shares = centred @ axes[:2].T, (s**2 / (s**2).sum())[:2]\n"
        "print(points, shares)   # an axis may point the other way",
    ),
    "umap": (
        "UMAP links every sentence to its nearest by the cosine and looks for points of the plane with the same links "
        "(McInnes et al. 2018). Who is whose neighbour can be read from it; distances between groups, their sizes and "
        "the axes cannot. The start is drawn by lot from a fixed seed, so that the picture is always the same.",
        "import umap\n\npoints = umap.UMAP(n_neighbors=min(15, len(v) - 1), metric='cosine', random_state=0)"
        ".fit_transform(v.numpy())\nprint(points)",
    ),
}
MAP_CONFIG = {"displaylogo": False, "modeBarButtonsToRemove": ["autoScale2d"], "scrollZoom": False}


def map_view(inputs: SentenceInputs) -> None:
    """Every sentence as a point; selected sentences are listed."""
    vectors = inputs.vectors()
    if len(vectors.sentences) < 3:
        st.info("A map needs at least three sentences.", icon=":material/info:")
        return
    with inputs.row:
        method = controls.map_method(umap_available())
        column = controls.colour_column([str(each) for each in inputs.table.frame.columns])
    placed = sentence_points(SharedModel(inputs.model), inputs.key, vectors, method)
    values = _values(inputs.table.frame[column]) if column else None
    picture = sentence_map_figure(placed, vectors, column, values)
    title = picture.title
    theme = page_theme()
    figure = picture.drawn(theme)
    event = st.plotly_chart(
        figure,
        height=round(figure.layout.height or USUAL_HEIGHT),  # the same height as in `chart`
        key=KEY,
        theme=None,
        config=MAP_CONFIG,
        on_select="rerun",
        selection_mode=("points", "box", "lasso"),
        alt=picture.alt,
    )
    st.caption(variance_words(placed))
    shown = len(drawn_points(len(vectors.sentences)))
    if shown < len(vectors.sentences):
        st.caption(f"{shown:,} of the points are drawn, evenly over the list; a line around them lists all inside it.")
    chosen = selected_points(event, placed.points)
    if chosen:
        st.markdown(f"**{counted(len(chosen), 'sentence')} chosen**")
        numbers_table(_listed(inputs, chosen), "The chosen sentences", 240)
    elif theme.narrow:  # where a finger that is dragged over the figure scrolls the page
        st.caption("Tap a point for its sentence.")
    else:
        st.caption("Draw a line around points to list their sentences, or click one; double-click to clear.")
    frame = _frame(placed, vectors, column, values)
    filename = f"sentence map {made_by(vectors)}"
    download_row(picture, KEY, filename, title, frame, vectors.sentences)
    folded_table(KEY, frame, title)
    words, code = HOW[method]
    explained(KEY, words, f"{vector_code(inputs.origin, inputs.plan)}\n{code}")


def _values(column: pd.Series) -> list[Any]:
    """Values of a column: numbers where all are numbers and there are many, text otherwise."""
    numbers = pd.to_numeric(pd.Series(column.tolist(), dtype=object), errors="coerce")
    if numbers.notna().all() and numbers.nunique() > GROUPS:
        return [float(number) for number in numbers]
    return ["" if pd.isna(cell) else str(cell) for cell in column]


def _listed(inputs: SentenceInputs, chosen: list[int]) -> pd.DataFrame:
    listed = [index for index in chosen if index < len(inputs.table.sentences)]
    frame = pd.DataFrame({"number": [index + 1 for index in listed]})
    frame["sentence"] = [inputs.table.sentences[index] for index in listed]
    beside = inputs.table.frame.iloc[listed]
    names: list[str] = []
    for column in beside.columns:
        names.append(_free(str(column), {*frame.columns, *names}))
    return pd.concat([frame, beside.set_axis(names, axis=1).set_index(frame.index)], axis=1)


def _frame(placed: SentenceMap, vectors: SentenceVectors, column: str, values: list[Any] | None) -> pd.DataFrame:
    frame = pd.DataFrame({"sentence": list(vectors.sentences)})
    frame[["first", "second"]] = placed.points
    if values is not None:
        frame[_free(column, {*frame.columns})] = values
    return frame


def _free(column: str, used: set[str]) -> str:
    """A column name for downloads that differs from the table's own and that no spreadsheet reads as a formula."""
    name = formula_safe(column)
    return f"{name} (of the file)" if name in used else name


def selected_points(event: Any, points: Float[np.ndarray, "sentences 2"]) -> list[int]:
    """Return the indices of all points inside a selection, also of those that are not drawn.

    Args:
        event: the selection event of the chart.
        points: coordinates of all points.
    """
    selection = event["selection"] if event else {}
    inside = np.zeros(len(points), dtype=bool)
    for lasso in selection.get("lasso", ()):
        inside |= inside_polygon(points, np.array([lasso["x"], lasso["y"]], dtype=np.float64).T)
    for box in selection.get("box", ()):
        (left, right), (low, high) = sorted(box["x"]), sorted(box["y"])
        x, y = points.T
        inside |= (x >= left) & (x <= right) & (y >= low) & (y <= high)
    if not (selection.get("lasso") or selection.get("box")):
        inside[[place for place in map(_place, selection.get("points", ())) if 0 <= place < len(points)]] = True
    return [int(place) for place in np.flatnonzero(inside)]


def _place(point: Any) -> int:
    """A point's index in the list, from its custom data."""
    place = point.get("customdata")
    return int(place[0] if isinstance(place, list) else place) if place is not None else -1
