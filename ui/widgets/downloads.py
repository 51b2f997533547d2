"""Files of figures and views: captions, themes, tables, PDFs, reports."""

import json
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any
from urllib.parse import urlencode

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.errors import BertvizError, Progress
from bertviz_core.figures.base.export import COLUMN, COLUMN_MM, MEDIA, NO_CAPTION, WIDTH, Caption, deck_tall
from bertviz_core.figures.base.spec import FigureSpec
from bertviz_core.figures.base.style import THEMES, WIDE, Theme
from bertviz_core.tables.typeset import latex_table, markdown_table
from bertviz_core.text import bytes_text, escape_markdown
from bertviz_core.trace.results import Tokens
from ui import session
from ui.cache.figures import ShownDrawing, ShownFigure, ShownView, cached_figure, noted, view_in_sight
from ui.cache.jobs import board, steps_done, this_reader
from ui.cache.models import source as model_source
from ui.widgets.heading import page_pair, page_text
from ui.widgets.models import model_name
from ui.widgets.run_model import shown_in_place


def note_figure(
    spec: FigureSpec, key: str, caption: str, texts: Tokens | Sequence[str | None] = (), models: Sequence[str] = ()
) -> None:
    """Record a figure for a report of its view, if one was requested."""
    if (view := view_in_sight()) is not None:
        view.figures[key] = ShownFigure(spec, caption, shown_models(models), read_texts(texts))


def note_drawing(
    key: str, title: str, page: Callable[[Theme], str], names: Sequence[str], caption: Caption = NO_CAPTION
) -> None:
    """Record a drawing that code in the browser makes, for a report of its view, if one was requested.

    `page` writes it as a self-contained HTML page; the figures of these names, as in `figure --list`, show the same.
    The caption is that of its slide.
    """
    if (view := view_in_sight()) is not None:
        view.figures[key] = ShownDrawing(title, page, frozenset(names), caption)


def note_table(title: str, table: pd.DataFrame) -> None:
    """Record a table for a report of its view, which contains tables where the view has no figure."""
    if (view := view_in_sight()) is not None:
        view.tables[title] = table


def note_models(names: Sequence[str]) -> None:
    """Record the models of the view's tables, where they are not the chosen one."""
    if (view := view_in_sight()) is not None:
        view.models = shown_models(names)


def note_code(key: str, code: str) -> None:
    """Record the lines of Python that reproduce the numbers of a chart."""
    if (view := view_in_sight()) is not None:
        view.code[key] = code


def read_texts(texts: Tokens | Sequence[str | None]) -> tuple[str, ...]:
    """The texts that a figure depends on, without empty ones."""
    return tuple(text for text in ((texts.text, texts.pair) if isinstance(texts, Tokens) else texts) if text)


def shown_models(names: Sequence[str] = ()) -> tuple[tuple[str, str], ...]:
    """Name and revision of each model; by default of the chosen one."""
    return tuple(_named(name) for name in names or (model_name(),))


def _named(name: str) -> tuple[str, str]:
    """A model's name and revision; no revision where its files were removed after the computation."""
    try:
        source = model_source(name)
    except BertvizError:
        return name, ""
    return source.cited


AS_SHOWN = "as on the page"
CHOICES = (AS_SHOWN, *THEMES)
THEME_MEDIA = {AS_SHOWN: "", "Paper column": COLUMN}
"""Label of a size -> the medium of the files."""
_CHOSEN, _SIZE = "picture_theme", "picture_size"
LABEL_PIXELS = 96
"""Width of the label of a row of files."""
FILES = "files"
"""Name of the choice in a link."""


def theme_select(key: str) -> None:
    """The theme and the size of downloads, which all figures share."""
    print_help = "For the files of all figures. Print is white and can be read without colours."
    for kind, label, choices, chosen, value, help_text in (
        ("theme", "Colours of the files", CHOICES, _CHOSEN, chosen_theme() or AS_SHOWN, print_help),
        (
            "size",
            "Size of PNG, SVG and PDF",
            THEME_MEDIA,
            _SIZE,
            _size(),
            f"A column of a paper is {COLUMN_MM} mm wide.",
        ),
    ):
        name = f"{key}_{kind}"
        st.session_state[name] = value
        about: dict[str, Any] = {"key": name, "on_change": _take, "args": (name, chosen), "help": help_text}
        st.segmented_control(label, list(choices), required=True, width="content", **about)


