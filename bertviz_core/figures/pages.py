"""What readers find everywhere: the pages of the dashboard in its navigation, and the words of the glossary."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Group = Literal["", "The model", "A text", "Why", "Many texts"]


@dataclass(frozen=True, slots=True)
class PageEntry:
    """One page of the dashboard."""

    name: str
    """File name in `pages` and address; charts of its figures have this prefix."""
    title: str
    question: str
    """Question that the page answers."""
    group: Group
    """Heading above it in the navigation; "" for none."""
    icon: str
    """Name of a Material Symbol."""
    views_without_text: tuple[str, ...] | None = None
    """Views that do not depend on the text of the sidebar, "" for the first one; None if no view does."""

    @property
    def label(self) -> str:
        """Title and question, the label of a link to the page."""
        return f"{self.title}: {self.question[0].lower()}{self.question[1:]}"


IS: Group = "The model"
READS: Group = "A text"
_ENTRIES = (
    PageEntry("journey", "Journey", "What happens to a text on its way through the model?", "", "route", ()),
    PageEntry("overview", "Overview", "What is this model, at a glance?", IS, "info"),
    PageEntry("parameters", "Parameters", "Where are the parameters?", IS, "donut_large"),
    PageEntry("architecture", "Architecture", "How is it put together?", IS, "account_tree", ("Encoder or decoder",)),
    PageEntry(
        "checkpoint",
        "Checkpoint",
        "Did it really load, and for which task?",
        IS,
        "fact_check",
        ("", "Load report", "Weights", "Fewer bits"),
    ),
    PageEntry("tokens", "Tokens", "What does the model read?", READS, "text_fields", ()),
    PageEntry(
        "representations",
        "Representations",
        "How does a token change on its way up?",
        READS,
        "grid_on",
        ("One word, two texts",),
    ),
    PageEntry("heads", "Heads", "Twelve heads, one matrix: where are they?", READS, "view_week", ()),
    PageEntry("attention", "Attention", "What does each head look at?", READS, "hub", ()),
    PageEntry("sentences", "Sentences", "How does the model compare sentences?", READS, "notes"),
    PageEntry("predictions", "Predictions", "What does the model answer?", READS, "psychology", ()),
    PageEntry("causes", "Heads that matter", "What changes when a head is taken away?", "Why", "content_cut", ()),
    PageEntry("words", "Words that matter", "Which words does the answer depend on?", "Why", "ink_highlighter", ()),
    PageEntry("corpus", "Corpus", "What is in many texts, as a model sees them?", "Many texts", "database"),
)
PAGES: Mapping[str, PageEntry] = {entry.name: entry for entry in _ENTRIES}
"""Pages by name, in the order of the navigation and of lists of figures."""
FIRST = next(iter(PAGES))
"""Name of the page that the dashboard's own address opens."""


_LIBRARY = Path(__file__).parents[1]
_PLACES = (_LIBRARY / "_dashboard" / "docs" / "glossary.md", _LIBRARY.parent / "docs" / "glossary.md")
"""The glossary in an installed wheel, and in the source tree."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A word of the glossary and its meaning, as plain text."""

    word: str
    """The word, or several words with one explanation, separated by commas."""
    meaning: str
    """One sentence, without a full stop."""

    @property
    def forms(self) -> tuple[str, ...]:
        """Forms of the word in a text: singular and plural."""
        words = self.word.split(", ")
        return tuple(form for word in words for form in (word, re.sub(r"(?<=[^aeiou])y$", "ie", word) + "s"))


def glossary_entries(text: str) -> tuple[Entry, ...]:
    """Parse the rows of the glossary's table."""
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line.startswith("|")][2:]
    markup = re.compile(r"\\(.)|`")
    return tuple(Entry(*(markup.sub(lambda mark: mark[1] or "", cell).strip() for cell in row)) for row in rows)


ENTRIES = glossary_entries(next(place for place in _PLACES if place.exists()).read_text(encoding="utf-8"))
"""All entries in the order of the document."""
