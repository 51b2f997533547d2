"""Pin the current view, and order, edit, download and present the pinned views."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import streamlit as st

from bertviz_core.errors import LessonError
from bertviz_core.text import counted, escape_markdown
from ui import session
from ui.address.navigation import remember_view
from ui.cache.figures import cached_sections
from ui.components.links import step_links
from ui.lessons import pins
from ui.lessons.library import NOTE, PINNED, TITLE, Lesson, file_field, file_name, lesson_yaml, lessons_here, step_yaml
from ui.lessons.tour import Place
from ui.share import files_read
from ui.widgets.downloads import SAVE, save_button
from ui.widgets.run_model import shown_in_place

CHOSEN, LAST, MOST_LISTED = "pinned_chosen", "pinned_last", 5
"""Session keys: place of the view that is edited, from 0, and the same while the list is closed; most views listed."""
FAULT = "pinned_fault"
"""Session key: the sentence about the last change that was refused; "" for none."""
VERSION = "pinned_version"
"""Session key: a number that changes with the texts of the lesson, for the keys of their fields."""
REMOVE_ALL = "pinned_remove_all"
"""Session key: whether the confirmation for removing all views is shown."""
ABOUT_FIELDS = ("title", "author", "summary", "following")
HELP = "Collects views into a lesson or a report. Only this tab of the browser has the list: download it to keep it."


def copy_step(here: str) -> None:
    """Show the current view as a step of a lesson's file, with a button to copy it."""
    with st.expander("Copy as a lesson step"), shown_in_place():
        st.code(step_yaml(pins.current_step(here)), language=None, wrap_lines=True)
        st.caption("Put it below steps: in a lesson's file, and write a note. It contains the text.")
        _say_what_is_left_out(here)


def pin_panel(here: str) -> None:
    """Pin the current view, and show the list."""
    remember_view()  # with what parts of the page wrote into the address, for the way back from Present
    views = pins.pinned_views()
    _form(here, views)
    if fault := session.stored(FAULT):
        st.error(escape_markdown(str(fault)), icon=":material/block:")
        session.store(FAULT, "")
    if views.pins:
        chosen = _list(here, views)
        _about(views)
        _downloads(views)
        _texts(chosen)
    file_field("Add the steps of a lesson file" if views.pins else "Or open a lesson file", "pinned_file", _add_steps)
    if views.pins:
        _remove_all(len(views.pins))


def _form(here: str, views: pins.PinnedViews) -> None:
    """Title and note of the current view, and the button that pins it."""
    with st.form("pin_form", clear_on_submit=True, border=False):
        title = st.text_input("Title", key="pin_title", max_chars=TITLE, placeholder=pins.usual_title(here))
        note = st.text_area(
            "Note", key="pin_note", max_chars=NOTE, height=68, placeholder="What does one see here, and why?"
        )
        pressed = st.form_submit_button("Pin this view", icon=":material/keep:", key="pin_submit")
    if pressed:
        _pin(here, title or "", note or "")
    if not views.pins:
        st.caption(HELP)
    _say_what_is_left_out(here)


def _pin(here: str, title: str, note: str) -> None:
    """Pin the current view, and run the page once more to record its figures."""
    with _refused():
        views = pins.pinned_views().with_step(pins.current_step(here, title, note))
        pins.store_pinned_views(views)
        session.store(pins.TO_RECORD, views.pins[-1].token)
        session.store(LAST, len(views.pins) - 1)
    st.rerun()


def _say_what_is_left_out(here: str) -> None:
    """Name what a step of a lesson cannot contain: long values, and files."""
    if names := pins.left_out(here):
        what = escape_markdown(", ".join(names))
        st.caption(f"Left out, since a step has no room for it: {what}.")
    read, files = files_read(here)
    if read:
        named = escape_markdown(" and ".join(files)) or "the file"
        st.caption(f"A step does not contain {named}: readers need to upload it.")


