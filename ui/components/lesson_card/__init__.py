"""The card of a lesson's step: low, always in sight, and unfolded over the page where the reader wants more."""

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
    isolate_styles=False,  # the place around it stays in sight, and the glossary's words in it are explained
)


@dataclass(frozen=True, slots=True)
class Card:
    """What the card says; all words are plain text."""

    lesson: str
    """Title of the lesson."""
    count: str
    """Which of how many steps it is."""
    title: str
    """Title of the step."""
    note: str
    """What is seen, and why it is so."""
    question: str
    """What may be tried; "" for nothing."""
    answer: str
    """What is found then; "" where the lesson does not say."""
    trials: Sequence[Link]
    """Views in which the question is answered."""
    away: str
    """Where the step's own view is, in words; "" where the reader is at it."""
    ways: Sequence[Link]
    """Back, next and, where the reader is elsewhere, to the step."""
    steps: Sequence[Link]
    """All steps of the lesson."""
    author: str
    """Who wrote the lesson; "" where it does not say."""
    end: bool
    """Whether it is the last step."""
    summary: str
    """What the lesson has shown, at its last step; "" where it does not say."""
    onward: Link | None
    """The lesson that goes on from here, at the last step; None for none."""


def lesson_card(card: Card, key: str, again: str = "") -> None:
    """The card.

    Args:
        card: what it says.
        key: of the card.
        again: address that is opened at once, without a click; "" for none.
    """
    _component(key=key, data={**asdict(card), "again": again}, width="stretch", height="content")
