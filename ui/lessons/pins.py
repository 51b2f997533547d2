"""The views that the reader has pinned, steps of a lesson that is made in this session, and their report and slides."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from secrets import token_urlsafe
from typing import Any, NoReturn
from urllib.parse import urlencode

import streamlit as st

from bertviz_core.errors import BertvizError, LessonError, Progress
from bertviz_core.figures.base.export import Caption, deck_tall
from bertviz_core.figures.base.style import WIDE, Theme, theme_named
from bertviz_core.figures.pages import PAGES
from bertviz_core.questions.report.page import report_page
from bertviz_core.questions.report.sections import Report, ReportSection, made_facts
from bertviz_core.questions.report.slide_pictures import slide_pictures
from bertviz_core.questions.report.slides import ReportSlide, require_slides, slides_file
from ui import session
from ui.address.navigation import bring_values_back, visit
from ui.address.registry import is_of_page, take, whole
from ui.cache.figures import ShownView, cached_sections, keep_sections
from ui.components.links import address, open_at_once
from ui.lessons.library import (
    MAX_QUERY,
    MAX_STEPS,
    MAX_VALUES,
    PINNED,
    RESERVED,
    VALUE,
    Lesson,
    Step,
    add_session_lesson,
    lesson_yaml,
    parse_lesson,
    read_step,
    remove_session_lesson,
    step_fields,
)
from ui.lessons.tour import NAMES, Place
from ui.session import DEFAULT_TEXT, TOUR
from ui.share import carried_texts
from ui.widgets.downloads import PPTX, DrawnFile, chosen_theme, show_drawing, shown_models, start_drawing
from ui.widgets.heading import restore_texts
from ui.widgets.models import current_view, reads_text

STORED, LATEST = "pinned_views", "pinned_latest"
"""Session keys: the pinned views, and the list that holds them."""
FILE = "pinned_file_text"
"""Session key: the lesson of the pinned views as a file; "" for none."""
UNTITLED = "My lesson"
"""Title of a lesson whose title is empty."""
MOST_PINS = MAX_STEPS
"""Most pinned views, the most steps of a lesson."""
TEXT_FIELDS = ("note", "question", "answer", "try")
"""Fields of a step that stay when its view is replaced."""
IN_TITLES = ("layer", "head")
"""Names of the address that the title of a view mentions."""


@dataclass(frozen=True, slots=True)
class Pin:
    """A pinned view."""

    step: Step
    """Its page, query and texts, with title and note."""
    token: str
    """Key of its figures in the cache, a random text."""
    left_out: frozenset[str] = frozenset()
    """Names of its figures that the reader wants not in the report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedViews:
    """The list of pinned views, and the texts of their lesson."""

    pins: tuple[Pin, ...] = ()
    title: str = ""
    """Title of the lesson; "" for UNTITLED."""
    author: str = ""
    summary: str = ""
    following: str = ""
    """Name of the next lesson; "" for none."""
    keeps: tuple[str, ...] = ()
    """Names in the address that the steps leave as the reader has set them; those of a lesson that was opened."""

    def lesson(self) -> Lesson:
        """The lesson whose steps are these views; without a view it has no step, and no file can be written."""
        return Lesson(
            name=PINNED,
            title=self.title or UNTITLED,
            author=self.author or None,
            steps=tuple(pin.step for pin in self.pins),
            summary=self.summary or None,
            following=self.following or None,
            keeps=self.keeps,
        )

    def with_step(self, step: Step) -> "PinnedViews":
        """The list with one more view at its end."""
        return replace(self, pins=(*self.pins, Pin(step, token_urlsafe())))

    def replaced(self, token: str, step: Step) -> "PinnedViews":
        """The list with another view in the place of that of this token, which keeps its note, question and answer.

        Its title stays, too, unless it is one that views have without the reader's.
        """
        pins = tuple(Pin(_beneath(pin.step, step), token_urlsafe()) if pin.token == token else pin for pin in self.pins)
        return replace(self, pins=pins)

    def with_figures(self, token: str, left_out: frozenset[str]) -> "PinnedViews":
        """The list with other figures of a view left out of the report."""
        pins = tuple(replace(pin, left_out=left_out) if pin.token == token else pin for pin in self.pins)
        return replace(self, pins=pins)

    def without(self, token: str) -> "PinnedViews":
        """The list without the view of this token."""
        return replace(self, pins=tuple(pin for pin in self.pins if pin.token != token))

    def moved(self, place: int, to: int) -> "PinnedViews":
        """The list with the view of one place at another, both from 0; unchanged where there is no such place."""
        if not (0 <= place < len(self.pins) and 0 <= to < len(self.pins)):
            return self
        others = [pin for number, pin in enumerate(self.pins) if number != place]
        return replace(self, pins=(*others[:to], self.pins[place], *others[to:]))

    def with_texts(self, place: int, title: str, note: str) -> "PinnedViews":
        """The list with another title and note of a view; empty ones become those of a view without its own."""
        pin = self.pins[place]
        texts = {"title": title if title.strip() else pin.step.title, "note": _note(note, pin.step.page)}
        step = _checked({**step_fields(pin.step), **texts})
        return replace(self, pins=(*self.pins[:place], replace(pin, step=step), *self.pins[place + 1 :]))

    def with_texts_of_lesson(self, title: str, author: str, summary: str, following: str) -> "PinnedViews":
        """The list with other texts of its lesson."""
        return replace(self, title=title, author=author, summary=summary, following=following)

    def with_lesson(self, lesson: Lesson) -> "PinnedViews":
        """The list with a lesson's steps that it lacks at its end; an empty one takes the lesson's other texts, too."""
        pinned = [pin.step for pin in self.pins]
        pins = (*self.pins, *(Pin(step, token_urlsafe()) for step in lesson.steps if step not in pinned))
        if self.pins:
            return replace(self, pins=pins)
        return PinnedViews(
            pins=pins,
            title="" if lesson.title == UNTITLED else lesson.title,
            author=lesson.author or "",
            summary=lesson.summary or "",
            following=lesson.following or "",
            keeps=lesson.keeps,
        )


