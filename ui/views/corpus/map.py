"""A map of a corpus: density for many rows, single rows when zoomed in."""

from dataclasses import replace
from hashlib import sha256

import numpy as np
import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.corpus.analysis.clusters import MAX_POINTS, map_density, map_points, rows_in_outline, whole_window
from bertviz_core.corpus.analysis.duplicates import ColumnValues
from bertviz_core.corpus.analysis.results import CorpusMap, MapDensity, MapWindow
from bertviz_core.corpus.folder import TEXT_COLUMN, Corpus
from bertviz_core.figures.corpus import corpus_map_figure
from bertviz_core.questions.corpora import COLOURED, PLACED, column_colours
from bertviz_core.questions.corpora import corpus_map as placed_rows
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.report.library_lines import library_lines
from bertviz_core.sentences.similarity import umap_available
from bertviz_core.text import counted
from ui.address.registry import put
from ui.cache.figures import view_in_sight
from ui.cache.folders import SharedCorpus
from ui.components.corpus_map import MapScene, MapState, as_window, corpus_map, map_state
from ui.views.corpus import controls
from ui.views.corpus.search import row_table
from ui.widgets.figure_block import explained, figure_block, folded, numbers_table, page_theme
from ui.widgets.files import note_figure
from ui.widgets.heading import variance_words
from ui.widgets.lists import answer, table_files

KEY = "corpus_plane"
AREA = "area"
"""Name in the address of the visible part of the map."""
CELLS = (480, 300)
"""Cells of the map, horizontally and vertically, one byte each."""
TEXTS_SHOWN = 300
"""Most visible rows that have their text on hover."""
LISTED, EXPORTED = 200, 100_000
"""Most rows of a selection in the list, and in its files."""


def map_view(named: SharedCorpus, row: DeltaGenerator) -> None:
    """All rows as a map; selected rows are listed and can be downloaded."""
    corpus = named.corpus
    if corpus.rows < 3:
        st.info("A map needs at least three rows.", icon=":material/info:")
        return
    with row:
        method = controls.map_method(umap_available())
        column = controls.column_select(COLOURED, "Colour", corpus.columns, "number of rows")
    options = Options(values={PLACED.key: method})
    placed = answer(placed_rows, named, options).result
    coloured = Options(values={COLOURED.key: column})
    values = column_colours(named, coloured).result if column else None
    _explore(named, placed, column, values)
    st.caption(variance_words(placed))
    with folded("As a figure, with its files", f"{KEY}_figure") as place:
        if place.open:
            density = map_density(placed.points, whole_window(placed.points), values=values)
            figure_block(
                corpus_map_figure(placed, density, column, named.name),
                f"corpus map {named.name} {method} {corpus.manifest.model}",
                _cells(density.counts, density.window),
                models=(corpus.manifest.model,),
            )
    explained(KEY, controls.MAPS[method] + controls.SHADING, library_lines(placed_rows, named, options))


@st.fragment
def _explore(named: SharedCorpus, placed: CorpusMap, column: str, values: ColumnValues | None) -> None:
    """The map and the selected rows, as a fragment, so that moving and zooming run nothing else."""
    whole = whole_window(placed.points)
    identity = sha256(f"{named.corpus.fingerprint} {placed.method}".encode()).hexdigest()[:16]
    state = map_state(KEY, identity)
    window = state.window or (_in_address() if not state.serial else None) or whole
    _into_address(window, whole)
    corpus_map(_scene(named, placed, column, values, window, identity), state, page_theme(), KEY, _nothing)
    if view_in_sight() is not None:
        _note(named, placed, column, map_density(placed.points, window, values=values))
    if state.region:
        _selected(named, placed, state)


def _scene(
    named: SharedCorpus,
    placed: CorpusMap,
    column: str,
    values: ColumnValues | None,
    window: MapWindow,
    identity: str,
) -> MapScene:
    """The content of the window: cells, or single rows where there are few."""
    density = map_density(placed.points, window, values, *CELLS)
    rows, has_text = named.corpus.rows, TEXT_COLUMN in named.corpus.columns
    label = f"Map of {counted(rows, 'row')} of the corpus {named.name}" + (f", coloured by {column}" if column else "")
    words = f"{density.total:,} of {rows:,} rows in sight."
    scene = MapScene(
        identity=identity,
        label=label,
        words=f"{words} Zoom in: up to {MAX_POINTS:,} in sight are drawn one by one.",
        whole=whole_window(placed.points),
        window=window,
        counts=density.counts,
        groups=density.values,
        cell_groups=density.majority,
    )
    if density.total > MAX_POINTS:
        return scene
    shown = map_points(placed.points, window)
    few = has_text and len(shown.rows) <= TEXTS_SHOWN
    if has_text:
        words += (
            " Point at a row to read its text." if few else f" Zoom in to {TEXTS_SHOWN} or fewer to read their texts."
        )
    return replace(
        scene,
        words=words,
        points=shown.points,
        point_groups=None if values is None else values.codes[shown.rows],
        texts=_texts(named.corpus, shown.rows) if few else (),
    )


def _texts(corpus: Corpus, rows: np.ndarray) -> tuple[str, ...]:
    cells = corpus.read(rows.tolist(), [TEXT_COLUMN]).column(TEXT_COLUMN).to_pylist()
    return tuple(f"{row}  {text or ''}" for row, text in zip(rows.tolist(), cells, strict=True))


def _selected(named: SharedCorpus, placed: CorpusMap, state: MapState) -> None:
    """The selected rows: the first ones as a list, more of them in the files."""
    inside = rows_in_outline(placed.points, np.array(state.region))
    st.markdown(f"**{counted(len(inside), 'row')} selected**")
    if not len(inside):
        return
    listed = inside[:LISTED].tolist()
    numbers_table(row_table(named, listed), "The selected rows", 240)
    exported = inside[:EXPORTED].tolist()
    if len(exported) > len(listed):
        more = (
            f"; in the files are the first {len(exported):,}"
            if len(exported) < len(inside)
            else "; all are in the files"
        )
        st.caption(f"The first {len(listed):,} are listed{more}.")
    table_files(lambda: row_table(named, exported, whole=True), f"{KEY}_rows", f"corpus rows of {named.name}")


def _cells(counts: np.ndarray, window: MapWindow) -> pd.DataFrame:
    """Centre and count of every cell with rows."""
    high, wide = counts.shape
    down, across = np.nonzero(counts)
    return pd.DataFrame(
        {
            "first axis": window.left + (across + 0.5) * (window.right - window.left) / wide,
            "second axis": window.bottom + (down + 0.5) * (window.top - window.bottom) / high,
            "rows": counts[down, across],
        }
    )


def _note(named: SharedCorpus, placed: CorpusMap, column: str, density: MapDensity) -> None:
    """Record the visible part of the map for a report of the view."""
    spec = corpus_map_figure(placed, density, column, named.name)
    note_figure(spec, KEY, spec.title, spec.caption or spec.title, models=(named.corpus.manifest.model,))


def _in_address() -> MapWindow | None:
    """The part of the map in the address; None for none."""
    try:
        return as_window([float(word) for word in st.query_params.get(AREA, "").split(",")])
    except ValueError:
        return None


def _into_address(window: MapWindow, whole: MapWindow) -> None:
    """Write the visible part into the address, except the whole map."""
    ends = (window.left, window.right, window.bottom, window.top)
    put(AREA, None if window == whole else ",".join(f"{end:.5g}" for end in ends))


def _nothing() -> None:
    """The fragment reads the map's state when it runs."""
