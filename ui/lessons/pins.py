"""The views that the reader has pinned: the steps of a lesson that is made in this session.

Nothing is kept beyond the session. The list is a valid lesson at any time, of the name `pinned-views`, so that the tour
presents it, and its file is read back to the same steps.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from secrets import token_urlsafe
from typing import Any

import streamlit as st

from bertviz_core.errors import LessonError
from bertviz_core.figures.pages import PAGES
from ui import session
from ui.address.registry import is_of_page
from ui.lessons.library import (
    MAX_QUERY,
    MAX_STEPS,
    MAX_VALUES,
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
from ui.session import DEFAULT_TEXT
from ui.share import carried_texts
from ui.widgets.models import current_view, reads_text

PINNED = "pinned-views"
"""Name of the lesson of the pinned views."""
STORED = "pinned_views"
"""Session key: the pinned views."""
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
        """The list with the steps of a lesson at its end; where it was empty, with the lesson's other texts, too."""
        pins = (*self.pins, *(Pin(step, token_urlsafe()) for step in lesson.steps))
        if self.pins:
            return replace(self, pins=pins)
        return PinnedViews(
            pins=pins,
            title=lesson.title,
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
    if views.pins:
        file = lesson_yaml(views.lesson())
        add_session_lesson(parse_lesson(file.encode(), f"{PINNED}.yaml", sorted(PAGES)))
    else:
        remove_session_lesson(PINNED)
    session.store(STORED, views)


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
    named = [f"{name} {query[name][-1]}" for name in IN_TITLES if name in query and _fits(query[name])]
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