def pinned_views() -> PinnedViews:
    """The pinned views of this session."""
    views = session.stored(STORED)
    return views if isinstance(views, PinnedViews) else PinnedViews()


def store_pinned_views(views: PinnedViews) -> None:
    """Store the pinned views, which the tour then presents as a lesson."""
    if len(views.pins) > MOST_PINS:
        raise LessonError(
            f"{len(views.pins)} views would be pinned, more than the {MOST_PINS} steps of a lesson; remove some, or "
            "download the list and begin another."
        )
    file = lesson_yaml(views.lesson()) if views.pins else ""
    if views.pins:
        add_session_lesson(parse_lesson(file.encode(), f"{PINNED}.yaml", sorted(PAGES)))
    else:
        remove_session_lesson(PINNED)
    session.store(STORED, views)
    session.store(FILE, file)
    latest_views()[:] = [views]


def latest_views() -> list[PinnedViews]:
    """The pinned views alone in a list, for a file that is made beyond the session's own thread."""
    if session.stored(LATEST) is None:
        session.store(LATEST, [pinned_views()])
    latest: list[PinnedViews] = session.stored(LATEST)
    return latest


def tab_texts() -> dict[str, str]:
    """The pinned views as a text for the browser's tab, which has them after a reload; none without a view."""
    return {STORED: str(file)} if (file := session.stored(FILE)) else {}


def take_tab_texts(texts: Mapping[str, str]) -> None:
    """Restore the pinned views of the tab in a session that has none."""
    if STORED in texts and not pinned_views().pins:
        with suppress(LessonError):  # whoever has changed the browser's storage has no list
            lesson = parse_lesson(texts[STORED].encode("utf-8", "replace"), f"{PINNED}.yaml", sorted(PAGES))
            store_pinned_views(PinnedViews().with_lesson(lesson))


