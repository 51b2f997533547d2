"""The card of a lesson's step: always visible, and unfolded over the page on request."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import streamlit as st

from ui.components.step_links import LINKS_JS, Link

_HERE = Path(__file__)
_component = st.components.v2.component(
    "lesson_card",
    html='<section class="lesson-card"></section>',
    css=_HERE.with_name("lesson_card.css").read_text(encoding="utf-8"),
    js=LINKS_JS + _HERE.with_name("lesson_card.js").read_text(encoding="utf-8"),
    isolate_styles=False,  # its container is sticky, and the glossary marks its words
)


@dataclass(frozen=True, slots=True)
class Card:
    """The content of the card, as plain text."""

    lesson: str
    """Title of the lesson."""
    count: str
    """Number of the step, such as "step 2 of 9"."""
    title: str
    """Title of the step."""
    note: str
    """What the view shows, and why."""
    question: str
    """What the reader may try; "" for nothing."""
    answer: str
    """The answer; "" for none."""
    trials: Sequence[Link]
    """Views that answer the question."""
    away: str
    """The page of the step's view, as a sentence; "" where the reader is on it."""
    ways: Sequence[Link]
    """Links: back, next, and to the step where the reader is elsewhere."""
    steps: Sequence[Link]
    """All steps of the lesson."""
    author: str
    """Author of the lesson; "" for none."""
    end: bool
    """Whether it is the last step."""
    summary: str
    """Summary of the lesson, at its last step; "" for none."""
    onward: Link | None
    """The next lesson, at the last step; None for none."""
    figure: str = ""
    """Name of the figure that the step speaks of; "" for the first of the page."""
    by_keys: bool = False
    """Whether Space and the arrow keys go to the next and the previous step."""
    present: str = ""
    """Address of the step in the presenter's frame; "" for no link to it."""


def lesson_card(card: Card, key: str, again: str = "") -> None:
    """Show the card.

    Args:
        card: its content.
        key: key of the component.
        again: address that the browser opens at once; "" for none.
    """
    _component(key=key, data={**asdict(card), "again": again}, width="stretch", height="content")
