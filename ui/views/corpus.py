"""What Corpus draws by itself: the choice of a corpus, and its map."""

from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.corpus.analysis.clusters import MAX_POINTS, map_density, map_points, rows_in_outline, whole_window
from bertviz_core.corpus.analysis.results import CorpusMap, MapWindow
from bertviz_core.corpus.corpora_folder import EXAMPLE, corpus_names, example_folder, example_is_there, make_example
from bertviz_core.corpus.folder import TEXT_COLUMN, Corpus
from bertviz_core.corpus.tables import row_table
from bertviz_core.figures.corpus import corpus_map_figure
from bertviz_core.predictions.probing.reading import example_set
from bertviz_core.questions.corpora import READER
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.views.corpus import CORPUS, NONE_YET, RUN_ANEW, CorpusPlane
from bertviz_core.text import counted, escape_controls, escape_markdown, quoted
from ui.address.registry import put
from ui.address.widgets import BOUND
from ui.cache.jobs import board
from ui.cache.shared_model import SharedCorpus
from ui.components.corpus_map import MapScene, MapState, as_window, corpus_map, map_state
from ui.engine import draw
from ui.session import settings, store, stored
from ui.widgets.figure_block import download_row, folded_table, numbers_table, page_theme
from ui.widgets.models import model_name
from ui.widgets.run_model import awaited
from ui.widgets.uploads import table_files

WIDTH = 240
"""Pixels of the choice of a corpus."""
KEY, AREA = "corpus_plane", "area"
"""Key of the map, and name in the address of its visible part."""
CELLS = (480, 300)
"""Cells of the map, horizontally and vertically, one byte each."""
TEXTS_SHOWN = 300
"""Most visible rows that have their text on hover."""
LISTED, EXPORTED = 200, 100_000
"""Most rows of a selection in the list, and in its files."""


def chosen_corpus(row: DeltaGenerator, view: str) -> tuple[SharedCorpus, str, Options]:
    """The corpus in the address or the selected one; the page ends here if the example does not exist yet."""
    own = corpus_names(settings())
    names = own if EXAMPLE in own else (*own, EXAMPLE)
    current = stored(CORPUS.key, names[0])
    if current not in names:
        missing, first = (escape_markdown(quoted(str(name), 40)) for name in (current, names[0]))
        st.toast(f"There is no corpus {missing} here; {first} is shown.")
        store(CORPUS.key, names[0])
    label, key = CORPUS.label, CORPUS.key
    name = str(row.selectbox(label, names, key=key, format_func=escape_controls, width=WIDTH, **BOUND) or names[0])
    opened = SharedCorpus(name) if name in own else SharedCorpus(name, _example(not own))
    values = {READER.key: model_name()} if view in RUN_ANEW else {}
    return opened, opened.corpus.manifest.model, Options(values=values)


def _example(alone: bool) -> Path:
    """The folder of the example corpus, computed on request."""
    current = settings()
    if alone:
        st.caption(NONE_YET)
    folder = example_folder(current)
    if not example_is_there(current):
        what, count = ("example", str(folder)), len(example_set().texts)
        job = board().find(what) or board().start(what, count, lambda report: make_example(current, report))
        awaited(what, job, "sentences", kind="corpus example")
    return folder


@draw.register
@st.fragment
def _plane(part: CorpusPlane, opened: SharedCorpus, *_: Any) -> None:
    """The map and the selected rows, as a fragment, so that moving and zooming run nothing else."""
    placed = part.placed
    whole = whole_window(placed.points)
    identity = sha256(f"{opened.corpus.fingerprint} {placed.method}".encode()).hexdigest()[:16]
    state = map_state(KEY, identity)
    window = state.window or (_in_address() if not state.serial else None) or whole
    _into_address(window, whole)
    corpus_map(_scene(opened, part, window, identity), state, page_theme(), KEY, _nothing)
    st.caption(part.words)
    if state.region:
        _selected(opened, placed, state)
    model, density = opened.corpus.manifest.model, map_density(placed.points, window, values=part.values)
    spec = corpus_map_figure(placed, density, part.column, opened.name)
    file, caption = f"corpus map {opened.name} {placed.method} {model}", spec.caption or spec.title
    download_row(spec, spec.chart, file, caption, models=(model,), preview=True)
    folded_table(spec.chart, spec.frame, spec.title)


def _scene(opened: SharedCorpus, part: CorpusPlane, window: MapWindow, identity: str) -> MapScene:
    """The content of the window: cells, or single rows where there are few."""
    placed, column, corpus = part.placed, part.column, opened.corpus
    density = map_density(placed.points, window, part.values, *CELLS)
    words = f"{density.total:,} of {corpus.rows:,} rows in sight."
    coloured = f", coloured by {column}" if column else ""
    scene = MapScene(
        identity=identity,
        label=f"Map of {counted(corpus.rows, 'row')} of the corpus {opened.name}{coloured}",
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
    has_text, few = TEXT_COLUMN in corpus.columns, len(shown.rows) <= TEXTS_SHOWN
    if has_text:
        read = (
            "Point at or tap a point to read its text."
            if few
            else f"Zoom in to {TEXTS_SHOWN} or fewer to read their texts."
        )
        words = f"{words} {read}"
    return replace(
        scene,
        words=words,
        points=shown.points,
        point_groups=None if part.values is None else part.values.codes[shown.rows],
        texts=_texts(corpus, shown.rows) if few and has_text else (),
    )


def _texts(corpus: Corpus, rows: np.ndarray) -> tuple[str, ...]:
    cells = corpus.read(rows.tolist(), [TEXT_COLUMN]).column(TEXT_COLUMN).to_pylist()
    return tuple(f"{row}  {text or ''}" for row, text in zip(rows.tolist(), cells, strict=True))


def _selected(opened: SharedCorpus, placed: CorpusMap, state: MapState) -> None:
    """The selected rows: the first ones as a list, more of them in the files."""
    inside = rows_in_outline(placed.points, np.array(state.region))
    st.markdown(f"**{counted(len(inside), 'row')} selected**")
    if not len(inside):
        return
    listed, exported = inside[:LISTED].tolist(), inside[:EXPORTED].tolist()
    numbers_table(row_table(opened.corpus, listed), "The selected rows", 240)
    if len(exported) > len(listed):
        part = len(exported) < len(inside)
        more = f"; in the files are the first {len(exported):,}" if part else "; all are in the files"
        st.caption(f"The first {len(listed):,} are listed{more}.")
    file = f"corpus rows of {opened.name}"
    table_files(lambda: row_table(opened.corpus, exported, whole=True), f"{KEY}_rows", file)


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
