"""Show a lesson as a tour: a bar above every page with a note, back and next.

A step is a link: its page, its query, `lesson` and `step`. Its texts are not in the address; they come from the
lesson's file. The reader's own texts are restored at the end.
"""

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import streamlit as st

from bertviz_core.errors import LessonError
from bertviz_core.text import counted, escape_markdown
from ui.address.navigation import JOURNEY, bring_values_back, remember_values, remember_view, return_to_view, visit
from ui.address.registry import take, whole
from ui.components.links import Link, address, lesson_card, step_links
from ui.examples import EXAMPLES
from ui.lessons.library import (
    Lesson,
    Step,
    View,
    add_session_lesson,
    file_field,
    lessons_here,
    misnamed_files,
    open_lesson,
    session_lessons,
)
from ui.session import DEFAULT_TEXT, PRESENT, TOUR, is_presenting
from ui.widgets.heading import apply_texts, page_pair, page_text, restore_texts, take_texts_back

KEYS = ("text", "pair", "sentences")


def _texts(view: View) -> dict[str, str]:
    """Key of a text field -> its text in the view; a view with one text clears the second one."""
    texts = {} if view.text is None else {"text": view.text, "pair": view.pair or ""}
    if view.text is None and view.pair and page_pair() in (None, view.pair):
        texts["pair"] = view.pair
    (example,) = view.query.get("example", ("",))[:1]
    if view.sentences is not None:
        texts["sentences"] = "\n".join(view.sentences)
    elif example in EXAMPLES:
        texts["sentences"] = EXAMPLES[example][1]
    return texts


GUIDE = "your-text-through-the-model"
"""The lesson that the Journey offers."""
WRONG = "my-classifier-is-wrong"
"""The guide that Several texts offers."""
RUN_LESSON = "since-which-step"
"""The lesson about the example run."""
ORDER = (
    "bert-from-the-outside-in",
    GUIDE,
    "the-journey-of-a-sentence",
    "tokens",
    "twelve-heads-one-matrix",
    "attention-and-what-it-is-not",
    "what-makes-two-sentences-alike",
    "why-are-my-vectors-different",
    "which-heads-and-words-matter",
    "a-fine-tuning-that-collapsed",
    WRONG,
    RUN_LESSON,
)
"""The shipped lessons in their recommended order; the overview offers the first."""
ADDRESS, OWN, STARTED = "tour_address", "tour_own_values", "tour_started"
"""Session keys: the last place in the address; what the lesson keeps, as the last step itself had it in the address; a
lesson that was started outside the presenter's frame."""
PANEL = "lessons_open"
"""Key of the panel with the list of lessons."""
NAMES, MODEL = ("lesson", "step", "try"), "model"
"""Names in the address: the lesson, the step, the link of the step's question that was followed; the model."""
Pages = Mapping[str, Any]
"""Name of a page -> its entry in the navigation."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a lesson: a step, or a view that its question leads to."""

    lesson: Lesson
    """The lesson."""
    number: int
    """Number of the step, from 0."""
    trial: int | None = None
    """Number of the link among the step's, from 0; None at the step itself."""
    model: str | None = None
    """The reader's model; None for that in the address."""

    @property
    def step(self) -> Step:
        """The step."""
        return self.lesson.steps[self.number]

    @property
    def view(self) -> View:
        """The view of the step or link.

        Where a step has a model although the lesson keeps the reader's, that is an example, with what else it has of
        what is kept and its text: a model or text that the reader has chosen stays.
        """
        if self.trial is not None:
            return self.step.trials[self.trial]
        step, keeps = self.step, self.lesson.keeps
        (example,) = step.query.get(MODEL, ("",))[:1]
        if not example or MODEL not in keeps:
            return step
        if (self.model or st.query_params.get(MODEL, example)) != example:
            own = {name: values for name, values in step.query.items() if name not in keeps}
            return replace(step, query=own, text=None, pair=None, sentences=None)
        return step if page_text() in (DEFAULT_TEXT, step.text) else replace(step, text=None, pair=None)

    def names(self) -> tuple[str, str, str | None]:
        """Values of `lesson`, `step` and `try` in the address."""
        return self.lesson.name, str(self.number + 1), None if self.trial is None else str(self.trial + 1)

    def query(self) -> list[tuple[str, str]]:
        """Names and values in the address."""
        named = [(name, value) for name, values in self.view.query.items() for value in values]
        return [*named, *((name, value) for name, value in zip(NAMES, self.names(), strict=True) if value)]

    def carried_values(self) -> list[tuple[str, str]]:
        """Names and values in the current address that the lesson keeps."""
        return [(name, st.query_params[name]) for name in self.carried if name in st.query_params]

    @property
    def carried(self) -> tuple[str, ...]:
        """Names that links to it copy from the address: what the lesson keeps and its view leaves open; the frame."""
        return *(name for name in self.lesson.keeps if name not in self.view.query), PRESENT

    def address(self, present: bool = False) -> str:
        """Its address, relative to that of the dashboard, or that in the presenter's frame."""
        return address(self.view.page, [*self.query(), *([(PRESENT, "true")] if present else [])])

    def link(self, label: str, main: bool = False, current: bool = False, present: bool = False) -> Link:
        """A link to it; what the lesson keeps is read in the browser when the link is followed."""
        return Link(label, self.address(present), main, current, self.carried)