@st.fragment
def download_menu(key: str, show: Callable[[], None]) -> None:
    """Show the one control of the files of a figure or drawing, which are made and sent when it is opened."""
    menu = st.popover("Download", icon=SAVE, key=f"{key}_files", on_change="rerun")
    if menu.open:
        with menu, st.container(key=f"{key}_menu"):
            show()
            theme_select(key)


@contextmanager
def file_row(label: str) -> Iterator[None]:
    """A row of the files of one kind."""
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        st.markdown(f"**{label}**", width=LABEL_PIXELS)
        yield


def chosen_theme() -> str:
    """The theme of downloads; "" for that of the page."""
    chosen = str(st.session_state.get(_CHOSEN, AS_SHOWN))
    return "" if chosen == AS_SHOWN else chosen


def chosen_medium() -> str:
    """The medium of images, "column", or "" for the size of the page."""
    return THEME_MEDIA[_size()]


def take_theme(name: str) -> None:
    """Use the theme named by a link; other words are ignored."""
    if name in THEMES:
        st.session_state[_CHOSEN] = name


def _size() -> str:
    size = str(st.session_state.get(_SIZE, AS_SHOWN))
    return size if size in THEME_MEDIA else AS_SHOWN


def _take(name: str, chosen: str) -> None:
    st.session_state[chosen] = st.session_state[name]


SAVE, MAKE = ":material/download:", ":material/draw:"


def save_button(
    label: str,
    content: bytes | str | Callable[[], bytes | str],
    name: str,
    media: str,
    key: str,
    help: str | None = None,
    icon: str | None = None,
) -> None:
    """Show a button that saves a file, without another run of the page; a function makes its content then."""
    st.download_button(label, content, name, media, key=key, help=help, icon=icon, on_click="ignore")


PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
TURNS, EVERY_S = "drawn_files", 0.5
"""The queue of all these files, so that one browser draws at a time; how often the progress is shown anew."""


@dataclass(frozen=True, slots=True)
class DrawnFile:
    """A file that the server's browser draws, and the button that saves it."""

    widget: str
    """Beginning of the keys of its buttons; a reader waits for one file of each."""
    key: Hashable
    """What it is made from; equal for equal files."""
    name: str
    """Name of the file."""
    media_type: str
    save: str
    """Label of the button that saves it, as wide as that of the button that makes it, so that nothing moves."""
    noun: str = ""
    """What its steps are, such as "pictures"; "" for a single one."""


def start_drawing(file: DrawnFile, steps: int, draw: Callable[[Progress], bytes]) -> None:
    """Start to draw a file in the background; one that was stopped or failed is drawn again.

    `draw` reports its steps, which may end the work, and needs no session.
    """
    session.store(_fault(file), None)
    job = board().find(file.key)
    if job is not None and job.state in ("stopped", "failed"):
        board().forget(file.key)
    board().start(file.key, steps, draw, turns=TURNS, long=0)


def show_drawing(file: DrawnFile, fault_place: DeltaGenerator | None = None) -> bool:
    """Show the progress of a file, the button that saves it, or the sentence why it could not be drawn.

    Returns whether it is being drawn or is there, so that the reader needs no button that starts it.
    """
    job = board().find(file.key)
    if job is not None and job.error is not None:
        board().forget(file.key)
        if not isinstance(job.error, BertvizError):
            raise job.error
        session.store(_fault(file), (file.key, str(job.error)))
    elif job is not None and job.state in ("waiting", "running"):
        _progress(file)
        return True
    elif job is not None and job.result is not None:
        size = f"The file is made: {bytes_text(len(job.result))}."
        save_button(file.save, job.result, file.name, file.media_type, f"{file.widget}_save", size, SAVE)
        return True
    of, fault = session.stored(_fault(file)) or (None, "")
    if of == file.key:
        (fault_place or st).error(escape_markdown(fault), icon=":material/block:")
    return False


@st.fragment(run_every=EVERY_S)
def _progress(file: DrawnFile) -> None:
    """Show how many steps are done; afterwards the whole page is drawn anew."""
    job = board().find(file.key)
    if job is None or job.state not in ("waiting", "running"):
        st.rerun()
    this_reader().wait_for(file.widget, job)
    drawing = steps_done(job, file.noun, with_rate=False) if file.noun else "The file is being drawn."
    words = "Waiting for other files to be drawn." if job.state == "waiting" else drawing
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.progress(min(job.done / max(job.total, 1), 1.0), words)
        st.button("Stop", key=f"{file.widget}_stop", on_click=job.stop)


def _fault(file: DrawnFile) -> str:
    """Session key: what the last file was made from and the sentence why it could not be; None for none."""
    return f"{file.widget}_fault"


