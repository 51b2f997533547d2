"""Make a report as one HTML file or as slides: the current view, and figures of its model and text.

A report of the view is made at the end of a run of the whole page, which records what the view shows; other reports
need no such run. Slides are then drawn in the background.
"""

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from secrets import token_urlsafe
from urllib.parse import urlencode

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from bertviz_core.errors import Progress
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
REQUESTED, FILE = "report_wanted", "report_file"
"""Session keys: whether the next run of the page is recorded; token of the file created from a view."""
LONGEST_NAME = 80
ROW_PIXELS = 520
"""Width of the row of the button, in which its progress has room; less on a narrower screen."""
WAITING = (
    "The report is made when the view is drawn. A view that waits for input, such as a second text, cannot be in a "
    "report: provide the input, or choose the usual figures without this view."
)
"""Shown in place of the file until it is ready."""


class PageReport:
    """The report of a run of the page: its button, and the file where one was requested.

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

    def button(self) -> None:
        """Show the button, whose panel has the choice of contents, and the file once it is ready."""
        _button(self)

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
        from ui.cache.report import NOTHING, keep_file, report_slides, view_report

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
            if form == SLIDES:
                slides = _slides(token, contents.name)
                start_drawing(slides, *report_slides(contents, WIDE, view, facts))
                session.store(FILE, token)
                with self.slot.container():
                    show_drawing(slides)
                return
            file = view_report(contents, view, facts, WIDE, _progress_bar(self.slot))
            keep_file(token, file)
            session.store(FILE, token)
            _save(self.slot, file, _file_name(contents.name))


@st.fragment
def _button(report: PageReport) -> None:
    with st.popover("Report", type="tertiary", key="report_open", on_change="rerun") as place:
        if place.open:
            with shown_in_place():
                _panel(report)


def _panel(report: PageReport) -> None:
    # Imported here, since it imports every figure, for which the first page must not wait.
    from ui.cache.report import ReportContents, cached_file, offered, report_file, report_slides, slides_key

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
    slides = _slides(session.stored(FILE, "") if with_view else slides_key(contents), name)
    # The panel has no room to spare: what the button starts is shown in its place.
    slot = report.slot = row.empty()
    report.below = st.empty()
    is_made = session.stored(MADE) == key
    if is_made and with_view and report.requested:
        slot.progress(0.0, "The view is drawn first.")
        report.below.caption(WAITING)
        return

    def file() -> bytes | None:
        return cached_file(session.stored(FILE, "")) if with_view else report_file(contents, WIDE, _progress_bar(slot))

    page = None if form == SLIDES else file
    if is_made and _shown(slot, report.below, slides, page):
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
    if form == SLIDES and not with_view:
        with report.below.container(), shown_in_place():
            start_drawing(slides, *report_slides(contents, WIDE))
            _shown(slot, report.below, slides, page)
        return
    if with_view or not _shown(slot, report.below, slides, page):
        st.rerun()


def _shown(
    slot: DeltaGenerator, below: DeltaGenerator, slides: DrawnFile, page: Callable[[], bytes | None] | None
) -> bool:
    """Show the requested file or its progress in the place of the button.

    Args:
        slot: the place of the button.
        below: where an error is shown.
        slides: the slides.
        page: returns the HTML file, None for none; None for slides.

    Returns:
        Whether there is one of them.
    """
    if page is None:
        with slot.container():
            return show_drawing(slides, below)
    with below.container(), shown_in_place():
        if file := page():
            _save(slot, file, slides.name.removesuffix(".pptx"))
            return True
    return False


def _settings(typed: Sequence[str]) -> tuple[object, ...]:
    """The state of a view: the address, and the typed texts."""
    address = [(key, tuple(st.query_params.get_all(key))) for key in sorted(st.query_params)]
    return (*address, *((key, session.stored(key)) for key in typed))


def _progress_bar(place: DeltaGenerator) -> Progress:
    def progress(done: int, total: int) -> None:
        if done < total:
            place.progress(done / total, text=f"{done} of {total} figures")
        else:
            place.empty()

    return progress


def _slides(key: Hashable, name: str) -> DrawnFile:
    """The report of a model as slides; the key is that of its contents, or the token of a view."""
    return DrawnFile("report_slides", (__name__, key), f"{_file_name(name)}.pptx", PPTX, "Save the report", "figures")


def _save(place: DeltaGenerator, file: bytes, name: str) -> None:
    place.download_button(
        f"Save the report, {len(file) / 2**20:.1f} MiB",
        file,
        f"{name}.html",
        "text/html",
        on_click="ignore",
        key="report_save",
        icon=":material/download:",
        type="primary",
    )


def _file_name(name: str) -> str:
    """Name of the report of a model without an ending."""
    named = re.sub(r"[^\w.-]+", "-", name)[:LONGEST_NAME]
    return f"report-{named}"