def follow_address(here: str, pages: Pages) -> str:
    """Go to the step in the address, on another page if needed; returns what the browser must open, or ""."""
    name, numbers = st.query_params[NAMES[0]], [st.query_params.get(each) for each in NAMES[1:]]
    fresh = ADDRESS not in st.session_state
    try:
        place = _place(name, *numbers)
    except LessonError:
        st.session_state.update({TOUR: (name, *numbers), ADDRESS: None})  # step_bar shows the error
        return ""
    way = detour(place.view, here, frozenset(st.query_params), numbers[0] is not None, fresh, visit().first_run)
    if way == "go":
        typed = [(key, st.query_params[key]) for key in KEYS if key in st.query_params]
        st.switch_page(pages[place.view.page], query_params=[*place.query(), *place.carried_values(), *typed])
    remember_values()
    st.session_state[TOUR] = place.names()
    before = st.session_state.get(ADDRESS)
    if before != st.session_state[TOUR]:
        if before is not None and before[:2] == place.names()[:2]:  # from a link of the same step
            with suppress(LessonError):  # its file has changed meanwhile
                take_texts_back(_texts(_place(*before).view))
        apply_texts(_texts(Place(place.lesson, place.number).view) | _texts(place.view))
        st.session_state.update({ADDRESS: st.session_state[TOUR], PANEL: False})  # the list has led here
    return address(place.view.page, [*place.query(), *place.carried_values()]) if way == "open" else ""


def detour(
    view: View, here: str, named: Collection[str], at_step: bool, fresh: bool, first_run: bool
) -> Literal["", "go", "open"]:
    """What must happen before a step is drawn: "go" to its page, have the browser "open" its address, or nothing.

    The lesson starts where the address names no step. The first run of a session, `fresh`, may switch pages at once. In
    the first run on its page Streamlit drops parameters of the previous page's widgets, such as the layer, from the
    next address.
    """
    elsewhere = here != view.page or not at_step
    missing = [name for name in view.query if name not in named]
    if fresh:
        return "go" if elsewhere or (missing and len(missing) == len(view.query)) else ""
    return "open" if elsewhere or (missing and first_run) else ""


def step_bar(here: str, pages: Pages, again: str) -> None:
    """Show the card of the current step of a tour, or have the browser open the address `again`."""
    try:
        place = _place(*st.session_state[TOUR])
    except LessonError as error:
        del st.session_state[TOUR]
        with st.container(key="tour_fault"):
            st.warning(escape_markdown(str(error)), icon=":material/tour:")
        return
    if place.trial is None:
        st.session_state[OWN] = dict(place.carried_values())
    if not is_presenting():
        st.session_state[STARTED] = place.lesson.name
    with st.container(key="tour_bar", gap=None):
        lesson_card(_card(place, here, pages), "tour_card", again)
        help_text = "Ends the lesson, and restores your own text and view."
        st.button("Leave", key="tour_leave", on_click=end_tour, help=help_text)
    if again:
        st.stop()  # the browser now opens the step's whole address


def _card(place: Place, here: str, pages: Pages) -> dict[str, Any]:
    lesson, step, last = place.lesson, place.step, len(place.lesson.steps) - 1
    beside = Place(lesson, place.number)
    elsewhere, by_menu = here != place.view.page, NAMES[0] not in st.query_params
    ways = [Place(lesson, place.number - 1).link("Back") if place.number else Link("Back", "")]
    if elsewhere or by_menu or place.trial is not None:
        ways.append(_undone(place, "Show this step" if elsewhere or by_menu else "Back to the step"))
    if place.number < last:
        ways.append(Place(lesson, place.number + 1).link("Next", main=len(ways) == 1))
    tried = [Place(lesson, place.number, number) for number in range(len(step.trials))]
    trials = [each.link(trial.label, current=each == place) for trial, each in zip(step.trials, tried, strict=True)]
    every = [Place(lesson, number) for number in range(last + 1)]
    steps = [each.link(f"{each.number + 1}  {each.step.title}", current=each == beside) for each in every]
    onward = _onward(lesson) if place.number == last else None
    away = "You came here on another way, so the page may show another view than the step." if by_menu else ""
    away = f"This step is on the page {pages[step.page].title}." if elsewhere else away
    return {
        "lesson": lesson.title,
        "count": f"step {place.number + 1} of {last + 1}",
        **{name: getattr(step, name) or "" for name in ("title", "note", "question", "answer")},
        "trials": list(map(asdict, trials)),
        "away": away,
        "ways": list(map(asdict, ways)),
        "steps": list(map(asdict, steps)),
        "author": lesson.author or "",
        "end": place.number == last,
        "summary": lesson.summary or "",
        "onward": None if onward is None else asdict(onward),
        "figure": place.view.figure or "",
        "beside": not is_presenting() and here == JOURNEY,
        "present": None if is_presenting() else asdict(place.link("Present", present=True)),
    }


