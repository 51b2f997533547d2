"""Make a report as one HTML file or as slides: the current view, and figures of its model and text.

The file is made in the background. A report of the view starts at the end of a run of the whole page, which records
what the view shows; other reports need no such run.
"""

import re
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from secrets import token_urlsafe
from urllib.parse import urlencode

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.figures.base.style import WIDE
from ui import session
from ui.cache.view_notes import ShownView, noted
from ui.widgets import text_fields
from ui.widgets.errors import shown_in_place
from ui.widgets.files.drawn import PPTX, DrawnFile, show_drawing, start_drawing
from ui.widgets.files.theme import chosen_theme
from ui.widgets.models import fields

VIEW, USUAL_ONES, FIGURES, MADE = "report_view", "report_usual", "report_figures", "report_made"
FORMAT, HTML, SLIDES = "report_format", "HTML file", "Slides (PPTX)"
ABOUT = {
    HTML: "One HTML file, which opens without a network.",
    SLIDES: "One slide a figure, 16:9: title and caption as text to edit, the figure as a picture.",
}
"""Format -> what it is."""
FILES = {HTML: ("html", "text/html", "figures"), SLIDES: ("pptx", PPTX, "figures and pictures")}
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
    """The report of a run of the page: its panel, and the file where one was requested.

    Args:
        page: name of the page.
        title: its title.
        typed: keys of the reader's own texts, which are not in the address.
    """

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
        """Run the page inside the block; a requested report of the view is made after it.

        Args:
            recorded: whether the view is recorded though no report was requested.
        """
        with noted(self.requested or recorded) as view:
            yield view  # a page that waits for input ends here, and WAITING stays
            self._make(view)

    def _make(self, view: ShownView) -> None:
        if not self.requested or self.slot is None or self.below is None:
            return
        from ui.cache.report import NOTHING, report_work

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
                st.caption(NOTHING)
            file = _file(token, contents.name, form)
            start_drawing(file, *report_work(contents, WIDE, form == SLIDES, view, facts))
            session.store(FILE, token)
            with self.slot.container():
                show_drawing(file)


def _panel(report: PageReport) -> None:
    # Imported here, since it imports every figure, for which the first page must not wait.
    from ui.cache.report import ReportContents, offered, report_key, report_work

    about = st.empty()
    name, text, pair = fields.model_name(), text_fields.text(), text_fields.pair()
    titles = offered(name, text, pair)
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
    contents = ReportContents(name, text, pair, usual, tuple(figures), theme)
    key = (contents, form, *((report.page, _settings(report.typed)) if with_view else ()))
    file = _file(session.stored(FILE, "") if with_view else report_key(contents, form == SLIDES), name, form)
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
        start_drawing(file, *report_work(contents, WIDE, form == SLIDES))
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
    suffix, media_type, noun = FILES[form]
    return DrawnFile("report", (__name__, key), f"report-{named}.{suffix}", media_type, "Save the report", noun)
