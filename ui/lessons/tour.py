"""A lesson as a tour: a bar above every page with a note, back and next; what the reader typed before comes back.

A step is a link: its page, its query, `lesson` and `step`. Whoever opens it stands at that step; only texts are not in
the address, they come from the lesson's file.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from bertviz_core.errors import LessonError
from ui.cache.decorator import cached_by_bytes
from ui.components.step_links import Link, address, step_links
from ui.examples import EXAMPLES
from ui.lessons.reading import Lesson, Step, lesson_file, lesson_names, read_lesson
from ui.session import PAGE, settings
from ui.widgets.formatting import escape_markdown

KEYS = ("text", "pair", "sentences")
APPLIED_KEY, OWN_TEXTS_KEY = "tour_given", "tour_own"
"""Keys of the session: texts that steps wrote, and the reader's that they replaced."""


def apply_step_texts(step: Step) -> None:
    """Write the step's texts where the model reads them; what the reader had there is kept for the end of the tour."""
    given, own = dict(st.session_state.get(APPLIED_KEY, {})), dict(st.session_state.get(OWN_TEXTS_KEY, {}))
    for key, text in _texts(step).items():
        now = st.session_state.get(key)
        if now is not None and now != given.get(key):
            own[key] = now
        if key not in st.query_params:
            st.session_state[key] = text
        given[key] = text
    st.session_state.update({APPLIED_KEY: given, OWN_TEXTS_KEY: own})


def _texts(step: Step) -> dict[str, str]:
    """Key of a text field -> what the step writes into it; a text of a step stands without the reader's second one."""
    texts = {} if step.text is None else {"text": step.text, "pair": step.pair or ""}
    (example,) = step.query.get("example", ("",))[:1]
    if step.sentences is not None:
        texts["sentences"] = "\n".join(step.sentences)
    elif example in EXAMPLES:
        texts["sentences"] = EXAMPLES[example][1]
    return texts


def restore_texts() -> None:
    """Bring back what the reader had; a field that the reader changed since stays."""
    given, own = st.session_state.pop(APPLIED_KEY, {}), st.session_state.pop(OWN_TEXTS_KEY, {})
    for key, text in own.items():
        if st.session_state.get(key) == given.get(key):
            st.session_state[key] = text


SHIPPED = Path(__file__).parent
PAGES = Path(__file__).parents[2] / "pages"
FIRST = "bert-from-the-outside-in"
"""The lesson that the overview offers."""
TOUR, ADDRESS, AGAIN = "tour", "tour_address", "tour_again"
"""Keys of the session: where the tour is, where the address was last, an address to be opened anew."""
Pages = Mapping[str, Any]
"""Name of a page's file -> its entry in the navigation."""


def follow_address(here: str, pages: Pages) -> None:
    """Follow the address: show its step, and where that is on another page go there.

    Args:
        here: name of the page that is shown.
        pages: all pages.
    """
    asked = st.query_params.get("lesson")
    fresh, arrived = ADDRESS not in st.session_state, st.session_state.get(PAGE) != here
    st.session_state[PAGE] = here
    st.session_state.pop(AGAIN, None)
    if asked is None:
        st.session_state[ADDRESS] = None
        return
    number = st.query_params.get("step")
    try:
        lesson = _read(asked)
        place = _place(lesson, number)
    except LessonError:
        st.session_state.update({TOUR: (asked, number), ADDRESS: None})  # the bar says what is wrong
        return
    step = lesson.steps[place]
    # Streamlit takes a parameter that a control of the page before had, such as the layer, out of the next address.
    lost = arrived and any(name not in st.query_params for name in step.query)
    if fresh and (here != step.page or number is None):
        typed = [(key, st.query_params[key]) for key in KEYS if key in st.query_params]
        st.switch_page(pages[step.page], query_params=[*_query(lesson, place), *typed])
    if not fresh and (here != step.page or number is None or lost):
        st.session_state[AGAIN] = _address(lesson, place)
    st.session_state[TOUR] = (asked, str(place + 1))
    if st.session_state.get(ADDRESS) != st.session_state[TOUR]:
        apply_step_texts(step)
        st.session_state[ADDRESS] = st.session_state[TOUR]


