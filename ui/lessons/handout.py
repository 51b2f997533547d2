"""The pinned views as one HTML file, and as slides: each with its title, its note and its figures."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from urllib.parse import urlencode

import streamlit as st

from bertviz_core.errors import BertvizError, Progress
from bertviz_core.figures.base.caption import Caption
from bertviz_core.figures.base.style import WIDE, Theme, theme_named
from bertviz_core.figures.pages import PAGES
from bertviz_core.questions.report.page import report_page
from bertviz_core.questions.report.sections import Report, ReportSection, made_facts
from bertviz_core.questions.report.slide_pictures import slide_pictures
from bertviz_core.questions.report.slides import ReportSlide, require_slides, slides_file
from ui import session
from ui.address.query import whole
from ui.cache.sources import source
from ui.cache.view_notes import ShownView, cached_sections, keep_sections
from ui.lessons.pins import PINNED, Pin, PinnedViews, pinned_views
from ui.lessons.writing import lesson_yaml
from ui.session import TOUR
from ui.widgets.files.drawn import PPTX, DrawnFile, show_drawing, start_drawing
from ui.widgets.files.theme import chosen_theme
from ui.widgets.models import fields

TO_RECORD = "pinned_view_to_record"
"""Session key: token of the pinned view whose figures the next run of the page records; "" for none."""
WITHOUT_FIGURE = "Its figures are not in this report, since the view was not drawn."
ABOUT = "Views of the dashboard, pinned one after the other."
HELP = "One slide a view, 16:9: title and note as text to edit, figures as pictures, the whole note in the notes."


def token_to_record(here: str) -> str:
    """Token of the pinned view whose figures this run of a page records; "" for none.

    That is a view that was pinned just now, or a step of the pinned views whose figures are not cached.

    Args:
        here: name of the page.
    """
    token = str(session.stored(TO_RECORD, ""))
    session.store(TO_RECORD, "")
    name, number, trial = session.stored(TOUR) or ("", None, None)
    place, pins = whole(number), pinned_views().pins
    if token or name != PINNED or trial or not place or place > len(pins):
        return token
    pin = pins[place - 1]
    return pin.token if pin.step.page == here and cached_sections(pin.token) is None else ""


def record_view(token: str, view: ShownView) -> None:
    """Cache the figures of a view, drawn for a file, for the report of the pinned views.

    Args:
        token: token of the pinned view.
        view: what the page has shown.
    """
    with suppress(BertvizError):  # the page has shown the error already
        origin = source(fields.model_name())
        keep_sections(token, view.sections(_theme(), [(origin.name, origin.revision)]))


def without_figures(views: PinnedViews) -> list[Pin]:
    """The pinned views whose figures are not cached; not those that were shown and have none."""
    return [pin for pin in views.pins if cached_sections(pin.token) is None]


def pinned_report(views: PinnedViews) -> bytes:
    """The report of the pinned views as an HTML file, which opens without a network."""
    lesson = views.lesson()
    sections = [section for number, pin in enumerate(views.pins, start=1) for section in _sections(number, pin)]
    if lesson.summary:
        sections.append(_text_section("pinned-summary", "In short", lesson.summary, ""))
    by = {"By": lesson.author} if lesson.author else {}
    facts = {**by, "Views": str(len(views.pins)), **made_facts()}
    report = Report(lesson.title, facts, tuple(sections), title=lesson.title, about=ABOUT)
    return report_page(report, _theme()).encode("utf-8", "replace")


def slides_button(views: PinnedViews, file_name: str) -> None:
    """Show the button that makes the slides of the pinned views, their progress, or the button that saves them.

    Args:
        views: the pinned views, one at least.
        file_name: name of the file.
    """
    file = DrawnFile("pinned_slides", slides_key(views), file_name, PPTX, "Save the slides", "pictures")
    if show_drawing(file):
        return
    if st.button("Make slides (PPTX)", key="pinned_slides_make", icon=":material/slideshow:", help=HELP):
        start_drawing(file, picture_count(views), slide_maker(views))
        st.rerun()


def slides_key(views: PinnedViews) -> tuple[object, ...]:
    """What the slides of the pinned views are made from; equal for equal slides."""
    drawn = tuple((pin.token, pin.left_out, cached_sections(pin.token) is None) for pin in views.pins)
    return (__name__, lesson_yaml(views.lesson()), drawn, _theme().name)


def picture_count(views: PinnedViews) -> int:
    """Number of pictures on the slides of the pinned views."""
    shown = (each for number, pin in enumerate(views.pins, start=1) for each in _figures(number, pin))
    return sum(each.is_drawn for each in shown)


def slide_maker(views: PinnedViews) -> Callable[[Progress], bytes]:
    """A function that writes the slides of the pinned views, as a PPTX file; it needs no session.

    It is called with a `Progress` of the pictures, and raises BertvizError where python-pptx or a browser is missing.
    """
    lesson, theme = views.lesson(), _theme()
    slides = [
        ReportSlide(pin.step.title, _note(pin), _figures(number, pin), (_address(pin),))
        for number, pin in enumerate(views.pins, start=1)
    ]

    def make(progress: Progress) -> bytes:
        require_slides()
        pictures = slide_pictures([each for slide in slides for each in slide.sections], theme, progress)
        return slides_file(slides, pictures, theme, lesson.title, lesson.author or "", lesson.summary or ABOUT)

    return make


def _sections(number: int, pin: Pin) -> list[ReportSection]:
    """Title and note of a pinned view, then its figures."""
    lead = _text_section(f"pinned-{number}", pin.step.title, _note(pin), _address(pin))
    return [lead, *_figures(number, pin)]


def _figures(number: int, pin: Pin) -> tuple[ReportSection, ...]:
    """The figures of a pinned view that the reader wants, with names that no other view has."""
    shown = (each for each in cached_sections(pin.token) or () if each.name not in pin.left_out)
    return tuple(replace(each, name=f"pinned-{number}-{each.name}") for each in shown)


def _note(pin: Pin) -> str:
    tries = [f"Try: {pin.step.question}"] if pin.step.question else []
    missing = [WITHOUT_FIGURE] if cached_sections(pin.token) is None else []
    return "\n".join((pin.step.note, *tries, *missing))


def _address(pin: Pin) -> str:
    query = urlencode([(name, value) for name, values in pin.step.query.items() for value in values])
    return f"{PAGES[pin.step.page].title}: /{pin.step.page}{f'?{query}' if query else ''}"


def _text_section(name: str, title: str, note: str, words: str) -> ReportSection:
    return ReportSection(name, title, title, None, Caption(words, ()), "", note=note)


def _theme() -> Theme:
    """Colours and width of the figures: light, unless the reader has chosen others for files."""
    return theme_named(chosen_theme() or "light", WIDE)