def _list(here: str, views: pins.PinnedViews) -> pins.Pin:
    """Show the pinned views in order, with the buttons of the chosen one; returns that."""
    titles = [f"{number}. {pin.step.title}" for number, pin in enumerate(views.pins, start=1)]
    place, last = min(int(session.stored(LAST, 0)), len(titles) - 1), len(titles) - 1
    session.store(CHOSEN, place)  # the list loses its value while it is closed
    field: Any = st.radio if len(titles) <= MOST_LISTED else st.selectbox
    with st.container(key="pinned_list"):
        label = f"Pinned views, {len(titles)} of at most {pins.MOST_PINS}"
        words = list(map(escape_markdown if field == st.radio else str, titles))
        field(label, range(len(titles)), key=CHOSEN, format_func=words.__getitem__, on_change=_choose)
    pin = views.pins[place]
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        for label, icon, to in (("Up", "upward", place - 1), ("Down", "downward", place + 1)):
            st.button(
                label,
                key=f"pinned_{label.lower()}",
                icon=f":material/arrow_{icon}:",
                disabled=not 0 <= to <= last,
                on_click=_move,
                args=(place, to),
            )
        st.button("Remove", key="pinned_remove", icon=":material/delete:", on_click=_remove, args=(pin.token,))
        step_links([Place(views.lesson(), place).link("Show")], "pinned_show", "The chosen view")
        replaced = st.button(
            "Replace with this view",
            key="pinned_replace",
            icon=":material/sync:",
            help="Pins what the page shows now in the place of the chosen view; its note stays.",
        )
    if replaced:
        _replace(here, pin.token, place)
    return pin


def _texts(pin: pins.Pin) -> None:
    """Fields for title and note of the chosen view, and its figures."""
    title, note = f"pinned_title_{pin.token}", f"pinned_note_{pin.token}"
    change = partial(_change_texts, pin.token, title, note)
    st.text_input("Title of the chosen view", pin.step.title, key=title, max_chars=TITLE, on_change=change)
    st.text_area("Note of the chosen view", pin.step.note, key=note, max_chars=NOTE, height=96, on_change=change)
    _choose_figures(pin)


def _choose_figures(pin: pins.Pin) -> None:
    """Which figures of a view with several are in the report and on slides."""
    titles = {each.name: each.title for each in cached_sections(pin.token) or ()}
    if len(titles) < 2:
        return
    if len({*titles.values()}) < len(titles):
        titles = {name: f"{title} ({name.replace('-', ' ')})" for name, title in titles.items()}
    with st.container(gap="xxsmall"):
        st.caption("Figures in the report and on slides")
        for name, title in titles.items():
            key = f"pinned_{name}_{pin.token}"
            st.checkbox(
                escape_markdown(title),
                name not in pin.left_out,
                key=key,
                on_change=_take_figure,
                args=(pin.token, name, key),
            )


def _take_figure(token: str, name: str, key: str) -> None:
    views = pins.pinned_views()
    without = next((pin.left_out for pin in views.pins if pin.token == token), frozenset[str]())
    changed = without - {name} if session.stored(key) else without | {name}
    pins.store_pinned_views(views.with_figures(token, changed))


def _replace(here: str, token: str, place: int) -> None:
    """Put the current view in the place of a pinned one, and run the page once more to record its figures."""
    with _refused():
        views = pins.pinned_views().replaced(token, pins.current_step(here))
        pins.store_pinned_views(views)
        session.store(pins.TO_RECORD, views.pins[place].token)
    st.rerun()


def _about(views: pins.PinnedViews) -> None:
    """Texts of the lesson as a whole."""
    key = f"pinned_lesson_{session.stored(VERSION, 0)}"
    change: dict[str, Any] = {"on_change": _change_lesson, "args": (key,)}
    with st.expander("About the lesson", key="pinned_about"):
        st.text_input(
            "Title of the lesson", views.title, TITLE, key=f"{key}_title", placeholder=pins.UNTITLED, **change
        )
        st.text_input("Author", views.author, TITLE, key=f"{key}_author", **change)
        st.text_area("Summary, shown at the end", views.summary, 96, NOTE, key=f"{key}_summary", **change)
        names = ["", *(name for name in lessons_here() if name not in (PINNED, views.following))]
        names += [views.following] if views.following else []
        place = names.index(views.following)
        st.selectbox("Next lesson", names, place, lambda name: name or "none", key=f"{key}_following", **change)