PDF = ".pdf"
DRAWN = {
    PDF: (
        "PDF",
        "application/pdf",
        "With its fonts inside, as wide as a figure of the library, or a column of a paper.",
    ),
    ".pptx": ("PPTX", PPTX, "One slide, 16:9: title and caption as text to edit, the figure as a picture."),
}
"""Ending of a file that the server draws -> its label, media type, and what it is."""
SECOND_PRESS = " The server draws the whole figure, without the zoom of the page; it is saved with a second press."


def typeset_downloads(rows: Callable[[], pd.DataFrame], key: str, name: str, title: str) -> None:
    """Show buttons with the table as LaTeX and as Markdown."""
    kinds = {
        "LaTeX": (latex_table, "tex", "application/x-tex", "A table with the rules of the package booktabs."),
        "Markdown": (markdown_table, "md", "text/markdown", "A table for a README, an issue or a notebook."),
    }
    for label, (write, ending, kind, help_text) in kinds.items():
        content = partial(lambda write: write(rows(), title), write)
        save_button(label, content, f"{name}.{ending}", kind, f"{key}_{ending}", help_text)


def drawn_figure(
    ending: str, figure: FigureSpec, key: str, name: str, caption: Caption, theme: Theme, medium: str = ""
) -> None:
    """Show the download of a figure as a PDF or a slide."""
    theme = theme.on_slide(deck_tall()) if ending == ".pptx" else theme
    drawn = cached_figure(figure, theme)
    content = json.dumps(json.loads(drawn.to_json()), sort_keys=True)  # plotly may change the order when it is read
    shown = sha256(content.encode("utf-8", "replace")).hexdigest()

    def prepare() -> Callable[[], bytes]:
        from bertviz_core.questions.report.files import figure_file  # which imports every figure

        # As it is drawn, so that what waits for its turn refers to no trace.
        look = (theme.name, theme.pixels, theme.tall, theme.slide)
        still = replace(figure, draw=lambda _: drawn, key=(), cache={look: drawn})
        return partial(figure_file, ending, still, caption, theme, MEDIA.get(medium, WIDTH), medium=medium)

    drawn_download(ending, key, name, (shown, figure.title, figure.alt, caption, theme.name, medium), prepare)


def drawn_download(
    ending: str, key: str, name: str, made_from: Hashable, prepare: Callable[[], Callable[[], bytes]]
) -> None:
    """Show the button that draws a file, in the background and in turn, its progress, or the button that saves it.

    `made_from` is equal for equal files; `prepare` is called at the press, and what it returns needs no session.
    """
    label, media_type, about = DRAWN[ending]
    widget = f"{key}_{ending[1:]}"
    file = DrawnFile(widget, (__name__, ending, made_from), f"{name}{ending}", media_type, f"Save the {label}")
    more: dict[str, Any] = {"key": f"{widget}_make", "icon": MAKE, "help": about + SECOND_PRESS}
    if not show_drawing(file) and st.button(f"Make the {label}", **more):
        start_drawing(file, 1, partial(_content, prepare()))
        st.rerun()


def _content(draw: Callable[[], bytes], progress: Progress) -> bytes:
    progress(0, 1)
    return draw()


VIEW, USUAL_ONES, FIGURES, MADE = "report_view", "report_usual", "report_figures", "report_made"
FORMAT, HTML, SLIDES = "report_format", "HTML file", "Slides (PPTX)"
ABOUT = {
    HTML: "One HTML file, which opens without a network.",
    SLIDES: "One slide a figure, 16:9: title and caption as text to edit, the figure as a picture.",
}
"""Format -> what it is."""
REPORT_FILES = {HTML: ("html", "text/html", "figures"), SLIDES: ("pptx", PPTX, "figures and pictures")}
"""Format -> ending of the file's name, media type, and what the steps of the work are."""
REQUESTED, FILE = "report_wanted", "report_file"
"""Session keys: whether the next run of the page is recorded; token of the file with a view, which may contain the
reader's own data."""
LONGEST_NAME = 80
ROW_PIXELS = 520
"""Width of the row of the button, in which its progress has room; less on a narrower screen."""
WAITING = (
    "The report is made when the view is drawn. A view that waits for input, such as a file, cannot be in a "
    "report: provide the input, or choose the usual figures without this view."
)
"""Shown in place of the file until it is ready."""


