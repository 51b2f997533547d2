"""The drawing of all heads, which code in the browser makes, with its files; and clicks that open a head."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any, cast

import pandas as pd
import streamlit as st

from bertviz_core.attention.export import MOST_CELLS, npz_bytes, parquet_bytes
from bertviz_core.attention.results import OF_LAYERS, AttentionAtlas, AttentionMap, PooledMap
from bertviz_core.attention.tables import map_frame, measures_frame
from bertviz_core.attention.value_zeroing import require_values
from bertviz_core.errors import Progress
from bertviz_core.figures.attention.html_file import attention_html, file_payload
from bertviz_core.figures.attention.maps import (
    LIFTED,
    UNITS,
    WHERE,
    all_heads_title,
    atlas_figure,
    attention_title,
    long_figure,
)
from bertviz_core.figures.attention.payload import FILE_BYTES, colours, identity
from bertviz_core.figures.attention.view_state import ViewOptions, ViewState, from_query, to_query
from bertviz_core.figures.base.export import MEDIA, SLIDE, Caption
from bertviz_core.figures.base.style import Theme, scale_words, theme_named, width_class
from bertviz_core.questions.parameters import Options
from bertviz_core.questions.report.drawing_files import WIDE
from bertviz_core.questions.texts.attention import atlas_of, attending_run, head_map
from bertviz_core.questions.view import Ask, Download, Folded, Part, Table, Text, View
from bertviz_core.questions.views import attention as views
from bertviz_core.questions.views.attention import AS_FIRST, AllHeads, HeadList, Receipt
from bertviz_core.tables.typeset import csv_text
from bertviz_core.text import counted
from bertviz_core.trace.cost import run_cost
from bertviz_core.trace.verification import receipt
from ui import session
from ui.address.navigation import arrived, visit
from ui.address.registry import component_text, put, read_component, remembered_text, write_component
from ui.cache.figures import view_in_sight
from ui.cache.models import checked
from ui.cache.shared_model import SharedModel
from ui.components.attention.view import attention_state, attention_view, last_serial, opened_head
from ui.components.frame import figure_download
from ui.engine import CLICKS, Specials, draw, draw_parts
from ui.widgets import downloads, run_model
from ui.widgets.figure_block import file_name, folded_table, numbers_table
from ui.widgets.heading import HEAD, page_pair, page_text
from ui.widgets.models import LAYER, store_layer

KEY, ATLAS = "attention_heads", "attention_atlas"
"""Keys of the drawing, and of the files of all heads."""
LOOK = views.LOOK.key
"""Name of its state in the address."""
REPORT_BYTES = 1_000_000
"""Most bytes of the maps of all heads in a report, which may contain many views."""
QUIET_S = 0.4
"""Shorter work shows no progress, so that nothing flickers."""
MAP, TABLE, LIST_HEIGHT = "attention_changed", "attention_changed_heads", 240
"""Keys of the map of the heads that changed and of their list, and pixels of the list."""
HTML_HELP = "One file with all heads to click through; opens without a network."
PARQUET = "application/vnd.apache.parquet"
NPZ_HELP = "NumPy arrays: attention (layers, heads, queries, keys), the tokens of both axes, the settings."
PARQUET_HELP = "A table with a row for each weight: layer, head, query, key, their tokens, the weight."
Shown = tuple[str, tuple[int, int]]
"""Identity of what the drawing shows, and (layer, head) of the open head."""


def views_of(opened: SharedModel) -> Sequence[View]:
    """The views of the run: one head of a long text, or all heads."""
    trace = attending_run(opened, Options((page_text(),), page_pair())).result
    return views.VIEWS if views.is_long(trace) else views.VIEWS[1:]


def show_heads(opened: SharedModel, ask: Ask, options: Options) -> Iterable[Part]:
    """All heads, in the state of an address that was changed from outside; this is read when the whole page runs."""
    in_lesson = session.stored(session.TOUR) is not None  # whose steps say how heads are drawn
    if arrived(LOOK) and not visit().complete and not in_lesson and LOOK not in st.query_params:
        # How heads were drawn, without what was selected in them, which belongs to the text of that time.
        put(LOOK, to_query(replace(from_query(remembered_text(LOOK)), heads=(), zoom=None, cell=None, pins=())))
    read_component(LOOK, last_serial(KEY))
    return views.heads_view(opened, ask, options)


SPECIAL: Specials = {views.VIEWS[1].title: show_heads}


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """What the drawing shows of a run, and its state in the browser."""

    part: AllHeads
    atlas: AttentionAtlas
    state: ViewState
    long: bool
    opened: SharedModel
    ask: Ask
    options: Options

    def draw(self, *parts: Part) -> None:
        """Draw parts about it."""
        draw_parts(parts, self.opened, self.ask, self.options)

    def map(self, layer: int, head: int) -> AttentionMap | PooledMap:
        """The map of a head; that of a long text is pooled."""
        return views.drawn_map(self.opened, self.part.trace, self.part.reading, (layer, head), self.state.range)

    def full(self, layer: int, head: int) -> AttentionMap:
        """The whole map of a head."""
        return head_map(self.opened, self.part.trace, layer, head, self.part.reading)

    def every(self) -> list[list[AttentionMap]]:
        """The maps of all heads."""
        layers, heads = self.atlas.thumbnails.shape[:2]
        return [[self.full(layer, head) for head in range(heads)] for layer in range(layers)]

    @property
    def title(self) -> str:
        """Title of the open head."""
        shown, trace = self.map(*self.state.opened), self.part.trace
        return long_figure(shown, trace).title if isinstance(shown, PooledMap) else attention_title(shown, trace.model)

    @property
    def scale(self) -> str:
        """The colours of the open heads."""
        return scale_sentence(self.atlas, [self.map(*each) for each in self.state.heads], self.state.look)

    @property
    def hidden(self) -> str:
        """What says which lines are not drawn; "" for none."""
        tokens = max(len(self.atlas.queries), len(self.atlas.keys))
        hide = (10 if tokens > LIFTED else 2) if self.state.look.hide is None else self.state.look.hide
        if self.part.reading.weights == "value-weighted":
            return f"; those below {hide}% of the largest are hidden" if hide else ""
        return f"; weights below {hide / 100:g} are hidden" if hide else ""

    def caption(self, scale: str, lines: bool) -> Caption:
        """The caption of a picture."""
        trace, reading = self.part.trace, self.part.reading
        read = trace.tokens
        texts = tuple(text for text in (read.text, read.pair) if text)
        drawn = f"Lines from queries to keys, stronger for a larger weight{self.hidden}"
        marked = f". {views.SECOND_TEXT}" if read.second_start is not None and reading.block == "all" else ""
        words = f"{drawn if lines else 'Queries in rows, keys in columns'}; {views.SHORT[reading.weights]}{marked}"
        return Caption(words, downloads.shown_models((trace.model,)), texts, scale)

    def page(self, theme: Theme, most: int = FILE_BYTES) -> str:
        """The drawing as an HTML page, which makes no request; its heads can be clicked through.

        If the maps of all heads have more than `most` bytes, the file has only the open ones in full.
        """
        trace, state = self.part.trace, self.state
        payload = file_payload(
            self.atlas,
            [self.map(*each) for each in state.heads],
            self.full,
            0 if self.long else most,
            **views.about_drawing(trace, theme),
            heads=state.heads,
            part=state.range if self.long else None,
            answers={"look": asdict(state.look)},
        )
        line = self.caption(self.scale, state.look.lines).line
        return attention_html(payload, self.title, f"{line} {receipt_words(self.opened, self.part)}".rstrip())


@draw.register
def _all_heads(part: AllHeads, opened: SharedModel, ask: Ask, options: Options) -> None:
    trace, long = part.trace, views.is_long(part.trace)
    weights = part.reading.weights
    atlas = atlas_of(opened, trace, part.reading, _progress(opened, part, long))
    serial, shown = last_serial(KEY), (identity(atlas), part.place)
    state = attention_state(KEY, atlas, part.place, requested_options(serial, shown))
    drawing = Drawing(part, atlas, state, long, opened, ask, options)
    attention_view(
        atlas,
        [drawing.map(*each) for each in (*state.missing, *state.ahead)],
        state,
        key=KEY,
        **views.about_drawing(trace, theme_named(session.theme_name())),
        reads=write_component(LOOK, to_query(state.look), serial, shown),
        on_change=partial(_follow, weights not in OF_LAYERS),
    )
    drawing.draw(Text(views.LABELS[weights], "caption"))
    if view_in_sight() is not None:
        names = ("lines" if state.look.lines else "attention", "atlas")
        words = drawing.caption(drawing.scale, state.look.lines)
        downloads.note_drawing(KEY, drawing.title, partial(drawing.page, most=REPORT_BYTES), names, words)
    place = st.empty()
    if not long:
        _open_head(drawing)
    with place:  # the comparison is made after the picture is drawn
        _receipt(Receipt(trace), opened)
    if not long:
        drawing.draw(views.second_parts(opened, ask, options))


def _open_head(drawing: Drawing) -> None:
    """The words, files and numbers of the open head, and of all heads."""
    opened, part, atlas = drawing.opened, drawing.part, drawing.atlas
    shown, cell = drawing.full(*part.place), drawing.state.cell
    clicked = [views.cell_words(drawing.full(*cell[:2]), *cell[2:])] if cell else []
    drawing.draw(*clicked, *views.shares_words(atlas, shown))
    downloads.download_menu(KEY, partial(_files, drawing, shown))
    title, model = attention_title(shown, part.trace.model), opened.name
    folded_table(KEY, lambda: map_frame(shown), title, scale=drawing.scale)
    measures = Table(measures_frame(atlas), f"Entropy, distance and shares of every head of {model}", 240)
    seq = len(part.trace.tokens)

    def is_slow() -> bool:  # value zeroing in one layer, which the reader then confirms
        return run_cost(opened.loaded, seq, runs=seq).seconds > run_model.CONFIRM_ABOVE_SECONDS

    table = Folded(
        "Entropy, distance and shares of every head, as a table", views.MEASURES_OPEN.key, lambda: [measures]
    )
    drawing.draw(table, *views.head_parts(part.trace, opened, drawing.options, is_slow))


def _progress(opened: SharedModel, part: AllHeads, long: bool) -> Progress | None:
    """What shows the progress of slow work, and ends superseded work; a reader first confirms slow value zeroing."""
    trace, words = part.trace, f"Head {{:,}} of {{:,}}: {len(part.trace.tokens):,} tokens"
    if part.reading.weights == "value-zeroing":
        words = "{:,} of {:,} values set to zero, one by one in every layer"
        require_values(opened.loaded)
        run_model.agreed_cost(opened.loaded, trace.tokens, runs=trace.num_hidden_layers * len(trace.tokens))
    elif not long:
        return None
    place, started = st.empty(), perf_counter()

    def progress(done: int, total: int) -> None:
        if done == total:
            place.empty()
        elif perf_counter() - started > QUIET_S:
            place.progress(done / total, words.format(done, total))

    return progress


def requested_options(serial: int | None, shown: Shown) -> ViewOptions | None:
    """Return the options in the address; None if the browser has sent a message since.

    Positions in another text have no meaning in this one, and a clicked cell belongs to the head that was open.
    """
    state = component_text(LOOK, serial)
    if state is None:
        return None
    look, before = from_query(state.text), cast(Shown | None, state.shown)
    if before is None or before == shown:
        return look
    return replace(look, cell=None) if before[0] == shown[0] else replace(look, zoom=None, cell=None, pins=())


def _follow(with_head: bool) -> None:
    """Update layer and head after a head was opened in the drawing; a change of its looks leaves them."""
    head = opened_head(KEY)
    if head is None:
        return
    if str(head[0]) != st.session_state.get(LAYER):
        store_layer(head[0])
    if with_head and head[1] != st.session_state.get(HEAD):
        st.session_state[HEAD] = head[1]


def receipt_words(opened: SharedModel, part: AllHeads | Receipt) -> str:
    """How the recorded attention compares with the model's own; the comparison is made if needed.

    Returns "" for attention that is not recorded, and for a model that just failed: its next run is not recorded.
    """
    check = checked(opened.loaded) if part.trace.attention_source == "recorded" else None
    return receipt(check) if check is not None else ""


@draw.register
def _receipt(part: Receipt, opened: SharedModel, *_: object) -> None:
    if words := receipt_words(opened, part):
        st.caption(words)
    elif part.trace.attention_source == "recorded":
        st.rerun()


def _files(drawing: Drawing, shown: AttentionMap) -> None:
    """The files of the open head, and of all heads: slides first, then images, then their numbers."""
    theme = theme_named(downloads.chosen_theme() or session.theme_name())
    part, atlas, look = drawing.part, drawing.atlas, drawing.state.look
    title, whole = attention_title(shown, part.trace.model), all_heads_title(atlas.options, part.trace.model)
    name, name_of_all = file_name(KEY, title), file_name(ATLAS, whole)
    caption = drawing.caption(drawing.scale, look.lines)
    of_all = drawing.caption(scale_sentence(atlas, (), look), look.lines)
    count = atlas.thumbnails.shape[0] * atlas.thumbnails.shape[1]
    medium, kind = downloads.chosen_medium(), f"All {counted(count, 'map')}" if count > 1 else "The map"
    suffix = medium and f"-{medium}"

    def image(key: str, file: str, of: str, words: Caption, alt: str, **more: Any) -> None:
        figure_download(key, file, of, words, theme, alt, look=colours(theme), **{"medium": medium, **more})

    def drawn(ending: str, file: str, size: str = "") -> None:
        def prepare() -> Callable[[], bytes]:
            from bertviz_core.questions.report.files import drawing_file  # which imports every figure

            return partial(drawing_file, ending, drawing.page(theme, most=0), WIDE, theme, size, caption)

        run = (part.trace.model, part.trace.revision, part.trace.dtype, part.trace.attention_source, caption.texts)
        state = (part.reading, look, drawing.state.heads, drawing.state.range, caption, theme.name, size)
        downloads.drawn_download(ending, KEY, file, repr((run, state)), prepare)

    slide: dict[str, Any] = {"medium": SLIDE, "formats": {"Slide (PNG)": "png"}}
    alt, alt_of_all = f"{title}: queries by keys", f"{whole}: a small picture of each"
    with downloads.file_row("Slide 16:9"):
        image(KEY, name, title, caption, alt, **slide)
        drawn(".pptx", name)
    with downloads.file_row("Picture"):
        image(KEY, name, title, caption, alt)
        drawn(downloads.PDF, f"{name}{suffix}", medium)
        html = Download("HTML", f"{KEY}_html", f"{name}.html", "text/html", partial(drawing.page, theme), HTML_HELP)
        drawing.draw(html)
    with downloads.file_row(kind):
        image(ATLAS, name_of_all, whole, of_all, alt_of_all, **slide)
        image(ATLAS, name_of_all, whole, of_all, alt_of_all)
        # In the model's order and on one scale, whatever the drawing has.
        sized, usual = replace(theme, pixels=width_class(MEDIA.get(medium, WIDE))), ViewOptions()
        words = drawing.caption(scale_sentence(atlas, (), usual), usual.lines)
        downloads.drawn_figure(
            downloads.PDF, atlas_figure(atlas, part.trace), ATLAS, f"{name_of_all}{suffix}", words, sized, medium
        )
    with downloads.file_row("Numbers"):
        _numbers(drawing, shown, name, name_of_all)


def _numbers(drawing: Drawing, shown: AttentionMap, name: str, name_of_all: str) -> None:
    """Files of the weights of the open head, of those of all heads, and of what each head does."""
    atlas, trace = drawing.atlas, drawing.part.trace
    csv = partial(lambda frame: csv_text(frame()), partial(map_frame, shown))
    about = "Entropy, mean distance and shares of every head."
    measures = partial(lambda frame: csv_text(frame()), partial(measures_frame, atlas))
    drawing.draw(
        Download("CSV", f"{KEY}_csv", f"{name}.csv", "text/csv", csv, "The weights of the opened head."),
        Download("Measures (CSV)", f"{ATLAS}_csv", f"{name_of_all}-measures.csv", "text/csv", measures, about),
    )
    if atlas.thumbnails.shape[0] * atlas.thumbnails.shape[1] * len(atlas.queries) * len(atlas.keys) <= MOST_CELLS:
        npz, parquet = lambda: npz_bytes(drawing.every(), trace), lambda: parquet_bytes(drawing.every(), trace)
        media, file = "application/octet-stream", name_of_all
        drawing.draw(
            Download("npz", f"{ATLAS}_npz", f"{file}.npz", media, npz, NPZ_HELP),
            Download("Parquet", f"{ATLAS}_parquet", f"{file}.parquet", PARQUET, parquet, PARQUET_HELP),
        )


def scale_sentence(atlas: AttentionAtlas, maps: Sequence[AttentionMap | PooledMap], look: ViewOptions) -> str:
    """Describe the colours of the open heads, or for () of the picture of all heads, as the scale of a figure does."""
    unit, top = UNITS[atlas.options.weights], float(atlas.thumbnails.max(initial=0))
    end, which = f"{top:.3g}", f"one scale for all {'layers' if atlas.options.weights in WHERE else 'heads'}"
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


@draw.register
def _head_list(part: HeadList, *_: object) -> None:
    alt, on_row = "Heads by how far their attention is apart", partial(take_row, part.frame)
    numbers_table(part.frame, alt, LIST_HEIGHT, key=TABLE, on_row=on_row)


def take_row(frame: pd.DataFrame) -> None:
    """Open the head of the selected row."""
    event = st.session_state.get(TABLE)
    rows = event["selection"]["rows"] if event else []
    if rows and rows[0] < len(frame):
        open_head(int(frame["layer"].iloc[rows[0]]), int(frame["head"].iloc[rows[0]]))


def open_head(layer: int, head: int) -> None:
    """Open a head of both models above; a callback, so that widgets, which are drawn before, write the address."""
    for param in (views.OTHER_LAYER, views.OTHER_HEAD):
        if param.key in st.session_state:
            st.session_state[param.key] = AS_FIRST
    store_layer(layer)
    st.session_state[HEAD] = head


CLICKS[MAP] = open_head
