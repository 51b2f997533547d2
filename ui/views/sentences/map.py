"""The map of sentences, whose points can be coloured by a column of the file, and selected."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from jaxtyping import Float

from bertviz_core.figures.base.fitted import USUAL_HEIGHT
from bertviz_core.figures.sentences.map import GROUPS, drawn_points, free_name, sentence_map_figure
from bertviz_core.hidden_states.geometry import inside_polygon
from bertviz_core.questions.opened import Opened
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.texts.sentences import sentence_map, sentence_plan, sentence_vectors, vector_options
from bertviz_core.questions.view import Ask, Part, Table, Text
from bertviz_core.questions.views.sentences import SOURCE, made_by, vectors_used
from bertviz_core.questions.views.sentences_texts import MAP, vector_code
from bertviz_core.text import counted
from ui.session import stored
from ui.views.sentences.input import FILE
from ui.widgets.figure_block import download_row, explained, folded_table, page_theme
from ui.widgets.formatting import variance_words
from ui.widgets.lists.uploads import column_select

KEY = sentence_map_figure.chart
MAP_CONFIG = {"displaylogo": False, "modeBarButtonsToRemove": ["autoScale2d"], "scrollZoom": False}


def map_view(opened: Opened, ask: Ask, options: Options) -> Iterator[Part]:
    """Every sentence as a point; selected sentences are listed."""
    yield from vectors_used(opened, ask, options)
    if len(options.texts) < 3:
        yield Text("A map needs at least three sentences.", "notice")
        return
    ask(sentence_vectors, vector_options(opened, options))  # first, as it may take long
    answer = ask(sentence_map, options)
    beside = (
        FILE.current().frame
        if stored(SOURCE.key) == SOURCE.options[1]
        else pd.DataFrame(index=range(len(options.texts)))
    )
    columns = [str(each) for each in beside.columns]
    column = column_select("Colour", "colour_column", columns, "", "one colour") if columns else ""
    drawn = {**answer.drawn, "column": column, "values": _values(beside[column]) if column else None}
    spec, placed, vectors = sentence_map_figure.of(drawn), answer.result, answer.drawn["vectors"]
    theme = page_theme()
    figure = spec.drawn(theme)
    event = st.plotly_chart(
        figure,
        height=round(figure.layout.height or USUAL_HEIGHT),  # the same height as in `chart`
        key=KEY,
        theme=None,
        config=MAP_CONFIG,
        on_select="rerun",
        selection_mode=("points", "box", "lasso"),
        alt=spec.alt,
    )
    st.caption(variance_words(placed))
    shown = len(drawn_points(len(vectors.sentences)))
    if shown < len(vectors.sentences):
        st.caption(f"{shown:,} of the points are drawn, evenly over the list; a line around them lists all inside it.")
    chosen = selected_points(event, placed.points)
    if chosen:
        yield Text(f"**{counted(len(chosen), 'sentence')} chosen**")
        yield Table(_listed(options.texts, beside, chosen), "The chosen sentences", 240)
    elif theme.narrow:  # where a finger that is dragged over the figure scrolls the page
        st.caption("Tap a point for its sentence.")
    else:
        st.caption("Draw a line around points to list their sentences, or click one; double-click to clear.")
    download_row(spec, KEY, f"sentence map {made_by(vectors)}", spec.title, texts=vectors.sentences)
    folded_table(KEY, spec.frame(), spec.title)
    words, code = MAP[placed.method]
    made = vector_code(opened, sentence_plan(opened, options), vectors.sentences)
    explained(KEY, words, f"{made}\n{code}")


def _values(column: pd.Series) -> list[Any]:
    """Values of a column: numbers where all are numbers and there are many, text otherwise."""
    numbers = pd.to_numeric(pd.Series(column.tolist(), dtype=object), errors="coerce")
    if numbers.notna().all() and numbers.nunique() > GROUPS:
        return [float(number) for number in numbers]
    return ["" if pd.isna(cell) else str(cell) for cell in column]


def _listed(sentences: tuple[str, ...], beside: pd.DataFrame, chosen: list[int]) -> pd.DataFrame:
    frame = pd.DataFrame({"number": [index + 1 for index in chosen]})
    frame["sentence"] = [sentences[index] for index in chosen]
    names: list[str] = []
    for column in beside.columns:
        names.append(free_name(str(column), {*frame.columns, *names}))
    return pd.concat([frame, beside.iloc[chosen].set_axis(names, axis=1).set_index(frame.index)], axis=1)


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