class PageReport:
    """The report of a run of the page: its panel, and the file where one was requested."""

    def __init__(self, page: str, title: str, typed: Sequence[str]) -> None:
        self.page, self.title, self.typed = page, title, typed
        self.slot: DeltaGenerator | None = None
        self.below: DeltaGenerator | None = None
        self.requested = bool(session.stored(REQUESTED))
        session.store(REQUESTED, False)

    def panel(self) -> None:
        """Show the choice of contents, and the file once it is ready."""
        with shown_in_place():
            _panel(self)

    @contextmanager
    def of_page(self, recorded: bool = False) -> Iterator[ShownView]:
        """Run the page inside the block; a requested report of the view is made after it."""
        with noted(self.requested or recorded) as view:
            yield view  # a page that waits for input ends here, and WAITING stays
            self._make(view)

    def _make(self, view: ShownView) -> None:
        if not self.requested or self.slot is None or self.below is None:
            return
        self.requested = False  # since the button's fragment runs again with this object
        contents, form, *_ = session.stored(MADE)
        named = f"{self.title}: {view.name}" if view.name else self.title
        query = urlencode([(key, value) for key in st.query_params for value in st.query_params.get_all(key)])
        facts = {"This view": named, "Its address": f"/{self.page}{f'?{query}' if query else ''}"}
        token = token_urlsafe()
        self.slot.empty()
        self.below.empty()
        with self.below.container(), shown_in_place():
            if not view.figures and not view.tables:
                st.caption(_reports().NOTHING)
            file = _file(token, contents.name, form)
            start_drawing(file, *_reports().report_work(contents, WIDE, form == SLIDES, view, facts))
            session.store(FILE, token)
            with self.slot.container():
                show_drawing(file)


def _reports() -> Any:
    """The module of reports, imported late, since it imports every figure, for which the first page must not wait."""
    from ui.cache import report

    return report


def _panel(report: PageReport) -> None:
    about, reports = st.empty(), _reports()
    name, text, pair = model_name(), page_text(), page_pair()
    titles = reports.offered(name, text, pair)
    with_view = st.checkbox("This view", value=True, key=VIEW)
    usual = st.checkbox(
        "The usual figures of this model and text",
        value=True,
        key=USUAL_ONES,
        help="From the parameters to the heads, as far as the model and the text have them.",
    )
    figures = st.multiselect(
        "Further figures", list(titles), key=FIGURES, format_func=titles.__getitem__, placeholder="none"
    )
    row = st.container(horizontal=True, vertical_alignment="center", gap="small", width=ROW_PIXELS)
    form = row.segmented_control(
        "Format", list(ABOUT), default=HTML, key=FORMAT, required=True, label_visibility="collapsed", width="content"
    )
    about.markdown(ABOUT[form])
    theme = chosen_theme() or session.theme_name()
    contents = reports.ReportContents(name, text, pair, usual, tuple(figures), theme)
    key = (contents, form, *((report.page, _settings(report.typed)) if with_view else ()))
    file = _file(session.stored(FILE, "") if with_view else reports.report_key(contents, form == SLIDES), name, form)
    # The panel has no room to spare: what the button starts is shown in its place.
    slot = report.slot = row.empty()
    report.below = st.empty()
    is_made = session.stored(MADE) == key
    if is_made and with_view and report.requested:
        slot.progress(0.0, "The view is drawn first.")
        report.below.caption(WAITING)
        return
    if is_made and _shown(file, slot, report.below):
        return
    pressed = slot.button(
        "Make the report",
        key="report_make",
        icon=":material/description:",
        disabled=not (with_view or usual or figures),
    )
    if not pressed:
        return
    session.store(MADE, key)
    session.store(FILE, "")
    session.store(REQUESTED, with_view)
    if with_view:
        st.rerun()
    with report.below.container(), shown_in_place():
        start_drawing(file, *reports.report_work(contents, WIDE, form == SLIDES))
        _shown(file, slot, report.below)


def _shown(file: DrawnFile, slot: DeltaGenerator, below: DeltaGenerator) -> bool:
    """Show the file or its progress in the place of the button, an error below; whether there is one of the former."""
    with slot.container():
        return show_drawing(file, below)


def _settings(typed: Sequence[str]) -> tuple[object, ...]:
    """The state of a view: the address, and the typed texts."""
    address = [(key, tuple(st.query_params.get_all(key))) for key in sorted(st.query_params)]
    return (*address, *((key, session.stored(key)) for key in typed))


def _file(key: Hashable, name: str, form: str) -> DrawnFile:
    """The report of a model; the key is that of its contents, or the token of a view."""
    named = re.sub(r"[^\w.-]+", "-", name)[:LONGEST_NAME]
    suffix, media_type, noun = REPORT_FILES[form]
    return DrawnFile("report", (__name__, key), f"report-{named}.{suffix}", media_type, "Save the report", noun)