def _change_lesson(key: str) -> None:
    texts = {name: " ".join(str(session.stored(f"{key}_{name}") or "").split()) for name in ABOUT_FIELDS}
    with _refused():
        pins.store_pinned_views(pins.pinned_views().with_texts_of_lesson(**texts))


def _downloads(views: pins.PinnedViews) -> None:
    """The list as a lesson and as a report, and the way into the presenter's frame."""
    lesson = views.lesson()
    name, report = file_name(lesson.title), Path(file_name(views.title or pins.REPORT_TITLE)).stem
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        step_links([Place(lesson, 0).link("Present", main=True, present=True)], "pinned_present", "Present the views")
        # Made at the click, so with what was typed just before it, which applies it.
        made, latest = "application/yaml", pins.latest_views()
        lesson_file = partial(lambda views: lesson_yaml(views[0].lesson()), latest)
        save_button("Download as a lesson", lesson_file, name, made, "pinned_lesson", icon=SAVE)
        missing = pins.without_figures(views)
        if missing:
            pressed = st.button(
                f"Draw the {counted(len(missing), 'view').removeprefix('1 ')} that slides and report need",
                key="pinned_draw",
                icon=":material/draw:",
                help="Shows each view that was not drawn in this session once, and comes back here.",
            )
            if pressed:  # no callback: after it the panel's fragment alone would run
                pins.draw_missing()
                st.rerun()
        label = "Download the report without them" if missing else "Download as a report"
        make = partial(lambda views: pins.pinned_report(views[0]), latest)
        save_button(label, make, f"{report}.html", "text/html", "pinned_report", icon=SAVE)
        pins.slides_button(views, f"{report}.pptx")
    if missing:
        one = len(missing) == 1
        st.caption(
            f"{counted(len(missing), 'view')} {'was' if one else 'were'} not drawn in this session yet, so a report "
            f"would lack {'its' if one else 'their'} figures. *Make the slides* draws {'it' if one else 'them'} first."
        )


def _add_steps(lesson: Lesson) -> None:
    """Pin the steps of a lesson; the texts of an empty list's lesson are then those of that lesson."""
    pins.store_pinned_views(pins.pinned_views().with_lesson(lesson))
    session.store(VERSION, session.stored(VERSION, 0) + 1)
    session.store(pins.OPEN, True)


def _remove_all(count: int) -> None:
    """A button that removes all views, once the reader has confirmed it."""
    if not session.stored(REMOVE_ALL):
        icon = ":material/delete:"
        st.button("Empty the list", key="pinned_empty", icon=icon, on_click=session.store, args=(REMOVE_ALL, True))
        return
    views = f"all {count} views" if count > 1 else "the view"
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center"):
        st.button(f"Remove {views}", key="pinned_empty_yes", on_click=_empty)
        st.button("Keep them", key="pinned_empty_no", on_click=session.store, args=(REMOVE_ALL, False))


def _empty() -> None:
    session.store(REMOVE_ALL, False)
    session.store(VERSION, session.stored(VERSION, 0) + 1)
    pins.store_pinned_views(pins.PinnedViews())


def _move(place: int, to: int) -> None:
    pins.store_pinned_views(pins.pinned_views().moved(place, to))
    session.store(LAST, to)


def _choose() -> None:
    session.store(LAST, session.stored(CHOSEN))


def _remove(token: str) -> None:
    pins.store_pinned_views(pins.pinned_views().without(token))
    session.store(pins.OPEN, True)


def _change_texts(token: str, title: str, note: str) -> None:
    views = pins.pinned_views()
    place = next((number for number, pin in enumerate(views.pins) if pin.token == token), None)
    if place is not None:
        with _refused():
            pins.store_pinned_views(views.with_texts(place, str(session.stored(title)), str(session.stored(note))))


@contextmanager
def _refused() -> Iterator[None]:
    """Remember the sentence about a change that a lesson cannot have, for the next run of the panel."""
    try:
        yield
    except LessonError as error:
        session.store(FAULT, str(error))