def _undone(place: Place, label: str) -> Link:
    """A link to the step, where what the followed link of its question has set is as it was before."""
    own = st.session_state.get(OWN, {})
    step = Place(place.lesson, place.number, model=own.get(MODEL))
    example = [name for name in step.carried if name in place.view.query]
    before = [(name, own[name]) for name in example if name in own]
    whole = address(step.view.page, [*step.query(), *before])
    return Link(label, whole, main=True, carried=[name for name in step.carried if name not in example])


def _onward(lesson: Lesson) -> Link | None:
    """A link to the next lesson; None where there is none, or where it cannot be read."""
    if lesson.following is None:
        return None
    try:
        following = open_lesson(lesson.following)
    except LessonError:
        return None
    return Place(following, 0).link(
        f"Next lesson: {following.title}, {counted(len(following.steps), 'step')}", main=True
    )


def forget() -> None:
    """Take the lesson out of an address that the browser sent once more after the lesson was left."""
    take((*NAMES, PRESENT))


def end_tour() -> None:
    """End the tour on the current page; restore the reader's texts, and what every page showed before.

    A lesson that is presented from one of its steps goes on at the step that was shown last.
    """
    if not is_open():  # a second click
        return
    if is_presenting() and st.session_state.get(STARTED) == st.session_state[TOUR][0]:
        take((PRESENT,))
        return
    st.session_state.pop(STARTED, None)
    followed = _place(*st.session_state.pop(TOUR)).view.page != visit().page
    restore_texts(view_stays=followed)
    forget()
    bring_values_back()
    return_to_view(followed)


def lessons_panel() -> None:
    """Show a menu of all lessons."""
    remember_view()  # with what parts of the page wrote into the address
    links, faults = [], []
    names = lessons_here()
    shipped = [name for name in ORDER if name not in session_lessons()]
    for name in sorted(names, key=lambda name: shipped.index(name) if name in shipped else -1):  # own lessons first
        try:
            lesson = open_lesson(name)
        except LessonError as error:
            faults.append(str(error))
        else:
            links.append(Place(lesson, 0).link(f"{lesson.title}, {counted(len(lesson.steps), 'step')}"))
    st.markdown("Guided tours through the pages.")
    step_links(links, "lessons_list", "Lessons", is_list=True)
    for fault in (*faults, *misnamed_files()):
        st.caption(escape_markdown(fault))
    file_field("Open a lesson file", "lessons_file", add_session_lesson)


def is_open() -> bool:
    """Whether the reader is in a tour."""
    return st.session_state.get(TOUR) is not None


def entry(name: str = ORDER[0]) -> None:
    """Offer a lesson, outside a tour."""
    if is_open():
        return
    lesson = open_lesson(name)
    link = Place(lesson, 0).link(f"Guide: {lesson.title}, {counted(len(lesson.steps), 'step')}", main=True)
    with st.container(key="tour_entry"):
        step_links([link], "tour_entry_link", "A lesson")


def _place(name: str, number: str | None, trial: str | None) -> Place:
    """Find the place in an address; the first step if it names none."""
    lesson = open_lesson(name)
    steps = len(lesson.steps)
    place = 1 if number is None else _counted(number, steps)
    if place is None:
        raise LessonError(f"The lesson {lesson.name!r} has {steps} steps, and {_short(number)} is none of them.")
    trials = len(lesson.steps[place - 1].trials)
    link = None if trial is None else _counted(trial, trials)
    if trial is not None and link is None:
        what = counted(trials, "link") if trials else "no links"
        raise LessonError(
            f"Step {place} of the lesson {lesson.name!r} has {what}, and {_short(trial)} is none of them."
        )
    return Place(lesson, place - 1, None if link is None else link - 1)


def _counted(word: str, most: int) -> int | None:
    """Parse a whole number from 1 to `most`; None for anything else."""
    number = whole(word)
    return number if number is not None and 0 < number <= most else None


def _short(word: str | None) -> str:
    """A value of the address, shortened for a sentence."""
    return repr(word if word is None or len(word) <= 20 else f"{word[:20]}…")
