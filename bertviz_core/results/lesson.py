"""A lesson: views of the dashboard in an order, each with a note."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Step:
    """One view of a lesson and what is said about it; all words are plain text."""

    title: str
    """What the step is called."""
    page: str
    """Name of the page's file, without its ending."""
    query: Mapping[str, tuple[str, ...]]
    """Name -> values in the address that set the view; what is not named stands at its default."""
    note: str
    """What is seen, and why it is so."""
    question: str | None = None
    """What the reader may try here; None for nothing."""
    text: str | None = None
    """Text that the model is to read; None leaves the reader's own."""
    pair: str | None = None
    """Second text; without one a text of the step stands alone."""
    sentences: tuple[str, ...] | None = None
    """List of the sentences page; None leaves the reader's own."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """Steps in their order."""

    name: str
    """Name of its file without the ending: its name in the address."""
    title: str
    """What the lesson is called."""
    author: str | None
    """Who wrote it; None where the file does not say."""
    steps: tuple[Step, ...]
    """At least one step."""