def step_bar(here: str, pages: Pages) -> None:
    """The step that the reader is at; nothing outside a tour."""
    at = st.session_state.get(TOUR)
    if at is None:
        return
    try:
        lesson = _read(at[0])
        place = _place(lesson, at[1])
    except LessonError as error:
        del st.session_state[TOUR]
        st.warning(escape_markdown(str(error)), icon=":material/tour:")
        return
    step = lesson.steps[place]
    with st.container(border=True, key="tour_bar", gap="small"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            counted = f"step {place + 1} of {len(lesson.steps)}"
            st.markdown(
                f":gray[{escape_markdown(lesson.title)}, {counted}:] **{escape_markdown(step.title)}**", width="stretch"
            )
            again = st.session_state.get(AGAIN)
            step_links(_steps_beside(lesson, place, here), "tour_links", "Steps of the tour", again=again)
            _all_steps(lesson, place)
            st.button("Leave", key="tour_leave", on_click=end_tour, help="Ends the tour; your own text comes back.")
        st.markdown(
            escape_markdown(step.note) + (f"  \n**Try:** {escape_markdown(step.question)}" if step.question else "")
        )
        if here != step.page:
            st.caption(f"This step is on the page {escape_markdown(pages[step.page].title)}.")
    if again:
        st.stop()  # the browser opens the step's whole address now


def _all_steps(lesson: Lesson, place: int) -> None:
    with st.popover("All steps", key="tour_list", width="content"):
        author = f" By {escape_markdown(lesson.author)}." if lesson.author else ""
        st.caption(f"Each step is a link of its own.{author}")
        step_links(_list(lesson, place), "tour_steps", "All steps of the tour", is_list=True)


def end_tour() -> None:
    """End the tour where the reader is; texts that the reader had, and did not change since, come back."""
    restore_texts()
    st.session_state.pop(TOUR, None)
    for name in ("lesson", "step"):
        if name in st.query_params:
            del st.query_params[name]


def lessons_button() -> None:
    """All lessons, in the sidebar."""
    with st.popover("Lessons", key="lessons_open", on_change="rerun") as place:
        if not place.open:
            return
        links, faults = [], []
        for name in lesson_names(_folders()):
            try:
                lesson = _read(name)
            except LessonError as error:
                faults.append(str(error))
            else:
                links.append(Link(f"{lesson.title}, {_count(lesson)}", _address(lesson, 0)))
        st.markdown("Guided tours through the pages.")
        step_links(links, "lessons_list", "Lessons", is_list=True)
        for fault in faults:
            st.caption(escape_markdown(fault))


def entry() -> None:
    """The way into the shipped lesson, outside a tour."""
    if st.session_state.get(TOUR) is not None:
        return
    lesson = _read(FIRST)
    words = f"Take the tour: {lesson.title}, {_count(lesson)}"
    with st.container(key="tour_entry"):
        step_links([Link(words, _address(lesson, 0), main=True)], "tour_entry_link", "A guided tour")


def _steps_beside(lesson: Lesson, place: int, here: str) -> list[Link]:
    last = len(lesson.steps) - 1
    links = [Link("Back", _address(lesson, place - 1) if place else "")]
    if here != lesson.steps[place].page:
        links.append(Link("Show this step", _address(lesson, place), main=True))
    return [*links, Link("Next", _address(lesson, place + 1) if place < last else "", main=place < last)]


def _list(lesson: Lesson, place: int) -> list[Link]:
    return [
        Link(f"{number + 1}  {step.title}", _address(lesson, number), current=number == place)
        for number, step in enumerate(lesson.steps)
    ]


def _address(lesson: Lesson, place: int) -> str:
    return address(lesson.steps[place].page, _query(lesson, place))


def _query(lesson: Lesson, place: int) -> list[tuple[str, str]]:
    """Names and values in the address of a step."""
    named = [(name, value) for name, values in lesson.steps[place].query.items() for value in values]
    return [*named, ("lesson", lesson.name), ("step", str(place + 1))]


def _place(lesson: Lesson, number: str | None) -> int:
    """Place of a step in its lesson, from what the address says; the first where it says nothing."""
    steps = len(lesson.steps)
    if number is None:
        return 0
    if not (number.isascii() and number.isdigit() and len(number) < 4 and 0 < int(number) <= steps):
        raise LessonError(f"The lesson {lesson.name!r} has {steps} steps, and {number[:20]!r} is none of them.")
    return int(number) - 1


def _count(lesson: Lesson) -> str:
    return f"{len(lesson.steps)} step{'s' if len(lesson.steps) != 1 else ''}"


def _folders() -> list[Path]:
    own = settings().lessons_dir
    return [SHIPPED] if own is None else [SHIPPED, own]


def _read(name: str) -> Lesson:
    path = lesson_file(name, _folders())
    return _lesson(path, path.stat().st_mtime_ns)


@cached_by_bytes()
def _lesson(path: Path, changed_ns: int) -> Lesson:
    pages = sorted(each.stem for each in PAGES.glob("[a-z]*.py"))
    return read_lesson(path, pages)
