"""Downloads of the attention page: the picture, the view as HTML, one head, all heads."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from bertviz_core.attention.export import MOST_CELLS, npz_bytes, parquet_bytes
from bertviz_core.attention.results import AttentionAtlas, AttentionMap, MapOptions, PooledMap
from bertviz_core.figures.attention.maps import (
    LIFTED,
    UNITS,
    all_heads_title,
    atlas_figure,
    attention_title,
    long_figure,
)
from bertviz_core.figures.base.colour_bars import scale_words
from bertviz_core.figures.base.export import COLUMN, MEDIA, Caption
from bertviz_core.figures.base.style import Theme, theme_named, width_class
from bertviz_core.questions.report.drawing_files import WIDE, drawing_content
from bertviz_core.tables.typeset import csv_text
from bertviz_core.text import counted
from bertviz_core.trace.results import Trace
from ui import session
from ui.components.attention.colours import MEASURES, colours
from ui.components.attention.html_file import attention_html, file_payload
from ui.components.attention.payload import FILE_BYTES
from ui.components.attention.view import ViewOptions, ViewState
from ui.components.frame import figure_download
from ui.views.attention import cache
from ui.views.attention.texts import SECOND_TEXT, SHORT
from ui.widgets.figure_block import file_name
from ui.widgets.files import PDF, chosen_medium, chosen_theme, note_drawing, pdf_download, pdf_of_figure, theme_select

KEY = "attention_heads"
"""Key of the view."""
MapOf = Callable[[int, int], AttentionMap | PooledMap]
REPORT_BYTES = 1_000_000
"""Most bytes of the maps of all heads in a report, which may contain many views."""
PARQUET = "application/vnd.apache.parquet"


def head_files(
    trace: Trace, atlas: AttentionAtlas, map_of: MapOf, attention_map: AttentionMap, state: ViewState
) -> None:
    """Downloads of the open head: its picture, the view as HTML, its numbers."""
    title = attention_title(attention_map, trace.model)
    name = file_name(KEY, title)
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        theme = theme_named(chosen_theme() or session.theme_name())
        caption = _caption(
            trace,
            attention_map.options,
            scale_sentence(atlas, [map_of(*each) for each in state.heads], state.look),
            state.look.lines,
        )
        alt, medium = f"{title}: queries by keys", chosen_medium()
        figure_download(KEY, name, title, caption, theme, alt, look=colours(theme), medium=medium)
        if medium == COLUMN:
            prepare = partial(_pdf, partial(view_page, trace, atlas, map_of, state, theme, most=0), theme, caption)
            run = (trace.model, trace.revision, trace.dtype, trace.attention_source, caption.texts)
            drawn = (atlas.options, state.look, state.heads, state.range, caption, theme.name)
            pdf_download(KEY, f"{name}-{medium}", repr((run, drawn)), prepare)
        st.download_button(
            "HTML",
            partial(view_page, trace, atlas, map_of, state, theme),
            f"{name}.html",
            "text/html",
            key=f"{KEY}_html",
            help="One file with all heads to click through; opens without a network.",
            on_click="ignore",
        )
        st.download_button(
            "CSV",
            lambda: csv_text(frame_of(attention_map)),
            f"{name}.csv",
            "text/csv",
            key=f"{KEY}_csv",
            help="The weights of the opened head.",
            on_click="ignore",
        )
        theme_select(KEY)


def _pdf(page: Callable[[], str], theme: Theme, caption: Caption) -> Callable[[], bytes]:
    """Return what draws the open head, as the page shows it, for a column of a paper."""
    return partial(drawing_content, PDF, page(), WIDE, theme, COLUMN, caption)


def note_view(trace: Trace, atlas: AttentionAtlas, map_of: MapOf, state: ViewState) -> None:
    """Record the view as it is drawn, with its open heads and pinned tokens, for a report, if one was requested.

    Args:
        trace: the run.
        atlas: all heads.
        map_of: returns the map of a layer and head.
        state: what is selected, and how it is drawn.
    """
    names = ("lines" if state.look.lines else "attention", "atlas")
    page = partial(view_page, trace, atlas, map_of, state, most=REPORT_BYTES)
    note_drawing(KEY, _title(map_of(*state.opened), trace), page, names)


def view_page(
    trace: Trace, atlas: AttentionAtlas, map_of: MapOf, state: ViewState, theme: Theme, most: int = FILE_BYTES
) -> str:
    """Write the view as an HTML page, which makes no request; its heads can be clicked through.

    Args:
        trace: the run.
        atlas: all heads.
        map_of: returns the map of a layer and head; that of a long text is pooled.
        state: what is selected, and how it is drawn.
        theme: colours.
        most: most bytes of the maps of all heads; if they are more, the file has only the open heads in full.
    """
    maps = [map_of(*each) for each in state.heads]
    first = maps[0]
    long = isinstance(first, PooledMap)
    payload = file_payload(
        atlas,
        maps,
        lambda layer, head: cache.one_map(trace, layer, head, atlas.options),
        0 if long else most,
        title=trace.model,
        theme=theme,
        special=np.flatnonzero(trace.tokens.special).tolist(),
        second=trace.tokens.second_start,
        heads=state.heads,
        part=state.range if long else None,
        answers={"look": asdict(state.look)},
    )
    scale = scale_sentence(atlas, maps, state.look)
    caption = _caption(trace, atlas.options, scale, state.look.lines)
    return attention_html(payload, _title(first, trace), f"{caption.line} {cache.receipt(trace)}".rstrip())


def _title(opened: AttentionMap | PooledMap, trace: Trace) -> str:
    """Title of the open head."""
    return long_figure(opened, trace).title if isinstance(opened, PooledMap) else attention_title(opened, trace.model)


def atlas_files(trace: Trace, atlas: AttentionAtlas, look: ViewOptions) -> None:
    """Downloads of all heads: their picture, and every weight in one file."""
    reading, (layers, heads) = atlas.options, atlas.thumbnails.shape[:2]
    title, key = all_heads_title(reading, trace.model), "attention_atlas"
    name = file_name(key, title)
    cells = layers * heads * len(atlas.queries) * len(atlas.keys)
    theme = theme_named(chosen_theme() or session.theme_name())
    caption = _caption(trace, reading, scale_sentence(atlas, (), look), look.lines)
    maps = partial(_all_maps, trace, reading, layers, heads)
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        st.markdown(f"All {counted(layers * heads, 'map')}:" if layers * heads > 1 else "The map:", width="content")
        alt, medium = f"{title}: a small picture of each", chosen_medium()
        figure_download(key, name, title, caption, theme, alt, look=colours(theme), medium=medium)
        if medium == COLUMN:  # in the model's order and on one scale, whatever the view has
            sized, usual = replace(theme, pixels=width_class(MEDIA[medium])), ViewOptions()
            words = _caption(trace, reading, scale_sentence(atlas, (), usual), usual.lines)
            pdf_of_figure(atlas_figure(atlas, trace), key, f"{name}-{medium}", words, sized)
        if cells <= MOST_CELLS:
            st.download_button(
                "npz",
                lambda: npz_bytes(maps(), trace),
                f"{name}.npz",
                "application/octet-stream",
                key=f"{key}_npz",
                help="NumPy arrays: attention (layers, heads, queries, keys), the tokens of both axes, the settings.",
                on_click="ignore",
            )
            st.download_button(
                "Parquet",
                lambda: parquet_bytes(maps(), trace),
                f"{name}.parquet",
                PARQUET,
                key=f"{key}_parquet",
                help="A table with a row for each weight: layer, head, query, key, their tokens, the weight.",
                on_click="ignore",
            )
        st.download_button(
            "Measures (CSV)",
            lambda: csv_text(measures_frame(atlas)),
            f"{name}-measures.csv",
            "text/csv",
            key=f"{key}_csv",
            help="Entropy, mean distance and shares of every head.",
            on_click="ignore",
        )


def frame_of(attention_map: AttentionMap) -> pd.DataFrame:
    """A map as a table: a row per query, a column per key, and the hidden share."""
    columns = [f"{place} {label}" for place, label in enumerate(attention_map.keys.labels)]
    frame = pd.DataFrame(attention_map.weights, columns=columns)
    frame.insert(0, "query", [f"{place} {label}" for place, label in enumerate(attention_map.queries.labels)])
    if attention_map.hidden_share.any():
        frame["hidden"] = attention_map.hidden_share
    return frame


def measures_frame(atlas: AttentionAtlas) -> pd.DataFrame:
    """Measures of all heads, a row each."""
    layers, heads = atlas.measures.entropy.shape
    frame = pd.DataFrame([(layer, head) for layer in range(layers) for head in range(heads)], columns=["layer", "head"])
    for name, (words, *_) in MEASURES.items():
        frame[words] = getattr(atlas.measures, name).ravel()
    return frame


def _all_maps(trace: Trace, reading: MapOptions, layers: int, heads: int) -> list[list[AttentionMap]]:
    return [[cache.one_map(trace, layer, head, reading) for head in range(heads)] for layer in range(layers)]


def scale_sentence(atlas: AttentionAtlas, maps: Sequence[AttentionMap | PooledMap], look: ViewOptions) -> str:
    """Describe the colours of the view, in the same words as the scale of a figure.

    Args:
        atlas: all heads.
        maps: the open heads, the first of which is drawn as a map, and all as lines; () for the picture of all heads.
        look: how the view is drawn.
    """
    unit, top = UNITS[atlas.options.weights], float(atlas.thumbnails.max(initial=0))
    end, which = f"{top:.3g}", "one scale for all heads"
    peaks = [float(each.weights.max(initial=0)) for each in maps]
    if look.scale == "fixed" and atlas.options.weights != "value-weighted":
        end, which = "1", "a fixed scale"
    elif peaks and look.lines:
        end, which = f"{max(peaks):.3g}", "one scale for the open heads" if len(peaks) > 1 else "a scale of its own"
    elif look.scale == "own":
        end, which = (f"{peaks[0]:.3g}", "a scale of its own") if peaks else ("the largest of each head", "")
    elif peaks:
        end = f"{max(top, peaks[0]):.3g}"
    long = max(len(atlas.queries), len(atlas.keys)) > LIFTED
    root = "by the square root" if (look.shades == "lifted" or (long and not look.shades)) else ""
    return scale_words(unit, "0", end, ", ".join(filter(None, (root, which))))


def _caption(trace: Trace, reading: MapOptions, scale: str, lines: bool) -> Caption:
    read = trace.tokens
    texts = tuple(text for text in (read.text, read.pair) if text)
    drawn = (
        f"Lines from queries to keys, stronger for a larger {scale}" if lines else "Queries in rows, keys in columns"
    )
    marked = f". {SECOND_TEXT}" if read.second_start is not None and reading.block == "all" else ""
    words = f"{drawn}; {SHORT[reading.weights]}{marked}"
    return Caption(words, ((trace.model, trace.revision),), texts, "" if lines else scale)