def current_step(page: str, title: str = "", note: str = "") -> Step:
    """The current view of a page as a step; by default with its own title, and the question of the page as its note."""
    query, texts = _query_and_texts(page)
    return _checked(
        {
            "title": title if title.strip() else _title(page, query),
            "page": page,
            "query": {name: values for name, values in query.items() if _fits(values)},
            **texts,
            "note": _note(note, page),
        }
    )


def left_out(page: str) -> tuple[str, ...]:
    """Names of what is set in the current view and is too long for a lesson's step."""
    query, _ = _query_and_texts(page)
    return tuple(name for name, values in query.items() if not _fits(values))


def usual_title(page: str) -> str:
    """The title of a step with the current view of a page, where the reader writes none."""
    return _title(page, _query_and_texts(page)[0])


def _query_and_texts(page: str) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """The address of the current view, with the reader's texts of the page; and the texts that have their own field."""
    address = {name: st.query_params.get_all(name) for name in st.query_params if is_of_page(name, page)}
    carried = dict(carried_texts(page, True))
    query = {**address, **{name: [value] for name, value in carried.items()}}
    query = {name: values for name, values in query.items() if name not in RESERVED and values}
    texts: dict[str, Any] = {}
    if reads_text(page):
        own = {"text": session.stored("text", DEFAULT_TEXT), "pair": session.stored("pair", "")}
        non_empty = {name: str(text) for name, text in own.items() if str(text).strip()}
        texts |= non_empty if "text" in non_empty else {}
    if page == "sentences" and session.stored("source", "typed") == "typed":
        lines = [line for line in str(session.stored("sentences") or "").splitlines() if line.strip()]
        texts |= {"sentences": lines} if lines else {}
    return dict(list(query.items())[:MAX_QUERY]), texts


def _fits(values: Sequence[str]) -> bool:
    """Whether a lesson's step can have these values of a name."""
    return len(values) <= MAX_VALUES and all(len(value) <= VALUE for value in values)


def _title(page: str, query: Mapping[str, Sequence[str]]) -> str:
    values = {name: query[name][-1] for name in IN_TITLES if name in query and _fits(query[name])}
    if page == "attention":  # the first layer and the first head are not in the address
        values = {"layer": "0", "head": "0", **values}
    if "head" in values and (layer := session.stored("layer")):
        values = {"layer": str(layer), **values}
    named = [f"{name} {value}" for name, value in values.items()]
    parts = [current_view(), *named]
    about = ", ".join(part for part in parts if part)
    return f"{PAGES[page].title}: {about}"[:100] if about else PAGES[page].title


def _beneath(before: Step, step: Step) -> Step:
    """A view beneath the texts of the one before it."""
    texts = {name: text for name, text in step_fields(before).items() if name in TEXT_FIELDS}
    usual = before.title.partition(":")[0] == PAGES[before.page].title
    return _checked({**step_fields(step), **texts, "title": step.title if usual else before.title})


def _note(note: str, page: str) -> str:
    return note if note.strip() else PAGES[page].question


def _checked(fields: Mapping[str, Any]) -> Step:
    return read_step(dict(fields), sorted(PAGES), "The pinned view")


TO_RECORD = "pinned_view_to_record"
"""Session key: token of the pinned view whose figures the next run of the page records; "" for none."""
WITHOUT_FIGURE = "Its figures are not in this report, since the view was not drawn."
REPORT_TITLE = "Pinned views"
"""Title of a report of a lesson whose title is empty."""
ABOUT = "Views of the dashboard, pinned one after the other."
HELP = "One slide a view, 16:9: title and note as text to edit, figures as pictures, the whole note in the notes."


