"""The view of the sentences page that places sentences in a plane, and lists those that are encircled."""

from typing import Any

import pandas as pd
import streamlit as st

from bertviz_core.results.sentences import SentenceMap, SentenceVectors
from bertviz_core.sentence_map import sentence_map, umap_available
from figures.picture import Picture
from figures.sentence_map import GROUPS, drawn, sentence_scatter
from figures.style import theme
from ui import controls, sentence_view_controls
from ui.errors import plain
from ui.export import download_row, explained, folded_table, numbers_table
from ui.sentence_views import Asked

KEY = "sentences_map"
MAP_CONFIG = {"displaylogo": False, "modeBarButtonsToRemove": ["autoScale2d"], "scrollZoom": False}


def map_view(asked: Asked) -> None:
    """Every sentence as a point; a lasso lists what it encircles."""
    found = asked.vectors()
    if len(found.sentences) < 3:
        st.info("A map needs at least three sentences.", icon=":material/info:")
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        method = sentence_view_controls.map_method(umap_available())
        column = sentence_view_controls.colour_column(
            [each for each in asked.table.columns if each != asked.table.column]
        )
    placed = sentence_map(found.vectors, method)
    values = _values(asked.table.frame[column]) if column else None
    title = f"Map of {len(found.sentences):,} sentences, {asked.way(found)}"
    alt = f"{title}: a point per sentence"
    picture = Picture(title, alt, lambda look: sentence_scatter(placed, found.sentences, title, look, column, values))
    event = st.plotly_chart(
        picture.drawn(theme(controls.theme_name())),
        key=KEY,
        theme=None,
        config=MAP_CONFIG,
        on_select="rerun",
        selection_mode=("points", "box", "lasso"),
        alt=alt,
    )
    st.caption(_note(placed))
    shown = len(drawn(len(found.sentences)))
    if shown < len(found.sentences):
        st.caption(f"{shown:,} of the points are drawn, evenly over the list; a line around them lists all inside it.")
    chosen = sentence_view_controls.encircled(event, placed.points)
    if chosen:
        st.markdown(f"**{len(chosen):,} sentences encircled**")
        numbers_table(_listed(asked, chosen), "The encircled sentences", 240)
    else:
        st.caption("Draw a line around points to list their sentences; double-click to let go.")
    frame = _frame(placed, found, column, values)
    filename = f"sentence map {found.pooling} layer {found.layer} {found.model}"
    download_row(picture, KEY, filename, title, frame, found.sentences)
    folded_table(KEY, frame, title)
    explained(
        KEY,
        "Principal component analysis turns the vectors, their mean taken off, so that the first axis holds as much of "
        "their variance as one axis can, and the second as much of the rest; the shares stand at the axes. Points "
        "far apart are far apart in the model too; points close together need not be where the shares are small.",
        "centred = v - v.mean(0)\n_, s, axes = torch.linalg.svd(centred, full_matrices=False)\n"
        "points, shares = centred @ axes[:2].T, (s**2 / (s**2).sum())[:2]",
    )


def _values(column: pd.Series) -> list[Any]:
    """A column's cells: numbers where all of them are numbers and not few, words otherwise."""
    numbers = pd.to_numeric(column, errors="coerce")
    if numbers.notna().all() and numbers.nunique() > GROUPS:
        return [float(number) for number in numbers]
    return [str(cell) for cell in column]


def _note(placed: SentenceMap) -> str:
    if placed.explained is None:
        return plain(placed.note)
    return f"The plane holds **{float(placed.explained.sum()):.1%}** of the variance. {plain(placed.note)}"


def _listed(asked: Asked, chosen: list[int]) -> pd.DataFrame:
    listed = [index for index in chosen if index < len(asked.table.sentences)]
    frame = pd.DataFrame({"number": [index + 1 for index in listed]})
    frame["sentence"] = [asked.table.sentences[index] for index in listed]
    for column in asked.table.columns:
        if column != asked.table.column:
            frame[column] = asked.table.frame[column].iloc[listed].tolist()
    return frame


def _frame(placed: SentenceMap, found: SentenceVectors, column: str, values: list[Any] | None) -> pd.DataFrame:
    frame = pd.DataFrame({"sentence": list(found.sentences)})
    frame[["first", "second"]] = placed.points
    if values is not None:
        frame[column] = values
    return frame
