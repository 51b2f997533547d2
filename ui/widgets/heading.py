"""The heading of a page, its panels, and words for numbers."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import streamlit as st

from bertviz_core.errors import BertvizError
from bertviz_core.figures.pages import PAGES
from bertviz_core.models.sources import resolve
from bertviz_core.text import escape_markdown
from ui.address.navigation import show_in_journey
from ui.session import settings, store, stored
from ui.widgets.models import second_name

ABOVE = "notices_above"
"""Session key of the notices below the heading of the page."""

_beside_title: ContextVar[Callable[[], None]] = ContextVar("beside_title", default=lambda: None)


@contextmanager
def beside_title(draw: Callable[[], None]) -> Iterator[None]:
    """Draw something beside the title of the page that runs inside the block."""
    before = _beside_title.set(draw)
    try:
        yield
    finally:
        _beside_title.reset(before)


def heading(page: str, question: str = "") -> Callable[..., None]:
    """Write the title of a page and its question.

    Args:
        page: name of the page.
        question: replaces the page's question.

    Returns:
        A function that writes a model's name, and a note on it, behind the question, and the notices about it below.
    """
    entry = PAGES[page]
    question = question or entry.question
    with st.container(horizontal=True, vertical_alignment="bottom", key="page_title"):
        st.title(entry.title, anchor=False, width="content")
        show_in_journey(page)
        _beside_title.get()()
    place = st.empty()
    place.markdown(question)

    def name_model(model: str, note: str, notices: Iterable[str] = ()) -> None:
        place.markdown(f"{question} :gray[{escape_markdown(model)}: {escape_markdown(note)}]")
        every = tuple(dict.fromkeys((*_notices(model), *notices)))
        store(ABOVE, every)
        for notice in every:
            st.warning(escape_markdown(notice), icon=":material/rule:")

    return name_model


def unshown(notices: Iterable[str]) -> list[str]:
    """The notices that do not stand below the heading of the page already, each once."""
    above = stored(ABOVE, ())
    return [notice for notice in dict.fromkeys(notices) if notice not in above]


def _notices(model: str) -> tuple[str, ...]:
    """What of the files of the models of this page decides numbers and is not followed, one sentence each."""
    notices: list[str] = []
    for name in filter(None, (model, second_name())):
        with suppress(BertvizError):  # of a second model, which may be a rounded copy; a page says what it lacks itself
            notices += resolve(name, replace(settings(), allow_hub=False)).notices
    return tuple(dict.fromkeys(notices))


@st.fragment
def panel(label: Callable[[], str], key: str, draw: Callable[[], None], icon: str | None = None) -> None:
    """Show the button; opening it draws the panel alone.

    Args:
        label: returns the words on the button.
        key: key of the panel in the session, true where it is open.
        draw: draws the contents.
        icon: icon of the button.
    """
    with st.popover(label(), type="tertiary", icon=icon, key=key, on_change="rerun") as place:
        if place.open:
            draw()


if TYPE_CHECKING:  # the server's entry formats text before any page is imported
    from bertviz_core.corpus.analysis.results import CorpusMap
    from bertviz_core.sentences.results import SentenceMap
    from ui.cache.jobs import Job

BERT_IS_FOR = (
    "BERT reads a whole text and gives each token a vector that depends on all the others. With them a text is "
    "searched for, classified, tagged, or asked a question."
)
BERT_IN_FIVE = (
    "BERT is a **bidirectional encoder**: every token attends to every other token, to its left and to its right.",
    "It is **auto-encoding**: in training some tokens are hidden behind `[MASK]`, and the model restores them "
    "from both sides.",
    "It is the **encoder half of the transformer** (Vaswani et al. 2017; Devlin et al. 2019): it reads a text whole "
    "and writes nothing.",
    "A text begins with `[CLS]`, whose last vector stands for the whole in classification, and every sequence ends "
    "with `[SEP]`.",
    "It takes **one sequence or two**: a pair is one input, the second sequence behind the first `[SEP]` with a "
    "token type of its own where the family has token types.",
)


def run_words(device: str, dtype: str) -> str:
    """Where a model ran and in which number format: "on cpu in float32"."""
    return f"on {device} in {dtype}"


def duration(seconds: float) -> str:
    """A duration in words."""
    if seconds < 1:
        return "less than a second"
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def steps_done(job: "Job[Any]", noun: str, with_rate: bool = True) -> str:
    """Steps of a job that are done, with their rate and the time left once they are known.

    Args:
        job: a running job.
        noun: what its steps are, such as "sentences".
        with_rate: whether the rate is named beside the time left.
    """
    done, left = f"{job.done:,} of {job.total:,} {noun}", job.seconds_left
    if left is None:
        return done
    about = "about " if left >= 1 else ""
    rate = f"{job.rate:,.{int(job.rate < 10)}f} per second, " if with_rate else ""
    return f"{done}, {rate}{about}{duration(left)} left"


def variance_words(placed: "CorpusMap | SentenceMap") -> str:
    """The share of the variance that a plane of points shows, if it is known, and the note on how it was made."""
    if placed.explained is None:
        return escape_markdown(placed.note)
    return f"The plane holds **{float(placed.explained.sum()):.1%}** of the variance. {escape_markdown(placed.note)}"