def token_to_record(here: str) -> str:
    """Token of the pinned view whose figures this run of a page records; "" for none.

    That is a view that was pinned just now, or a step of the pinned views whose figures are not cached.
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
    """Cache the figures of a view, drawn for a file, for the report of the pinned views."""
    with suppress(BertvizError):  # the page has shown the error already
        keep_sections(token, view.sections(_theme(), shown_models(), deck_tall(noted=True)))


def without_figures(views: PinnedViews) -> list[Pin]:
    """The pinned views whose figures are not cached, nor in this run; not those that were shown and have none."""
    now = session.stored(TO_RECORD)
    return [pin for pin in views.pins if cached_sections(pin.token) is None and pin.token != now]


def pinned_report(views: PinnedViews) -> bytes:
    """The report of the pinned views as an HTML file, which opens without a network."""
    lesson = views.lesson()
    sections = []
    for number, pin in enumerate(views.pins, start=1):  # title and note, then the figures
        lead = _text_section(f"pinned-{number}", pin.step.title, _report_note(pin), _address(pin))
        sections += [lead, *_figures(number, pin)]
    if lesson.summary:
        sections.append(_text_section("pinned-summary", "In short", lesson.summary, ""))
    by = {"By": lesson.author} if lesson.author else {}
    facts = {**by, "Views": str(len(views.pins)), **made_facts()}
    title = views.title or REPORT_TITLE
    report = Report(title, facts, tuple(sections), title=title, about=ABOUT)
    return report_page(report, _theme()).encode("utf-8", "replace")


def slides_button(views: PinnedViews, file_name: str) -> None:
    """Show the button that makes the slides of the pinned views, their progress, or the button that saves them."""
    is_due = session.stored(TO_MAKE)
    session.store(TO_MAKE, False)
    file = DrawnFile("pinned_slides", slides_key(views), file_name, PPTX, "Save the slides (PPTX)", "pictures")
    if show_drawing(file):
        return
    pressed = st.button("Make the slides (PPTX)", key="pinned_slides_make", icon=":material/slideshow:", help=HELP)
    if pressed and without_figures(views):
        draw_missing(slides=True)  # which comes back to this button
        st.rerun()
    if pressed or is_due:
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

    A title has a slide of its own before them, and a summary one behind them.
    It is called with a `Progress` of the pictures, and raises BertvizError where python-pptx or a browser is missing.
    """
    lesson, theme = views.lesson(), _theme()
    slides = [
        ReportSlide(pin.step.title, _report_note(pin), _figures(number, pin), (_address(pin),))
        for number, pin in enumerate(views.pins, start=1)
    ]
    cover = [ReportSlide(views.title, lesson.author or "")] if views.title else []
    slides = [*cover, *slides, *([ReportSlide("In short", lesson.summary)] if lesson.summary else [])]

    def make(progress: Progress) -> bytes:
        require_slides()
        pictures = slide_pictures([each for slide in slides for each in slide.sections], theme, progress)
        return slides_file(
            slides, pictures, theme, views.title or REPORT_TITLE, lesson.author or "", lesson.summary or ABOUT
        )

    return make


def _figures(number: int, pin: Pin) -> tuple[ReportSection, ...]:
    """The figures of a pinned view that the reader wants, with names that no other view has."""
    shown = (each for each in cached_sections(pin.token) or () if each.name not in pin.left_out)
    return tuple(replace(each, name=f"pinned-{number}-{each.name}") for each in shown)


def _report_note(pin: Pin) -> str:
    tries = [f"Try: {pin.step.question}"] if pin.step.question else []
    missing = [WITHOUT_FIGURE] if cached_sections(pin.token) is None else []
    return "\n".join((pin.step.note, *tries, *missing))


def _address(pin: Pin) -> str:
    query = urlencode([(name, value) for name, values in pin.step.query.items() for value in values])
    address = f", at its address /{pin.step.page}?{query}" if query else ""
    return f"From the page {PAGES[pin.step.page].title}{address}"


def _text_section(name: str, title: str, note: str, words: str) -> ReportSection:
    return ReportSection(name, title, title, None, Caption(words, ()), "", note=note)


def _theme() -> Theme:
    """Colours and width of the figures: light, unless the reader has chosen others for files."""
    return theme_named(chosen_theme() or "light", WIDE)


OPEN = "pins_open"
"""Session key: whether the panel of the pinned views is open. A number in the label of its button changes, which would
close it."""
TO_MAKE = "pinned_slides_to_make"
"""Session key: whether the slides are made once the panel is shown, since the missing views were drawn for them."""
DRAWING = "pinned_views_drawn"
"""Session key: the running drawing; None for none."""


@dataclass(frozen=True, slots=True)
class ViewsToDraw:
    """Pinned views that are drawn one after the other."""

    tokens: tuple[str, ...]
    start: str
    """Address to which the browser returns."""
    at: int = 0
    """Number of the view that is drawn, from 0; after the last one the number of views."""
    to_open: bool = True
    """Whether the browser has not opened it yet."""
    slides: bool = False
    """Whether the slides are made after the last one."""

    @property
    def is_over(self) -> bool:
        """Whether all views were drawn or skipped."""
        return self.at >= len(self.tokens)

    def step(self) -> int | None:
        """Number of the view among the pinned ones, from 0; None where it was removed."""
        pins = enumerate(pinned_views().pins)
        return next((number for number, pin in pins if pin.token == self.tokens[self.at]), None)


def draw_missing(slides: bool = False) -> None:
    """Begin to draw the pinned views that have no figures, in the next run, and then the slides, if wanted."""
    query = [(name, value) for name in st.query_params for value in st.query_params.get_all(name)]
    tokens = tuple(pin.token for pin in without_figures(pinned_views()))
    session.store(DRAWING, ViewsToDraw(tokens, address(visit().page, query), slides=slides))


def current_drawing() -> ViewsToDraw | None:
    """The running drawing; None for none."""
    drawing = session.stored(DRAWING)
    return drawing if isinstance(drawing, ViewsToDraw) else None


def leave_after_the_last() -> None:
    """After the last view, restore the reader's own texts; their fields must not have been drawn in this run."""
    drawing = current_drawing()
    if drawing is not None and drawing.is_over and drawing.to_open:
        restore_texts()
        bring_values_back()
        st.session_state.pop(TOUR, None)
        take(NAMES)


def drawing_bar() -> None:
    """Show the progress, or have the browser open a view, and end the page there.

    After the last view that is the one in which the drawing began, where the panel of the pinned views is then open.
    """
    drawing = current_drawing()
    if drawing is None:
        return
    if drawing.to_open:
        _open(drawing)
    if drawing.is_over:
        session.store(DRAWING, None)
        session.store(OPEN, True)
        session.store(TO_MAKE, drawing.slides)
        return
    step = drawing.step()
    if step is None or (session.stored(TOUR) or ())[:2] != (PINNED, str(step + 1)):  # the reader went elsewhere
        session.store(DRAWING, None)
        return
    with st.container(horizontal=True, vertical_alignment="center", key="pinned_drawing"):
        count = len(drawing.tokens)
        st.progress(drawing.at / count, f"View {drawing.at + 1} of {count} is drawn for slides and report")
        st.button("Skip this view", key="pinned_skip", on_click=_go_to, args=(drawing, drawing.at + 1))
        st.button("Stop", key="pinned_stop", on_click=_go_to, args=(replace(drawing, slides=False), count))


def draw_next() -> None:
    """Continue, once the page has shown the current view whole."""
    if (drawing := current_drawing()) is not None:
        _go_to(drawing, drawing.at + 1)
        st.rerun()


def _go_to(drawing: ViewsToDraw, at: int) -> None:
    session.store(DRAWING, replace(drawing, at=at, to_open=True))


def _open(drawing: ViewsToDraw) -> NoReturn:
    """Have the browser open the view, if it was not removed."""
    step = None if drawing.is_over else drawing.step()
    if step is None and not drawing.is_over:
        _go_to(drawing, drawing.at + 1)
        st.rerun()
    session.store(DRAWING, replace(drawing, to_open=False))
    whole = drawing.start if step is None else Place(pinned_views().lesson(), step).address()
    open_at_once(whole, drawing.at, "pinned_next", back=step is None)
    st.stop()
